"""The registry's list, forks by their commit, and when one retires."""

from typing import Any

import pytest

from blazar.domain.capability import (
    DAY_SECS,
    ForkLane,
    LaneAsset,
    asset_for,
    checked_architectures,
    fork_tag,
    is_covered,
    is_curated,
    is_due,
    parse_fork,
    read_list,
    stamped,
)
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.engines import an_engine

SHA = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "ab" * 32


def entry(**changes: Any) -> dict[str, Any]:
    """A lane as the list has it; a change to None takes a field out."""
    found = {
        "name": "novel",
        "kind": "llamacpp",
        "repo": "owner/llama.cpp",
        "commit": SHA,
        "architectures": ["novel", "novel-moe"],
        "license": "MIT",
        "build": "cmake",
    }
    return {name: value for name, value in (found | changes).items() if value is not None}


def read(*lanes: object) -> Any:
    return read_list({"version": 1, "lanes": list(lanes)})


def fork(**changes: Any) -> Engine:
    """A curated lane that is installed."""
    facts: dict[str, Any] = {
        "provenance": Provenance.FORK,
        "release": "novel",
        "source": f"owner/llama.cpp@{SHA}",
        "architectures": ("novel",),
    }
    return an_engine("novel-01234567", **(facts | changes))


def test_a_lane_is_read() -> None:
    """Every field has its place, and one that nobody knows is passed over."""
    found = read(entry(colour="blue"))
    assert found.troubles == ()
    assert found.lanes == (
        ForkLane("novel", EngineKind.LLAMACPP, "owner/llama.cpp", SHA, ("novel", "novel-moe"), "MIT", "cmake"),
    )
    assert (found.lanes[0].source, found.lanes[0].tag) == (f"owner/llama.cpp@{SHA}", "novel-01234567")


