"""Asking a registry: what is followed, what is refused, and in which words."""

import threading
from collections.abc import Iterator

import pytest

from blazar.adapters.net import web as module
from blazar.adapters.net.web import Web, checked_base
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryGarbled, RegistryTrouble
from tests.support.registry import Answer, Drip, Registry


@pytest.fixture
def web(registry: Registry) -> Iterator[Web]:
    asking = Web(registry.url, "secret", variable="HF_TOKEN", read_secs=5.0)
    yield asking
    asking.close()


def refusal(web: Web, path: str = "/x") -> BlazarError:
    with pytest.raises(BlazarError) as refused:
        web.json(web.base + path, "owner/repo")
    return refused.value


def test_json_comes_with_its_headers(web: Web, registry: Registry) -> None:
    """Asked for plain, with the token, under our name."""
    registry.given["/x"] = Answer({"a": 1}, headers=(("link", "<y>"),))
    value, headers = web.json(registry.url + "/x", "it")
    assert (value, headers["link"]) == ({"a": 1}, "<y>")
    sent = registry.asked[0].headers
    assert (sent["authorization"], sent["accept-encoding"]) == ("Bearer secret", "identity")
    assert sent["user-agent"].startswith("blazar/")


def test_the_token_stays_with_its_registry(web: Web, registry: Registry, network: Registry) -> None:
    """A redirect elsewhere keeps the range and loses the token; back home it is there again."""
    network.given["/cdn"] = Answer(status=302, headers=(("location", registry.url + "/home"),))
    registry.given["/x"] = Answer(status=302, headers=(("location", network.url + "/cdn"),))
    registry.given["/home"] = Answer({})
    with web.get(registry.url + "/x", "it", {"range": "bytes=0-9"}) as answer:
        assert answer.status_code == 200
    (there,) = network.asked
    assert ("authorization" in there.headers, there.headers["range"]) == (False, "bytes=0-9")
    assert registry.asked[-1].headers["authorization"] == "Bearer secret"


def test_redirects_end(web: Web, registry: Registry) -> None:
    """A circle is not walked for ever."""
    registry.given["/x"] = Answer(status=302, headers=(("location", "/x"),))
    assert "redirects" in str(refusal(web))
    assert len(registry.asked) == module.MOST_HOPS


@pytest.mark.parametrize(
    ("base", "url", "to"),
    [
        ("https://hub.example", "https://hub.example/x", "http://cdn.example/x"),
        ("https://hub.example", "https://hub.example/x", "https://127.0.0.1/admin"),
        ("https://hub.example", "https://hub.example/x", "https://[::1]/admin"),
        ("https://hub.example", "https://hub.example/x", "https://10.1.2.3/"),
        ("https://hub.example", "https://hub.example/x", "https://169.254.169.254/latest"),
        ("https://hub.example", "https://hub.example/x", "https://localhost:6379/"),
        ("https://hub.example", "https://hub.example/x", "https://db.internal/"),
        ("https://hub.example", "https://hub.example/x", "https://127.1:8080/"),
        ("https://hub.example", "https://hub.example/x", "https://2130706433/"),
        ("https://hub.example", "https://hub.example/x", "https://localhost./"),
        ("https://hub.example", "https://hub.example/x", "https://[::ffff:127.0.0.1]/"),
        ("http://hub.example", "http://hub.example/x", "ftp://cdn.example/x"),
    ],
)
def test_a_redirect_leads_nowhere_inside(base: str, url: str, to: str) -> None:
    """Neither to this machine and its network nor out of TLS; the registry is named, and the host it meant."""
    web = Web(base)
    with pytest.raises(RegistryTrouble, match=r"hub\.example sends us on to"):
        web._check_hop(url, module.httpx.URL(to))
    web._check_hop(url, module.httpx.URL("https://cdn.example/x?sig=1"))
    web.close()


def test_who_is_out_does_not_lead_back_inside() -> None:
    """A registry of this network may send us out; what it sends us to may not send us to this machine, only to where we came from."""
    web = Web("http://127.0.0.1:5000")
    out = "http://lists.example/x"
    web._check_hop("http://127.0.0.1:5000/x", module.httpx.URL(out))
    web._check_hop(out, module.httpx.URL("http://127.0.0.1:5000/y"))
    with pytest.raises(RegistryTrouble, match="sends us on to"):
        web._check_hop(out, module.httpx.URL("http://127.0.0.1:6379/"))
    web.close()


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(status=404), NotFound, "has no owner/repo, or it is private"),
        (Answer(status=401), NotFound, "HF_TOKEN"),
        (Answer(status=401, headers=(("X-Error-Code", "GatedRepo"),)), Forbidden, "accept its terms"),
        (Answer(status=403), Forbidden, "HF_TOKEN"),
        (Answer(status=429, headers=(("retry-after", "7"),)), Busy, "try again in 7 s"),
        (Answer(status=429, headers=(("retry-after", "Mon"),)), Busy, "try again in 60 s"),
        (Answer(status=500), RegistryTrouble, "status 500"),
        (Answer(status=204), RegistryTrouble, "status 204"),
        (Answer(b"<html>"), RegistryGarbled, "no JSON"),
        (Answer(b" <!DOCTYPE html>"), RegistryGarbled, "a web page, such as"),
        (Answer(b"[" * 100_000), RegistryGarbled, "no JSON"),
        (Answer(b"{}", headers=(("content-encoding", "gzip"),)), RegistryGarbled, "compressed"),
        (Answer(status=302, headers=(("location", "http://a.example:99999999/"),)), RegistryTrouble, "not followed"),
        (Answer(status=302, headers=(("location", "http://a.example:x/"),)), RegistryGarbled, "cannot be used"),
    ],
)
def test_refusals_are_sentences(
    web: Web, registry: Registry, answer: Answer, kind: type[BlazarError], words: str
) -> None:
    """Not found, private, gated, too often, broken: each says what to do."""
    registry.given["/x"] = answer
    refused = refusal(web)
    assert type(refused) is kind
    assert words in str(refused)
    assert "secret" not in str(refused)


