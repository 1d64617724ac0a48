"""The capability registry and the source of releases over HTTP, against a host on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.net.capabilities import HttpArchitectureSource, HttpCapabilityRegistry, _opened
from blazar.adapters.net.places import FILES
from blazar.domain import capability
from blazar.domain.arch_table import FEWEST
from blazar.domain.errors import BlazarError, Malformed, NotFound, RegistryTrouble
from tests.support.registry import Answer, Asked, Drip, Registry

SHA = "0123456789abcdef0123456789abcdef01234567"
LANE = {
    "name": "novel",
    "kind": "llamacpp",
    "repo": "owner/llama.cpp",
    "commit": SHA,
    "architectures": ["novel"],
    "license": "MIT",
    "build": "cmake",
}
LIST = {"version": 1, "lanes": [LANE]}
PATH = "/lanes.json"
SOURCE = "/ggml-org/llama.cpp/raw/b11434/src/llama-arch.cpp"
TABLE = "\n".join(f'{{ LLM_ARCH_A{n}, "arch-{n}" }},' for n in range(FEWEST))


@pytest.fixture
def host() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()


def registry(host: Registry, tmp_path: Path, whole_secs: float = 5.0) -> HttpCapabilityRegistry:
    return HttpCapabilityRegistry(lambda: f"{host.url}{PATH}", tmp_path / "kept.json", whole_secs=whole_secs)


def names(found: capability.LaneList) -> list[str]:
    return [lane.name for lane in found.lanes]


def test_a_list_is_fetched_and_kept(host: Registry, tmp_path: Path) -> None:
    """Another process has it without asking."""
    host.given[PATH] = Answer(LIST)
    assert registry(host, tmp_path).kept() == capability.LaneList()
    assert names(registry(host, tmp_path).fetch()) == ["novel"]
    assert names(registry(host, tmp_path).kept()) == ["novel"]
    assert len(host.asked) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_an_unchanged_list_is_not_sent_twice(host: Registry, tmp_path: Path) -> None:
    """Its etag is told; what is kept counts then."""

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("if-none-match") == '"v1"':
            return Answer(b"", 304)
        return Answer(LIST, headers=(("etag", '"v1"'),))

    host.given[PATH] = answer
    assert names(registry(host, tmp_path).fetch()) == ["novel"]
    assert names(registry(host, tmp_path).fetch()) == ["novel"]
    assert "if-none-match" not in host.asked[0].headers
    assert host.asked[1].headers["if-none-match"] == '"v1"'


def test_a_304_that_nobody_asked_for_is_no_list(host: Registry, tmp_path: Path) -> None:
    """Nothing is kept that it could mean."""
    host.given[PATH] = Answer(b"", 304)
    with pytest.raises(RegistryTrouble):
        registry(host, tmp_path).fetch()


def test_what_was_kept_of_another_address_is_not_taken(host: Registry, tmp_path: Path) -> None:
    """A changed `capability_registry_url` is another list."""
    host.given[PATH] = Answer(LIST)
    registry(host, tmp_path).fetch()
    other = HttpCapabilityRegistry(lambda: "https://lists.example/a.json", tmp_path / "kept.json")
    assert other.kept() == capability.LaneList()


def test_without_an_address_nothing_is_asked(tmp_path: Path) -> None:
    """`""` disables it, whatever was kept."""
    off = HttpCapabilityRegistry(lambda: "", tmp_path / "kept.json")
    assert (off.configured, off.fetch(), off.kept()) == (False, capability.LaneList(), capability.LaneList())


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (Answer(b"{}"), Malformed, "no list of lanes"),
        (Answer(b"not json"), RegistryTrouble, "no JSON"),
        (Answer(b"[" * 100_000), RegistryTrouble, "no JSON"),
        (Answer(b"", 404), NotFound, "capability registry's list"),
        (Answer(b"", 500), RegistryTrouble, "500"),
        (Answer(b" " * (capability.LARGEST + 1)), RegistryTrouble, "more than 1 MiB"),
        (Answer({"version": 2, "lanes": []}), Malformed, "version 2"),
    ],
)
def test_what_cannot_be_used_replaces_nothing(
    host: Registry, tmp_path: Path, answer: Answer, error: type[BlazarError], said: str
) -> None:
    """The list that was fetched before stays."""
    host.given[PATH] = Answer(LIST)
    registry(host, tmp_path).fetch()
    host.given[PATH] = answer
    with pytest.raises(error, match=said):
        registry(host, tmp_path).fetch()
    assert names(registry(host, tmp_path).kept()) == ["novel"]


def test_a_list_that_trickles_is_given_up(host: Registry, tmp_path: Path) -> None:
    """The whole of it has a bound, however steadily it comes."""
    host.given[PATH] = Drip()
    with pytest.raises(RegistryTrouble):
        registry(host, tmp_path, whole_secs=0.5).fetch()


@pytest.mark.parametrize("url", ["http://lists.example/a.json", "http://192.168.1.5/a.json", "ftp://127.0.0.1/a"])
def test_only_https_is_asked(tmp_path: Path, url: str) -> None:
    """Whoever sits between could name any fork; this machine itself is the exception."""
    with pytest.raises(RegistryTrouble):
        HttpCapabilityRegistry(lambda: url, tmp_path / "kept.json").fetch()


def test_a_list_of_this_machine(host: Registry, tmp_path: Path) -> None:
    """May name files of it: sent, unchanged and kept alike. The same list from elsewhere may not."""
    asset = {"system": "linux", "machine": "x86_64", "url": f"{host.url}/a.tar.gz", "sha256": "b" * 64}
    found = {"version": 1, "lanes": [{**LANE, "assets": [asset]}]}
    host.given[PATH] = lambda asked: (
        Answer(b"", 304) if "if-none-match" in asked.headers else Answer(found, headers=(("etag", '"1"'),))
    )
    for _ in range(2):
        assert registry(host, tmp_path).fetch().lanes[0].assets[0].url == asset["url"]
    assert names(registry(host, tmp_path).kept()) == ["novel"]
    (tmp_path / "far.json").write_text(json.dumps({"url": "https://lists.example/a.json", "list": found}))
    assert HttpCapabilityRegistry(lambda: "https://lists.example/a.json", tmp_path / "far.json").kept().lanes == ()


def test_a_list_that_this_machine_fetches_elsewhere(
    host: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is from elsewhere: who serves it in the end decides what it may name, now and when it is read again."""
    asset = {"system": "linux", "machine": "x86_64", "url": f"{host.url}/a.tar.gz", "sha256": "b" * 64}
    found = {"version": 1, "lanes": [{**LANE, "assets": [asset]}]}
    elsewhere = "http://lists.example"
    monkeypatch.setenv("HTTP_PROXY", host.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    host.given[PATH] = Answer(b"", 302, (("location", f"{elsewhere}{PATH}"),))
    host.given[f"{elsewhere}{PATH}"] = lambda asked: (
        Answer(b"", 304) if "if-none-match" in asked.headers else Answer(found, headers=(("etag", '"1"'),))
    )
    for _ in range(2):
        assert registry(host, tmp_path).fetch().lanes == ()
    assert registry(host, tmp_path).kept().lanes == ()
    assert [asked.path for asked in host.asked] == [PATH, f"{elsewhere}{PATH}"] * 2


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"url": 5}', b"\xff\xfe", json.dumps({"url": "URL", "list": 5, "etag": 7}).encode()]
)
def test_a_kept_list_that_somebody_damaged_is_none(host: Registry, tmp_path: Path, text: bytes) -> None:
    """It is fetched anew, without its etag."""
    kept = tmp_path / "kept.json"
    kept.write_bytes(text.replace(b"URL", f"{host.url}{PATH}".encode()))
    host.given[PATH] = Answer(LIST)
    assert registry(host, tmp_path).kept() == capability.LaneList()
    assert names(registry(host, tmp_path).fetch()) == ["novel"]
    assert "if-none-match" not in host.asked[0].headers