def test_a_lane_may_bring_builds() -> None:
    """They are told apart by system and machine."""
    asset = {"system": "linux", "machine": "x86_64", "url": "https://files.example/a.tar.gz", "sha256": DIGEST}
    lane = read(entry(build=None, assets=[asset])).lanes[0]
    assert asset_for(lane, "linux", "x86_64") == LaneAsset("linux", "x86_64", asset["url"], DIGEST)
    assert asset_for(lane, "linux", "arm64") is None


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:1"])
def test_a_list_of_this_machine_may_name_files_of_it(host: str) -> None:
    """There is nobody between; a list from elsewhere must not send us to an address inside, and none goes without https."""
    asset = {"system": "linux", "machine": "x86_64", "url": f"http://{host}/a.tar.gz", "sha256": DIGEST}
    found: dict[str, Any] = {"version": 1, "lanes": [entry(build=None, assets=[asset])]}
    assert read_list(found, host="127.0.0.1").lanes[0].assets[0].url == asset["url"]
    assert read_list(found).lanes == read_list(found, host="lists.example").lanes == ()
    assert read_list(found, host="10.0.0.2").lanes == ()
    for other in ("http://a.example/b.zip", "http://127.0.0.1.a.example/b.zip", "http://127.0.0.1:x@a.example/b.zip"):
        asset["url"] = other
        assert read_list(found, host="127.0.0.1").lanes == ()


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0x7f.1", "a.localhost"]
)
def test_a_list_from_elsewhere_names_nothing_on_this_machine(name: str) -> None:
    """However it is spelled, and with https as well; one of this network names what is in it, but for this machine."""
    asset = {"system": "linux", "machine": "x86_64", "url": f"https://{name}:8443/a.tar.gz", "sha256": DIGEST}
    found: dict[str, Any] = {"version": 1, "lanes": [entry(build=None, assets=[asset])]}
    for host in ("", "lists.example", "10.0.0.2"):
        assert read_list(found, host=host).lanes == ()
    assert read_list(found, host="localhost").lanes != ()
    asset["url"] = "https://files.internal/a.tar.gz"
    assert (read_list(found, host="lists.example").lanes == ()) is (read_list(found, host="10.0.0.2").lanes != ())


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"commit": "main"}, "commit"),
        ({"commit": "v1.0.0"}, "commit"),
        ({"commit": SHA[:12]}, "commit"),
        ({"commit": SHA.upper()}, "commit"),
        ({"commit": f"{SHA}\n"}, "commit"),
        ({"commit": None}, "commit"),
        ({"commit": 5}, "commit"),
        ({"kind": "ollama"}, "kind"),
        ({"kind": None}, "kind"),
        ({"name": "../up"}, "name"),
        ({"name": "Novel"}, "name"),
        ({"name": "x" * 60}, "name"),
        ({"repo": "https://elsewhere.example/owner/name"}, "repo"),
        ({"repo": "owner/.."}, "repo"),
        ({"repo": "owner"}, "repo"),
        ({"repo": "owner/name/more"}, "repo"),
        ({"architectures": []}, "architectures"),
        ({"architectures": "novel"}, "architectures"),
        ({"architectures": ["novel", 3]}, "architectures"),
        ({"architectures": ["a b"]}, "architectures"),
        ({"license": ""}, "license"),
        ({"license": None}, "license"),
        ({"license": "M\x1bIT"}, "license"),
        ({"build": "make install"}, "build"),
        ({"build": None}, "build"),
        ({"source_sha256": "abc"}, "source_sha256"),
        ({"assets": "https://a.example"}, "assets"),
        ({"assets": [5]}, "assets"),
        (
            {"assets": [{"system": "linux", "machine": "x86_64", "url": "http://a.example/b.zip", "sha256": DIGEST}]},
            "assets",
        ),
        (
            {"assets": [{"system": "linux", "machine": "x86_64", "url": "https://u:p@a.example/b", "sha256": DIGEST}]},
            "assets",
        ),
        ({"assets": [{"system": "linux", "machine": "x86_64", "url": "https://a.example/b.zip"}]}, "assets"),
        (
            {"assets": [{"system": "beos", "machine": "x86_64", "url": "https://a.example/b.zip", "sha256": DIGEST}]},
            "assets",
        ),
    ],
)
def test_a_lane_that_cannot_be_trusted_is_left_out(changes: dict[str, Any], field: str) -> None:
    """Branches, short commits, foreign schemes and unknown recipes: the others stay, and a sentence names the field."""
    found = read(entry(**changes), entry(name="sound"))
    assert [lane.name for lane in found.lanes] == ["sound"]
    assert f"its {field} must be" in found.troubles[0]


@pytest.mark.parametrize("lane", [5, None, "novel", ["novel"]])
def test_what_is_no_lane_is_counted(lane: object) -> None:
    """It has no name to be called by."""
    assert "lane number 1 of" in read(lane).troubles[0]


def test_two_lanes_of_one_name() -> None:
    """The first one counts: a later entry must not take its place."""
    found = read(entry(), entry(commit=SHA[::-1]))
    assert [lane.commit for lane in found.lanes] == [SHA]
    assert "'novel'" in found.troubles[0]


def test_a_name_that_steers_a_terminal_is_shown_escaped() -> None:
    """It is a stranger's."""
    assert read(entry(name="a\x1b[2J")).troubles[0].isprintable()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "no list of lanes"),
        ({"lanes": {}}, "no list of lanes"),
        ({"lanes": []}, "version None"),
        ({"version": 2, "lanes": []}, "version 2"),
        ({"version": True, "lanes": []}, "version True"),
        ({"version": 1, "lanes": [None] * 1001}, "more than 1000"),
    ],
)
def test_what_is_no_list_is_refused_whole(found: object, said: str) -> None:
    """Another schema may mean other things by the same words."""
    with pytest.raises(Malformed, match=said):
        read_list(found)


def test_lanes_are_found_by_architecture() -> None:
    """What the sentence about an unknown architecture names."""
    found = read(entry(), entry(name="other", architectures=["other"]))
    assert (found.serving("novel-moe"), found.serving("nothing")) == (("novel",), ())


