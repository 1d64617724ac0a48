"""Updating: what is news, what the gate says, and that the old build serves on whatever goes wrong."""

import pytest

from blazar.application.engines.update_engine import Outcome
from blazar.domain.errors import BlazarError, Conflict, RegistryTrouble
from blazar.domain.gate import GateVerdict
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.support.releasing import Rig, build, digest_of, stable

KIND = EngineKind.LLAMACPP


def rig_with(*rows: Engine, channel: str = "latest", gate: bool | None = None) -> Rig:
    """Builds that are there, and b11429 and b11430 in the feed; `gate`: what it says."""
    rig = Rig([build(11430), stable("v0.6.0", 11429), build(11429)], channel=channel, catalog=MemoryEngineCatalog(rows))
    rig.builds.present |= {row.tag for row in rows}
    if gate is not None:
        rig.gate = lambda new, old: GateVerdict(gate, f"{new.tag} against {old.tag}")
    return rig


def active(rig: Rig) -> str:
    return next(row.tag for row in rig.catalog.list_engines() if row.active)


def test_a_newer_build_takes_over() -> None:
    """The old one stays beside it."""
    rig = rig_with(an_engine("b11429"), gate=True)
    done = rig.update(KIND, rig.tell)
    assert (done.outcome, done.now.tag, done.before and done.before.tag) == (Outcome.UPDATED, "b11430", "b11429")
    assert done.gate == "b11430 against b11429"
    assert active(rig) == "b11430"
    assert {row.tag for row in rig.catalog.list_engines()} == {"b11429", "b11430"}


def test_the_first_build_is_not_compared() -> None:
    """There is nothing that it could be compared with; nor is a stand-in wheel worth it."""
    rig = rig_with(gate=False)
    assert rig.update(KIND, rig.tell).outcome is Outcome.UPDATED
    rig = rig_with(an_engine("embedded-1", provenance=Provenance.EMBEDDED), gate=False)
    assert rig.update(KIND, rig.tell).now.tag == "b11430"
    assert active(rig) == "b11430"


def test_what_the_gate_holds_back_does_not_serve() -> None:
    """It is installed, and the old one is active as before."""
    rig = rig_with(an_engine("b11429"), gate=False)
    done = rig.update(KIND, rig.tell)
    assert (done.outcome, done.now.tag, done.fresh and done.fresh.tag) == (Outcome.HELD_BACK, "b11429", "b11430")
    assert active(rig) == "b11429"


def test_the_newest_is_up_to_date() -> None:
    """Nothing is fetched; also where the active one is newer than the feed."""
    for tag in ("b11430", "b11500"):
        rig = rig_with(an_engine(tag))
        assert rig.update(KIND, rig.tell).outcome is Outcome.CURRENT
        assert rig.downloads.wanted == []


def test_h11_a_release_of_the_same_bytes_is_no_update() -> None:
    """Artefacts are compared, not the names of what they were released as."""
    rig = rig_with(an_engine("b11000", digest=digest_of(11430)))
    assert rig.update(KIND, rig.tell).outcome is Outcome.CURRENT
    assert rig.downloads.wanted == []


def test_odd_the_stable_channel_is_a_pin_and_no_floor() -> None:
    """A build newer than the stable one gives way to it."""
    rig = rig_with(an_engine("b11430"), channel="stable")
    assert rig.update(KIND, rig.tell).now.tag == "b11429"
    assert rig.update(KIND, rig.tell).outcome is Outcome.CURRENT


def test_a_pinned_build_stays() -> None:
    """Nothing is even asked."""
    rig = rig_with(an_engine("b11429", pinned=True))
    with pytest.raises(Conflict, match="pinned"):
        rig.update(KIND, rig.tell)
    assert rig.feed.asked == []


def test_one_that_is_there_already_is_only_compared() -> None:
    """Held back once, or rolled back from: no second download."""
    rig = rig_with(an_engine("b11429"), an_engine("b11430"), gate=True)
    assert rig.update(KIND, rig.tell).now.tag == "b11430"
    assert rig.downloads.wanted == []


@pytest.mark.parametrize("where", ["feed", "download", "trial"])
def test_h14_whatever_goes_wrong_the_old_build_serves_on(where: str) -> None:
    """It is active, and there, until the new one has proved itself."""
    rig = rig_with(an_engine("b11429"), gate=True)
    if where == "feed":
        rig.feed.trouble = RegistryTrouble("offline")
    elif where == "download":
        rig.downloads.trouble = RegistryTrouble("cut off")
    else:
        rig.trial.broken["/engines/.b11430/llamacpp"] = "illegal instruction"
    with pytest.raises(BlazarError):
        rig.update(KIND, rig.tell)
    assert active(rig) == "b11429"
    assert "b11429" in rig.builds.present
    assert [row.tag for row in rig.catalog.list_engines()] == ["b11429"]


def test_a_broken_build_is_not_up_to_date() -> None:
    """Whatever it is called; a newer one takes over as ever."""
    rig = rig_with(an_engine("b11430"))
    rig.builds.empty.add("b11430")
    with pytest.raises(Conflict, match=r"cannot run: its program is gone .*blazar engine rm b11430"):
        rig.update(KIND, rig.tell)
