"""Which builds an install pushes out."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from blazar.application.engines.prune_engines import PruneEngines, superfluous
from blazar.application.engines.removal import Unused
from blazar.application.ports.children import Orphan
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.children import FakeChildren
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

LLAMA = EngineKind.LLAMACPP


def five(active: str = "b1") -> list[Engine]:
    """b1 to b5, each installed after the one before."""
    return [an_engine(f"b{n}", installed_at=float(n), active=f"b{n}" == active) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("keep", "active", "gone"),
    [
        (2, "b5", ["b1", "b2", "b3"]),
        (2, "b1", ["b2", "b3"]),
        (1, "b5", ["b1", "b2", "b3", "b4"]),
        (1, "b4", ["b1", "b2", "b3"]),
        (5, "b1", []),
        (9, "b1", []),
    ],
)
def test_the_newest_stay_and_the_active_one_on_top(keep: int, active: str, gone: list[str]) -> None:
    """keep_tags: newest N per kind; the oldest go first."""
    assert superfluous(five(active=active), LLAMA, keep) == gone


def test_what_is_protected() -> None:
    """Pinned ones, the user's own, the wheel; other kinds are not looked at."""
    rows = [
        an_engine("pinned", installed_at=1.0, pinned=True),
        an_engine("local", installed_at=1.0, provenance=Provenance.LOCAL),
        an_engine("embedded-1", installed_at=1.0, provenance=Provenance.EMBEDDED),
        an_engine("sd-1", installed_at=1.0, kind=EngineKind.SDCPP),
        an_engine("sd-2", installed_at=2.0, kind=EngineKind.SDCPP),
        an_engine("b1", installed_at=2.0),
        an_engine("b2", installed_at=3.0),
        an_engine("b3", installed_at=4.0, active=True),
    ]
    assert superfluous(rows, LLAMA, 1) == ["b1", "b2"]
    assert superfluous(rows, EngineKind.SDCPP, 1) == ["sd-1"]


def test_the_local_build_takes_no_place() -> None:
    """It stands on top, and is not one of the newest."""
    rows = [*five(active="b5"), an_engine("local", installed_at=99.0, provenance=Provenance.LOCAL)]
    assert superfluous(rows, LLAMA, 2) == ["b1", "b2", "b3"]


def test_what_served_until_now_is_newer_than_its_number() -> None:
    """The build to go back to stays, even where it is an old one."""
    rows = [an_engine(row.tag, installed_at=row.installed_at) for row in five()]
    rows[0] = an_engine("b1", installed_at=1.0, used_at=50.0)
    assert superfluous([*rows, an_engine("b6", installed_at=60.0, active=True)], LLAMA, 2) == ["b2", "b3", "b4", "b5"]


def test_every_fork_is_a_lane_of_its_own() -> None:
    """One pushes out neither another nor a mainstream build; two of the same repository are builds of one."""
    fork = {"provenance": Provenance.FORK}
    rows = [
        an_engine("f1", installed_at=1.0, source="a/x@1", **fork),
        an_engine("f2", installed_at=2.0, source="a/x@2", **fork),
        an_engine("g1", installed_at=1.0, source="b/y@1", **fork),
        an_engine("h1", installed_at=1.0, **fork),
        an_engine("h2", installed_at=1.0, **fork),
        an_engine("b1", installed_at=9.0, active=True),
    ]
    assert superfluous(rows, LLAMA, 1) == ["f1"]


def prune(
    rows: list[Engine], keep: int, **using: object
) -> tuple[PruneEngines, MemoryEngineCatalog, MemoryEngineBuilds]:
    catalog, builds, children = MemoryEngineCatalog(rows), MemoryEngineBuilds(), FakeChildren(FakeClock())
    builds.present = {row.tag for row in rows}
    children.left = list(using.get("orphans", ()))  # type: ignore[call-overload]
    served = using.get("served", {})
    unused = Unused(children, lambda tag: served.get(tag, ()))  # type: ignore[attr-defined]
    return PruneEngines(catalog, builds, unused, keep), catalog, builds


