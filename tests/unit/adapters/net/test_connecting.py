"""What a name may resolve to, and that exactly that is dialled. Resolvers here are lists; nothing outside is named to anybody."""

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from blazar.adapters.net import connecting
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.patience import LONG
from blazar.adapters.net.throttle import Throttle
from blazar.adapters.net.web import CONNECT_SECS, Web
from blazar.application.ports.downloads import Wanted
from blazar.domain.addresses import Ours
from blazar.domain.errors import Busy, RegistryTrouble
from tests.fakes.disk import FakeDisk
from tests.support.certificates import pair
from tests.support.proxies import Relay, behind_tls, forget_proxies
from tests.support.registry import Answer, Registry
from tests.support.release_feed import ReleaseHost

Names = Callable[..., list[str]]
DATA = bytes(range(256)) * 4096


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that were looked up; without a proxy of the shell."""
    forget_proxies(monkeypatch)
    return []


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> Names:
    """A resolver that knows these addresses of any name."""

    def teach(*addresses: str) -> list[str]:
        def resolve(host: str, port: int) -> list[str]:
            del port
            asked.append(host)
            return list(addresses)

        monkeypatch.setattr(connecting, "resolved", resolve)
        return asked

    return teach


@pytest.fixture
def here_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's address counts as one out there, so that something can answer."""
    monkeypatch.setattr(connecting, "leads_out", lambda address: address == "127.0.0.1")


@pytest.fixture
def web() -> Iterator[Web]:
    with closing(Web("https://hub.example", read_secs=5.0)) as asking:
        yield asking


def port_of(registry: Registry) -> int:
    return int(registry.url.rpartition(":")[2])


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fe80::1%eth0", "0.0.0.0"])
def test_a_registry_that_resolves_inside_is_not_asked(web: Web, names: Names, address: str) -> None:
    """Neither dialled nor told anything: its name and what it resolves to are said."""
    names(address)
    with pytest.raises(RegistryTrouble) as refused:
        web.json("https://hub.example/x", "it")
    assert str(refused.value) == (
        f"hub.example resolves to {address}, an address inside this network: nothing was asked there"
    )


def test_a_redirect_to_a_name_that_resolves_inside_is_not_followed(registry: Registry, names: Names) -> None:
    """Who sends us there is named, and the setting that would allow it."""
    names("10.0.0.7")
    registry.given["/x"] = Answer(status=302, headers=(("location", "https://cdn.example/y"),))
    with closing(Web(registry.url)) as web:
        web.ours = Ours(where="model_registries in config.toml")
        with pytest.raises(RegistryTrouble) as refused:
            web.json(registry.url + "/x", "it")
    place = registry.url.removeprefix("http://")
    assert str(refused.value) == (
        f"{place} sends us on to cdn.example, which resolves to 10.0.0.7, an address inside this network: nothing was "
        "asked there; if it is meant to, name it in model_registries in config.toml"
    )


@pytest.mark.usefixtures("here_is_out")
def test_the_judged_address_is_dialled_under_its_name(registry: Registry, names: Names) -> None:
    """Looked up once; those inside are passed over; the server hears the name."""
    asked = names("10.0.0.7", "127.0.0.1")
    registry.given["/x"] = Answer({"a": 1})
    base = f"http://hub.example:{port_of(registry)}"
    with closing(Web(base)) as web:
        assert web.json(base + "/x", "it")[0] == {"a": 1}
    assert asked == ["hub.example"]
    assert registry.asked[0].headers["host"] == f"hub.example:{port_of(registry)}"


