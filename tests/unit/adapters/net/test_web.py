"""Asking a registry: what is followed, what is refused, and in which words."""

import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import closing

import pytest

from blazar.adapters.net import web as module
from blazar.adapters.net.patience import BRIEF, LONG, Crowded, Failing
from blazar.adapters.net.web import Web, checked_base, secure_base
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryGarbled, RegistryTrouble
from tests.support.proxies import forget_proxies
from tests.support.registry import Answer, Drip, Registry
from tests.support.registry_faults import Fault


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
    assert len(registry.asked) == 1 + module.MOST_HOPS


@pytest.mark.parametrize("hops", [module.MOST_HOPS, module.MOST_HOPS + 1])
def test_h13_five_redirects_are_followed_and_no_sixth(web: Web, registry: Registry, hops: int) -> None:
    """On its own host or on others."""
    for hop in range(hops):
        registry.given[f"/{hop}"] = Answer(status=302, headers=(("location", f"/{hop + 1}"),))
    registry.given[f"/{hops}"] = Answer({})
    if hops > module.MOST_HOPS:
        assert "more than 5 redirects" in str(refusal(web, "/0"))
    else:
        assert web.json(registry.url + "/0", "it")[0] == {}


def test_where_a_file_was_looked_for_is_told(web: Web, registry: Registry) -> None:
    """The answers on the way say what the last one does not."""
    registry.given["/x"] = Answer(status=302, headers=(("location", "/y"), ("x-linked-size", "5")))
    registry.given["/y"] = Answer(b"abcde")
    with web.get(registry.url + "/x", "it") as answer:
        assert [one.headers.get("x-linked-size") for one in answer.history] == ["5"]


@pytest.fixture
def clean_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is set."""
    forget_proxies(monkeypatch)


@pytest.fixture
def proxy(network: Registry, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """One that is set for everything, and refuses."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, network.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    return network


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_this_machine_is_asked_without_the_proxy(registry: Registry, proxy: Registry, host: str) -> None:
    """It would be another machine's loopback that it asked."""
    registry.given["/x"] = Answer({"a": 1})
    web = Web(registry.url.replace("127.0.0.1", host))
    try:
        assert host == "127.0.0.2" or web.json(web.base + "/x", "it")[0] == {"a": 1}
        if host == "127.0.0.2":  # where nothing listens: refused by this machine, not asked of the proxy
            assert "cannot be reached" in str(refusal(web))
    finally:
        web.close()
    assert proxy.asked == []


def test_the_outside_is_asked_through_the_proxy(proxy: Registry) -> None:
    """As the environment says."""
    web = Web("https://hub.example")
    assert isinstance(refusal(web), RegistryTrouble)
    web.close()
    assert proxy.tunnels == ["hub.example:443"]


@pytest.mark.parametrize(
    ("base", "to", "followed"),
    [
        ("http://127.0.0.1:5000", "http://cdn.example/x", False),
        ("http://127.0.0.1:5000", "https://cdn.example/x", True),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5001/x", True),
        ("http://[::1]:5000", "http://[::1]:5001/x", True),
        ("http://127.0.0.1:5000", "file:///etc/passwd", False),
        ("https://hub.example", "https://hub.example:8443/x", True),
    ],
)
def test_h13_https_alone_but_on_this_machine(base: str, to: str, followed: bool) -> None:
    """A registry of this machine may send us on to this machine, and out by https."""
    web = Web(base)
    try:
        if followed:
            web._check_hop(base + "/x", module.httpx.URL(to))
            return
        with pytest.raises(RegistryTrouble, match="is not followed"):
            web._check_hop(base + "/x", module.httpx.URL(to))
    finally:
        web.close()


def test_odd_a_mirror_in_the_clear_may_lead_on_in_the_clear() -> None:
    """It is no registry of models: those are refused before anything is asked."""
    web = Web("http://mirror.example")
    web._check_hop("http://mirror.example/x", module.httpx.URL("http://files.example/x"))
    with pytest.raises(RegistryTrouble, match="is not followed"):
        web._check_hop("https://files.example/x", module.httpx.URL("http://files.example/y"))
    web.close()


