"""Asking a registry: what is followed, what is refused, and in which words."""

from collections.abc import Iterator

import pytest

from blazar.adapters.net import web as module
from blazar.adapters.net.web import Web
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryTrouble
from tests.support.registry import Answer, Registry


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
        (Answer(b"<html>"), RegistryTrouble, "no JSON"),
        (Answer(b"[" * 100_000), RegistryTrouble, "no JSON"),
        (Answer(b"{}", headers=(("content-encoding", "gzip"),)), RegistryTrouble, "compressed"),
        (Answer(status=302, headers=(("location", "http://a.example:99999999/"),)), RegistryTrouble, "not followed"),
        (Answer(status=302, headers=(("location", "http://a.example:x/"),)), RegistryTrouble, "cannot be used"),
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
    """Offline is said with the host's name."""
    server = Registry()
    server.close()
    web = Web(server.url)
    refused = refusal(web)
    assert isinstance(refused, RegistryTrouble)
    assert "127.0.0.1 cannot be reached" in str(refused)
    web.close()


def test_silence_is_not_waited_for(registry: Registry) -> None:
    """A server that accepts and says nothing costs the time of one reading."""
    import threading

    held = threading.Event()

    def hold(_: object) -> Answer:
        held.wait(10)
        return Answer()

    registry.given["/x"] = hold
    web = Web(registry.url, read_secs=0.05)
    assert "sent nothing for 0.05 s" in str(refusal(web))
    held.set()
    web.close()


def test_a_trickle_ends(registry: Registry) -> None:
    """However steadily it drips: the whole answer has its time."""
    registry.given["/x"] = Answer({"a": 1})
    ticks = iter((0.0, module.WHOLE_SECS + 1))
    web = Web(registry.url, now=lambda: next(ticks))
    assert "sent nothing for 120 s" in str(refusal(web))
    web.close()


def test_a_listing_without_end_is_cut_off(web: Web, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is kept than a repository can need."""
    monkeypatch.setattr(module, "LONGEST_JSON", 1 << 20)
    registry.given["/x"] = Answer(b'"' + b"a" * (4 << 20) + b'"')
    assert "more than 1 MiB" in str(refusal(web))