def test_a_folder_that_cannot_be_written_does_not_stop_it(host: Registry, tmp_path: Path) -> None:
    """The list is good all the same, as long as this process lives."""
    (tmp_path / "file").write_text("")
    host.given[PATH] = Answer(LIST)
    asked = HttpCapabilityRegistry(lambda: f"{host.url}{PATH}", tmp_path / "file" / "kept.json")
    assert names(asked.fetch()) == ["novel"]
    assert names(asked.kept()) == ["novel"]


def source(host: Registry, whole_secs: float = 5.0) -> HttpArchitectureSource:
    return HttpArchitectureSource(host.url, "ggml-org/llama.cpp", whole_secs=whole_secs)


def test_architectures_of_a_release(host: Registry) -> None:
    """Read from its source at its tag."""
    host.given[SOURCE] = Answer(TABLE.encode())
    assert len(source(host).architectures("b11434")) == FEWEST
    assert [asked.path for asked in host.asked] == [SOURCE]


@pytest.mark.parametrize("release", ["", "main", "b1/../../x", "b11434\n", "v1.0.0"])
def test_what_is_no_release_is_not_asked_for(host: Registry, release: str) -> None:
    """It would become part of an address."""
    assert source(host).architectures(release) == ()
    assert host.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"", 404),
        Answer(b"", 500),
        Answer(b"<html>"),
        Answer(b"x" * (capability.LARGEST + 1)),
        Answer(b"\xff\xfe\x00"),
        Drip(),
        Drip(head=True),
    ],
)
def test_odd_whatever_goes_wrong_is_an_empty_answer(host: Registry, answer: Any) -> None:
    """Nobody asked for it: a release whose source cannot be read is one of which nothing is known."""
    host.given[SOURCE] = answer
    assert source(host, 0.5).architectures("b11434") == ()


def test_a_host_that_is_not_there_is_an_empty_answer() -> None:
    """Offline nothing is known."""
    assert HttpArchitectureSource("http://127.0.0.1:1", "ggml-org/llama.cpp").architectures("b11434") == ()


def test_a_list_that_was_named_may_lie_inside() -> None:
    """Its own host, and a mirror of the sources; GitHub may not."""
    for base, hosts in (("https://lists.example/x.json", ("lists.example",)), (FILES, ())):
        web = _opened(base, 1.0)
        assert web.ours.hosts == hosts
        web.close()