def test_rows_and_folders_go() -> None:
    """Deleted, not archived."""
    run, catalog, builds = prune(five(active="b5"), 2)
    assert run(LLAMA, "b5") == (("b1", "b2", "b3"), ())
    assert sorted(row.tag for row in catalog.list_engines()) == ["b4", "b5"]
    assert (builds.present, builds.aside) == ({"b4", "b5"}, set())


def test_what_is_in_use_stays_until_the_next_time() -> None:
    """By a daemon's child or by an orphan (D6); the install does not fail over it."""
    run, catalog, _ = prune(five(active="b5"), 1, served={"b1": ["qwen"]}, orphans=[Orphan("m", 7, "b2")])
    done = run(LLAMA, "b5")
    assert done.removed == ("b3", "b4")
    assert ["qwen" in done.kept[0], "pid 7" in done.kept[1]] == [True, True]
    assert sorted(row.tag for row in catalog.list_engines()) == ["b1", "b2", "b5"]


def test_what_was_just_installed_stays() -> None:
    """Also where its clock says that it is old."""
    run, _, _ = prune([*five(active="b5"), an_engine("b0", installed_at=0.0)], 1)
    assert "b0" not in run(LLAMA, "b0").removed


def test_a_folder_that_cannot_be_moved_is_told_and_stays() -> None:
    """Permissions, a file in use: the row and the folder are as before."""
    run, catalog, builds = prune(five(active="b5"), 4)

    def denied(_: str) -> bool:
        raise PermissionError("not permitted")

    builds.set_aside = denied  # type: ignore[method-assign]
    assert run(LLAMA) == ((), ("not permitted",))
    assert len(catalog.list_engines()) == 5


@pytest.mark.parametrize(("keep", "left"), [(2, ["b1", "b4"]), (1, ["b4"])])
def test_an_update_keeps_what_served_before_it_or_nothing(keep: int, left: list[str]) -> None:
    """2: the fresh build and the one to go back to, though newer ones lie beside it; 1: the previous build goes outright."""
    rows = [an_engine(f"b{n}", installed_at=float(n)) for n in range(1, 5)]
    run, catalog, _ = prune(rows, keep)
    catalog.set_active(LLAMA, "b4", 5.0)
    run(LLAMA, "b4")
    assert sorted(row.tag for row in catalog.list_engines()) == left


def test_what_a_model_insists_on_stays() -> None:
    """A build that an override names as its engine is as safe as a pinned one."""
    run, catalog, _ = prune(five(active="b5"), 1)
    assert replace(run, named={"b2": ["m"]})(LLAMA, "b5").removed == ("b1", "b3", "b4")
    assert sorted(row.tag for row in catalog.list_engines()) == ["b2", "b5"]


def test_installs_do_not_push_out_what_to_roll_back_to() -> None:
    """The build that served before the active one, however many came since and were never chosen; with keep 1 there is none."""
    rows = five(active="b2")
    rows[0] = replace(rows[0], used_at=2.5)
    rows[1] = replace(rows[1], used_at=2.6)
    assert superfluous(rows, LLAMA, 2) == ["b3"]
    assert superfluous(rows, LLAMA, 1) == ["b1", "b3", "b4"]


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda catalog: catalog.set_active(LLAMA, "b1", 9.0),
        lambda catalog: catalog.amend_engine("b1", lambda row: replace(row, pinned=True)),
        lambda catalog: [catalog.remove_engine(tag) for tag in ("b5", "b4", "b3", "b2")],
    ],
    ids=["chosen", "pinned", "the others removed"],
)
def test_what_is_needed_meanwhile_stays(meanwhile: Callable[[MemoryEngineCatalog], object]) -> None:
    """Another command ran between the decision and the removal: neither the active build nor the last one goes."""
    run, catalog, builds = prune(five(active="b5"), 4)
    aside = builds.set_aside

    def slow(tag: str) -> bool:
        done = aside(tag)
        meanwhile(catalog)
        return done

    builds.set_aside = slow  # type: ignore[method-assign]
    done = run(LLAMA)
    assert done.removed == ()
    assert "needed again" in done.kept[0]
    assert (catalog.find_engine("b1") is not None, "b1" in builds.present) == (True, True)
