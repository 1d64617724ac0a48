"""The one way in which a build goes. What `engine rm` adds stands in test_remove_engine."""

from collections.abc import Sequence

import pytest

from blazar.application.engines.removal import Unused, remove_engine_row_and_tree
from blazar.application.ports.children import Orphan
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.records import Engine
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.children import FakeChildren
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine


class Journal:
    """What happened to builds and rows, in order."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.catalog, self.builds = MemoryEngineCatalog([an_engine("b2"), an_engine("b1")]), MemoryEngineBuilds()
        self.builds.present = {"b1", "b2"}
        self.children = FakeChildren(FakeClock())
        self.unused = Unused(self.children, lambda _: [])
        for owner, name in ((self.builds, "set_aside"), (self.builds, "discard"), (self.builds, "restore")):
            self._watch(owner, name)
        self._watch(self.catalog, "remove_engine")

    def _watch(self, owner: object, name: str) -> None:
        act = getattr(owner, name)

        def watched(*args: object) -> object:
            self.steps.append(name)
            return act(*args)

        setattr(owner, name, watched)


def nobody(_: Sequence[Engine]) -> None:
    """Minds."""


def test_aside_row_discard() -> None:
    """In this order: a live row never points at a folder that is gone (contract)."""
    house = Journal()
    remove_engine_row_and_tree(house.catalog, house.builds, house.unused, "b1", nobody)
    assert house.steps == ["set_aside", "remove_engine", "discard"]
    assert house.builds.present == {"b2"}


def test_a_row_without_a_folder_goes_alone() -> None:
    """Nothing is restored or discarded that was not there."""
    house = Journal()
    house.builds.present.discard("b1")
    remove_engine_row_and_tree(house.catalog, house.builds, house.unused, "b1", nobody)
    assert house.steps == ["set_aside", "remove_engine"]


def test_without_a_row_the_folder_stays() -> None:
    """Somebody else put it there: it is not even moved."""
    house = Journal()
    house.builds.present.add("b9")
    with pytest.raises(EngineNotFound):
        remove_engine_row_and_tree(house.catalog, house.builds, house.unused, "b9", nobody)
    assert (house.steps, "b9" in house.builds.present) == ([], True)


def test_a_build_in_use_is_not_even_moved() -> None:
    """By an orphan of a dead daemon (D6)."""
    house = Journal()
    house.children.left = [Orphan("m", 77, "b1")]
    with pytest.raises(Conflict, match="77"):
        remove_engine_row_and_tree(house.catalog, house.builds, house.unused, "b1", nobody)
    assert house.steps == []


def test_what_is_decided_last_keeps_row_and_folder() -> None:
    """The judge sees the rows as they are when the folder is aside already."""
    house = Journal()

    def judge(rows: Sequence[Engine]) -> None:
        assert sorted(row.tag for row in rows) == ["b1", "b2"]
        assert house.builds.aside == {"b1"}
        raise Conflict("needed")

    with pytest.raises(Conflict, match="needed"):
        remove_engine_row_and_tree(house.catalog, house.builds, house.unused, "b1", judge)
    assert house.steps == ["set_aside", "remove_engine", "restore"]
    assert house.catalog.find_engine("b1") is not None


def test_two_that_remove_the_same_build_both_have_done_it() -> None:
    """The slower one finds no row any more: its folder is nobody's then, and does not come back."""
    house = Journal()
    rows = house.catalog
    gone = iter([None])

    def unused(_: str) -> Sequence[str]:
        if house.builds.aside and next(gone, 0) is None:
            rows.remove_engine("b1")
        return []

    remove_engine_row_and_tree(rows, house.builds, Unused(house.children, unused), "b1", nobody)
    assert (rows.find_engine("b1"), house.builds.present, house.builds.aside) == (None, {"b2"}, set())