def test_a_fork_is_named_by_its_commit() -> None:
    """Upper case and `.git` are the same commit and repository."""
    assert parse_fork(f"Owner/llama.cpp.git@{SHA.upper()}") == ("Owner/llama.cpp", SHA)
    assert fork_tag(parse_fork(f"Owner/llama.cpp@{SHA}")) == "Owner-llama.cpp-01234567"
    assert len(fork_tag(parse_fork(f"{'o' * 39}/{'n' * 90}@{SHA}"))) < 64


@pytest.mark.parametrize(
    "text", [f"Owner/name@{ref}" for ref in ("main", "v1.0", "", SHA[:39], SHA + "0")] + ["Owner/name"]
)
def test_a_branch_is_no_fork(text: str) -> None:
    """It may be another thing tomorrow; the sentence says how it is written."""
    with pytest.raises(Malformed, match="Owner/name@SHA with all 40"):
        parse_fork(text)


@pytest.mark.parametrize("text", ["", f"name@{SHA}", f"https://a.example/b/c@{SHA}", f"../up@{SHA}", f"a/..@{SHA}"])
def test_what_is_no_repository_is_refused(text: str) -> None:
    """It becomes part of an address."""
    with pytest.raises(Malformed, match="names no fork"):
        parse_fork(text)


def test_a_fork_is_for_something() -> None:
    """Without an architecture nothing would ever be routed to it; the same one twice is one."""
    assert checked_architectures(["a", "b", "a"]) == ("a", "b")
    for wrong in ([], ["a b"], [""], ["x" * 65]):
        with pytest.raises(Malformed):
            checked_architectures(wrong)


def test_only_forks_of_the_registry_are_curated() -> None:
    """A person's own has no lane's name, an official build is no fork."""
    assert is_curated(fork())
    assert not is_curated(fork(release=""))
    assert not is_curated(an_engine(release="b11434"))


@pytest.mark.parametrize(
    ("changes", "covered"),
    [
        ({"architectures": ("llama", "novel")}, True),
        ({"architectures": ("llama",)}, False),
        ({"architectures": ()}, False),
        ({"architectures": ("llama", "novel"), "active": False}, False),
        ({"architectures": ("llama", "novel"), "kind": EngineKind.MISTRALRS}, False),
        ({"architectures": ("llama", "novel"), "provenance": Provenance.FORK}, False),
    ],
)
def test_what_covers_a_fork(changes: dict[str, Any], covered: bool) -> None:
    """The active official build of the kind, and only by what it is known to serve."""
    official = an_engine("b2", **({"active": True} | changes))
    assert is_covered(fork(), [fork(), official]) is covered


def test_all_of_a_forks_architectures_have_to_be_covered() -> None:
    """One that only the fork serves keeps it; a fork that says nothing is never covered."""
    official = an_engine("b2", active=True, architectures=("novel",))
    assert not is_covered(fork(architectures=("novel", "novel-moe")), [official])
    assert not is_covered(fork(architectures=()), [official])


def test_the_stamp_stays_until_mainstream_goes_back() -> None:
    """The days begin when it was first seen, and anew after a rollback."""
    official = an_engine("b2", active=True, architectures=("novel",))
    assert stamped(fork(), [official], 5.0) == 5.0
    assert stamped(fork(superseded_at=3.0), [official], 5.0) == 3.0
    assert stamped(fork(superseded_at=3.0), [an_engine("b1", active=True)], 5.0) == 0.0


@pytest.mark.parametrize(
    ("changes", "days", "now", "due"),
    [
        ({}, 7, 7 * DAY_SECS + 1, True),
        ({}, 7, 7 * DAY_SECS, False),
        ({}, 0, 1e12, False),
        ({"pinned": True}, 7, 1e12, False),
        ({"release": ""}, 7, 1e12, False),
        ({"superseded_at": 0.0}, 7, 1e12, False),
        ({"provenance": Provenance.ARCHIVE}, 7, 1e12, False),
    ],
)
def test_when_a_fork_is_due(changes: dict[str, Any], days: int, now: float, due: bool) -> None:
    """After its days, never with 0 of them, and neither a pinned one nor a person's own."""
    assert is_due(fork(**({"superseded_at": 1.0} | changes)), days, now) is due