@pytest.mark.usefixtures("here_is_out")
def test_a_name_that_changes_its_mind_changes_nothing(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """The second answer of a resolver (DNS rebinding) is one that is judged, too."""
    answers = iter((["127.0.0.1"], ["10.0.0.7"]))
    monkeypatch.setattr(connecting, "resolved", lambda host, _: asked.append(host) or next(answers))
    registry.given["/x"] = Answer({}, headers=(("connection", "close"),))
    base = f"http://hub.example:{port_of(registry)}"
    with closing(Web(base)) as web:
        web.json(base + "/x", "it")
        with pytest.raises(RegistryTrouble, match=r"resolves to 10\.0\.0\.7"):
            web.json(base + "/x", "it")
    assert len(registry.asked) == 1


@pytest.mark.usefixtures("here_is_out")
def test_tls_keeps_the_name(names: Names) -> None:
    """What the server reads first names the host, not the address."""
    names("127.0.0.1")
    heard = list[bytes]()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hear() -> None:
            wire, _ = server.accept()
            with wire:
                heard.append(wire.recv(4096))

        thread = Thread(target=hear)
        thread.start()
        with closing(Web(f"https://hub.example:{server.getsockname()[1]}")) as web, pytest.raises(RegistryTrouble):
            web.json(web.base + "/x", "it")
        thread.join(10)
    assert b"hub.example" in heard[0]


@pytest.mark.parametrize("with_port", [True, False])
def test_what_a_person_named_may_be_inside(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, asked: list[str], *, with_port: bool
) -> None:
    """It is dialled as it is, by whatever the system resolves it to."""
    del asked
    dialled = list[str]()

    def dial(self: object, host: str, *rest: object) -> connecting.httpcore.NetworkStream:
        del self, rest
        dialled.append(host)
        raise connecting.httpcore.ConnectError("nobody there")

    monkeypatch.setattr(connecting.httpcore.SyncBackend, "connect_tcp", dial)
    port = port_of(registry)
    with closing(Web(f"https://mirror.example:{port}")) as web:
        web.ours = Ours((f"Mirror.example:{port}" if with_port else "mirror.EXAMPLE",))
        with pytest.raises(RegistryTrouble, match="nobody there"):
            web.json(web.base + "/x", "it")
    assert dialled == ["mirror.example"]


@pytest.mark.usefixtures("here_is_out")
def test_the_next_address_is_tried(registry: Registry, monkeypatch: pytest.MonkeyPatch, names: Names) -> None:
    """Where one does not answer, as without a judgement."""
    monkeypatch.setattr(connecting, "leads_out", lambda address: address.startswith("127."))
    names("127.0.0.9", "127.0.0.1")
    registry.given["/x"] = Answer({})
    base = f"http://hub.example:{port_of(registry)}"
    with closing(Web(base)) as web:
        assert web.json(base + "/x", "it")[0] == {}


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "not known"),
        (UnicodeError("label empty or too long"), "too long"),
        (None, "has no address"),
    ],
)
def test_a_name_that_nobody_knows(
    web: Web, monkeypatch: pytest.MonkeyPatch, asked: list[str], trouble: Exception | None, words: str
) -> None:
    """It cannot be reached, in the words that there were before."""
    del asked

    def fail(host: str, port: int) -> list[str]:
        del host, port
        if trouble is not None:
            raise trouble
        return []

    monkeypatch.setattr(connecting, "resolved", fail)
    with pytest.raises(RegistryTrouble, match=rf"hub\.example cannot be reached \(.*{words}"):
        web.json("https://hub.example/x", "it")


def test_a_proxy_resolves(network: Registry, monkeypatch: pytest.MonkeyPatch, names: Names) -> None:
    """What it is asked for is not looked up here; where NO_PROXY excepts a host, that is."""
    asked = names("10.0.0.7")
    monkeypatch.setenv("HTTPS_PROXY", network.url)
    monkeypatch.setenv("NO_PROXY", "direct.example")
    with closing(Web("https://hub.example")) as web, pytest.raises(RegistryTrouble):
        web.json("https://hub.example/x", "it")
    assert (network.tunnels, asked) == (["hub.example:443"], [])
    with closing(Web("https://direct.example")) as web, pytest.raises(RegistryTrouble, match="an address inside"):
        web.json("https://direct.example/x", "it")
    assert asked == ["direct.example"]


Dialled = list[tuple[str, float]]


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> Dialled:
    """What was dialled, with the seconds it had; nothing ever answers, which takes no time here."""
    tries = Dialled()

    def dial(self: object, host: str, port: int, secs: float, *rest: object) -> connecting.httpcore.NetworkStream:
        del self, port, rest
        tries.append((host, secs))
        raise connecting.httpcore.ConnectTimeout("timed out")

    monkeypatch.setattr(connecting.httpcore.SyncBackend, "connect_tcp", dial)
    return tries


def test_what_cannot_be_reached_is_told_at_once(web: Web, names: Names, dialled: Dialled) -> None:
    """Each address is tried once, all of them together within the time of one; nobody is told of silence, or asked again."""
    addresses = [f"8.8.8.{number}" for number in range(1, 5)]
    names(*addresses)
    web.patience = LONG
    web.waits = pytest.fail
    with pytest.raises(RegistryTrouble) as refused:
        web.json("https://hub.example/x", "it")
    assert str(refused.value).startswith("hub.example cannot be reached (no connection within 10 s): check the conn")
    assert [host for host, _ in dialled] == addresses
    first = dialled[0][1]
    assert first == pytest.approx(CONNECT_SECS / 4, abs=0.5)
    assert all(secs <= CONNECT_SECS for _, secs in dialled)