def test_models_are_fetched_by_https() -> None:
    """From a registry that is not this machine; the variable is named."""
    for value in ("https://hub.example", "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:5000/hub"):
        assert secure_base("HF_ENDPOINT", value) == value
    for value in ("http://hub.example", "http://10.1.2.3", "http://localhost.evil.test"):
        with pytest.raises(RegistryTrouble, match=r"HF_ENDPOINT is '.*': models are fetched by https only"):
            secure_base("HF_ENDPOINT", value)


def test_a_challenge_is_not_answered_with_a_token_of_ones_own(web: Web, registry: Registry) -> None:
    """Who was refused with it is refused."""
    registry.given["/x"] = Answer({}, 401, (("www-authenticate", f'Bearer realm="{registry.url}/token"'),))
    assert isinstance(refusal(web), NotFound)
    assert registry.paths() == ["/x"]


def test_a_challenge_from_elsewhere_is_not_answered(registry: Registry, network: Registry) -> None:
    """Only the registry itself may ask for a token."""
    registry.given["/x"] = Answer(status=302, headers=(("location", network.url + "/y"),))
    network.given["/y"] = Answer({}, 401, (("www-authenticate", f'Bearer realm="{registry.url}/token"'),))
    web = Web(registry.url)
    assert isinstance(refusal(web), NotFound)
    web.close()
    assert registry.paths() == ["/x"]


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
    """Case H13: neither to this machine and its network nor out of TLS; the registry is named, and the host it meant."""
    web = Web(base)
    with pytest.raises(RegistryTrouble, match=r"hub\.example sends us on to"):
        web._check_hop(url, module.httpx.URL(to))
    web._check_hop(url, module.httpx.URL("https://cdn.example/x?sig=1"))
    web.close()


def test_who_is_out_does_not_lead_back_inside() -> None:
    """A registry of this network may send us out; what it sends us to may not send us to this machine, only to where we came from."""
    web = Web("http://127.0.0.1:5000")
    out = "https://lists.example/x"
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
        (Answer(status=429, headers=(("retry-after", "Mon"),)), Crowded, "try again in 60 s"),
        (Answer(status=500), Failing, "status 500"),
        (Answer(status=503, headers=(("retry-after", "9"),)), Busy, "try again in 9 s"),
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


