"""What a name may resolve to, and that exactly that is dialled. Resolvers here are lists; nothing outside is named to anybody."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Thread

import pytest

from blazar.adapters.net import connecting
from blazar.adapters.net.web import Web
from blazar.domain.addresses import Ours
from blazar.domain.errors import RegistryTrouble
from tests.support.proxies import forget_proxies
from tests.support.registry import Answer, Registry

Names = Callable[..., list[str]]


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