def test_a_proxy_that_cannot_be_reached_is_told_at_once(
    web: Web, monkeypatch: pytest.MonkeyPatch, dialled: Dialled
) -> None:
    """By its own name, and not as silent."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    with closing(Web("https://hub.example")) as asking, pytest.raises(RegistryTrouble) as refused:
        asking.json("https://hub.example/x", "it")
    assert "through the proxy http://proxy.example:3128 that HTTPS_PROXY names (no connection within 10 s)" in str(
        refused.value
    )
    assert [host for host, _ in dialled] == ["proxy.example"]


@pytest.mark.parametrize("way", ["judged", "inside", "ours", "proxy", "resolver"])
def test_a_stop_reaches_a_dial(monkeypatch: pytest.MonkeyPatch, names: Names, way: str) -> None:
    """By whichever way it is dialled, and while its name is looked up: no address is tried after it."""
    begun, end, dials, before = Event(), Event(), list[str](), set(threading.enumerate())

    def stand(self: object, host: str, *rest: object) -> connecting.httpcore.NetworkStream:
        del self, rest
        dials.append(host)
        begun.set()
        end.wait(30)
        raise connecting.httpcore.ConnectTimeout("timed out")

    def resolve(host: str, port: int) -> list[str]:
        stand(None, host, port)
        return []

    names("8.8.8.1", "8.8.8.2")
    monkeypatch.setattr(connecting.httpcore.SyncBackend, "connect_tcp", stand)
    if way == "resolver":
        monkeypatch.setattr(connecting, "resolved", resolve)
    if way == "proxy":
        monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    with closing(Web("https://127.0.0.9" if way == "inside" else "https://hub.example")) as web:
        web.ours = Ours(("hub.example",) if way == "ours" else ())
        web.patience = LONG

        def stop() -> None:
            begun.wait(30)
            web.stop(Busy("stopped"))

        stopping = Thread(target=stop)
        stopping.start()
        with pytest.raises(Busy, match="stopped"):
            web.json(web.base + "/x", "it")
        assert not end.is_set()
        stopping.join(30)
        (dial,) = [thread for thread in set(threading.enumerate()) - before if thread.name == "dial"]
        end.set()
        dial.join(30)
    assert len(dials) == 1


def downloader(connections: int = 1) -> HttpDownloads:
    throttle = Throttle(lambda: 0, lambda: 0.0)
    return HttpDownloads(FakeDisk(), throttle, lambda: connections, parallel_from=1 << 18)


def wanted(tmp_path: Path, url: str) -> Wanted:
    return Wanted(url, str(tmp_path / "file.bin"), "file.bin", len(DATA), hashlib.sha256(DATA).hexdigest())


def nothing(done: int, total: int) -> None:
    del done, total


def test_a_file_whose_host_cannot_be_reached_is_told_at_once(tmp_path: Path, names: Names, dialled: Dialled) -> None:
    """When it begins, as the page says: tried once, and told as what it is."""
    names("8.8.8.1")
    with pytest.raises(RegistryTrouble, match=r"hub\.example cannot be reached \(no connection within 10 s\)"):
        downloader().fetch(wanted(tmp_path, "https://hub.example/file.bin"), nothing)
    assert [host for host, _ in dialled] == ["8.8.8.1"]


def test_a_file_comes_through_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: Names) -> None:
    """By tunnels, under TLS of the host's own name, by several connections; its name is looked up by the proxy alone."""
    asked = names("10.0.0.7")
    cert, key = pair(tmp_path, names="DNS:files.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    with closing(ReleaseHost()) as host:
        host.add("/file.bin", DATA)
        with closing(Relay(behind_tls(host, cert, key))) as relay:
            monkeypatch.setenv("HTTPS_PROXY", relay.url)
            want = wanted(tmp_path, "https://files.example/file.bin")
            downloader(connections=4).fetch(want, nothing)
            with pytest.raises(RegistryTrouble, match="CERTIFICATE_VERIFY_FAILED"):
                downloader().fetch(wanted(tmp_path / "other", "https://other.example/file.bin"), nothing)
    assert Path(want.path).read_bytes() == DATA
    assert set(relay.tunnels) == {"files.example:443", "other.example:443"}
    assert len(host.files["/file.bin"].asked) == 4
    assert 1 <= relay.tunnels.count("files.example:443") <= 4  # a piece may come by the one of another that is done
    assert relay.relayed > len(DATA)
    assert asked == []