@pytest.mark.parametrize("name", ["ALL_PROXY", "https_proxy"])
def test_socks_is_not_spoken(clean_proxies: None, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """In our words: what to install is nothing that a user of ours could."""
    monkeypatch.setenv(name, "socks5://me:secret@there:1080")
    with pytest.raises(RegistryTrouble, match=rf"{name} names the proxy socks5://there:1080, and SOCKS") as refused:
        Web("https://hub.example")
    assert "pip" not in str(refused.value)


def test_a_dead_proxy_is_named(clean_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable that names it: the registry is not at fault."""
    server = Registry()
    server.close()
    monkeypatch.setenv("HTTPS_PROXY", server.url.replace("//", "//me:secret@"))
    web = Web("https://hub.example")
    with closing(web):
        refused = str(refusal(web))
    assert refused.startswith(f"hub.example cannot be reached through the proxy {server.url} that HTTPS_PROXY names (")
    assert "secret" not in refused


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
    web = Web(registry.url, whole_secs=0.5)
    for path in ("/x", "/other"):
        assert "did not get done within 0.5 s" in str(refusal(web, path))
    assert registry.heard(1) == ["/x"]
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


@pytest.mark.parametrize("to", ["file:///etc/passwd", "data:,x", "gopher:x"])
def test_an_address_without_a_host_is_told_by_its_kind(to: str) -> None:
    """No host is made of it."""
    web = Web("https://hub.example")
    with pytest.raises(RegistryTrouble, match=rf"sends us on to an address that begins with {to.partition(':')[0]}:,"):
        web._check_hop("https://hub.example/x", module.httpx.URL(to))
    web.close()


@pytest.mark.parametrize("value", ["ftp://me:pass@hub.example/x?k=1", "http://me:pass@hub.example/?k=1"])
def test_a_base_that_is_refused_is_told_without_what_opens_it(value: str) -> None:
    """What a variable holds may be a password."""
    with pytest.raises(RegistryTrouble, match=r"//hub\.example") as told:
        module.secure_base("BLAZAR_REGISTRY_BASE", value)
    assert not {"pass", "k=1"} & set(str(told.value).replace("@", " ").replace("?", " ").split())
    assert "pass" not in str(told.value)


def test_a_listing_of_nothing_many_times_over_is_cut_off(web: Web, registry: Registry) -> None:
    """Two bytes of it are two hundred of memory."""
    registry.given["/x"] = Answer(b"[" + b"{}," * (4 << 20) + b"{}]")
    tracemalloc.start()
    assert "values" in str(refusal(web))
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_who_asks_may_say_how_much_it_can_be(web: Web, registry: Registry) -> None:
    """Manifests are small, listings are not."""
    registry.given["/x"] = Answer(b'"' + b"a" * (2 << 20) + b'"')
    assert len(web.json(registry.url + "/x", "it")[0]) == 2 << 20
    with pytest.raises(RegistryGarbled, match="more than 1 MiB"):
        web.json(registry.url + "/x", "it", most=1 << 20)


def test_a_registry_that_says_nothing_is_asked_again(registry: Registry) -> None:
    """Before the head of an answer or in its body; each pause is told, and why."""
    for stall in ("before", "body"):
        registry.given["/x"] = Answer({"a": 1})
        registry.faults.set("/x", Fault(stall=stall, times=2))
        with closing(Web(registry.url, read_secs=0.3)) as web:
            said: list[str] = []

            def waits(sentence: str, web: Web = web, said: list[str] = said) -> None:
                said.append(sentence)
                if len(said) == 2:
                    web._client.timeout = 60.0  # the answer that comes now may take its time

            web.patience, web.waits = LONG, waits
            assert web.json(f"{registry.url}/x", "owner/repo")[0] == {"a": 1}
            whys = [(teaching.remote_was_silent(), number) for number in (2, 3)]
            assert said == [
                teaching.remote_asked_again(web.host, why, "owner/repo", 1, teaching.remote_try(number, LONG.tries))
                for why, number in whys
            ]


def test_a_silence_is_borne_so_often_on_one_errand(registry: Registry) -> None:
    """A listing asks dozens of times: the first question has all the patience, those after it none; the end says how often."""
    registry.faults.set("/x", Fault(stall="before"))
    registry.given["/x"] = registry.given["/y"] = Answer({})
    registry.faults.set("/y", Fault(stall="before"))
    with closing(Web(registry.url, read_secs=0.3)) as web:
        web.patience = BRIEF
        assert str(refusal(web)) == teaching.remote_slow(web.host, 0.3, BRIEF.tries)
        assert registry.heard(BRIEF.tries) == ["/x"] * BRIEF.tries
        assert str(refusal(web, "/y")) == teaching.remote_slow(web.host, 0.3)
        assert registry.heard(BRIEF.tries + 1) == ["/x"] * BRIEF.tries + ["/y"]


def test_a_pause_that_a_registry_asks_for_is_told(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its seconds (Retry-After); of a trouble of its own with ours."""
    registry.given["/x"] = Answer({})
    registry.faults.set("/x", Fault(status=429, headers=(("retry-after", "7"),), times=1), Fault(status=500, times=1))
    with closing(Web(registry.url)) as web:
        said: list[str] = []
        web.patience, web.waits = LONG, said.append
        monkeypatch.setattr(web._cutoff, "rest", lambda _: None)
        web.json(f"{registry.url}/x", "m:1b")
        assert said == [
            teaching.remote_asked_again(
                web.host, teaching.remote_was_crowded(), "m:1b", 7.001, teaching.remote_try(2, LONG.tries)
            ),
            teaching.remote_asked_again(
                web.host, teaching.remote_was_failing(), "m:1b", 0.1, teaching.remote_try(3, LONG.tries)
            ),
        ]
        assert "asking again for m:1b in 8 s (try 2 of 5)" in said[0]