def test_without_a_token_there_is_none_to_set(registry: Registry) -> None:
    """Ollama's registry has no accounts that we could name a variable for."""
    web = Web(registry.url)
    assert "TOKEN" not in str(refusal(web))
    web.close()


def test_a_proxy_that_cannot_be_used_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in the environment, and the client complains when it is made."""
    monkeypatch.setenv("ALL_PROXY", "nonsense://there")
    with pytest.raises(RegistryTrouble, match=r"hub\.example cannot be reached"):
        Web("https://hub.example")


def test_nothing_answers() -> None:
    """Offline is said with the host's name and its port."""
    server = Registry()
    server.close()
    web = Web(server.url)
    refused = refusal(web)
    assert isinstance(refused, RegistryTrouble)
    assert f"127.0.0.1:{server.server.server_port} cannot be reached" in str(refused)
    web.close()


@pytest.mark.parametrize(
    "value",
    ["nonsense", "hub.example", "ftp://hub.example", "https://", "https://a:99999", "http://[::1", "http://a\x01b"],
)
def test_an_address_must_be_one(value: str) -> None:
    """The variable is named, since it is there that it must be set right; nothing is asked."""
    with pytest.raises(RegistryTrouble, match=r"HF_ENDPOINT is '.*', which is no address"):
        checked_base("HF_ENDPOINT", value)
    assert checked_base("HF_ENDPOINT", "http://[::1]:8080/hub") == "http://[::1]:8080/hub"


@pytest.mark.parametrize(
    ("base", "shown"),
    [
        ("https://hub.example", "hub.example"),
        ("http://me:secret@hub.example:8080/x", "hub.example:8080"),
        ("http://[::1]:80", "[::1]:80"),
        ("http://hub.example:99999", "http://hub.example:99999"),
    ],
)
def test_sentences_name_the_port(base: str, shown: str) -> None:
    """And no secret of the address."""
    web = Web(base)
    assert web.host == shown
    web.close()


def test_silence_is_not_waited_for(registry: Registry) -> None:
    """A server that accepts and says nothing costs the time of one reading."""
    held = threading.Event()

    def hold(_: object) -> Answer:
        held.wait(10)
        return Answer()

    registry.given["/x"] = hold
    web = Web(registry.url, read_secs=0.05)
    assert "sent nothing for 0.05 s" in str(refusal(web))
    held.set()
    web.close()


@pytest.mark.parametrize("head", [False, True])
def test_a_trickle_ends(registry: Registry, head: bool) -> None:
    """However steadily it drips: the whole errand has its time, and nothing is asked after that."""
    registry.given["/x"] = Drip(head)
    web = Web(registry.url, whole_secs=0.05)
    for path in ("/x", "/other"):
        assert "did not get done within 0.05 s" in str(refusal(web, path))
    assert registry.paths() == ["/x"]
    web.close()


@pytest.mark.parametrize("head", [False, True])
def test_a_reader_is_stopped_from_another_thread(registry: Registry, head: bool) -> None:
    """It waits in a socket; the reason that was given is what it raises, also for what comes after."""
    registry.given["/x"] = Drip(head)
    web = Web(registry.url)
    why = Busy("the daemon stops")
    threading.Timer(0.05, web.stop, [why]).start()
    for _ in range(2):
        assert refusal(web) is why
    web.close()


@pytest.mark.parametrize("token", ["h\xe9", "a b", "x\ny", "\x7f"])
def test_a_token_must_be_one(token: str) -> None:
    """It cannot be sent; the variable is named and the token is not said."""
    with pytest.raises(RegistryTrouble, match=r"^HF_TOKEN holds characters that no token has: copy it anew$"):
        Web("https://hub.example", token, variable="HF_TOKEN")


def test_a_token_from_a_file_may_end_its_line(registry: Registry) -> None:
    """What stands around it is none of it."""
    registry.given["/x"] = Answer({})
    web = Web(registry.url, " hf_x\n")
    web.json(registry.url + "/x", "it")
    assert registry.asked[0].headers["authorization"] == "Bearer hf_x"
    web.close()


def test_a_listing_without_end_is_cut_off(web: Web, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is kept than a repository can need."""
    monkeypatch.setattr(module, "LONGEST_JSON", 1 << 20)
    registry.given["/x"] = Answer(b'"' + b"a" * (4 << 20) + b'"')
    assert "more than 1 MiB" in str(refusal(web))
