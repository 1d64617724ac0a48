"""Going back to the build that served before."""

import asyncio
from collections.abc import Sequence

import pytest

from blazar.application.engines.rollback_engine import RollbackEngine
from blazar.application.engines.use_engine import UseEngine
from blazar.domain.errors import Conflict, NotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

LLAMA = EngineKind.LLAMACPP


class House:
    def __init__(self, rows: Sequence[Engine], active: str = "") -> None:
        self.catalog = MemoryEngineCatalog(rows)
        self.builds, self.clock = MemoryEngineBuilds(), FakeClock()
        self.use = UseEngine(self.catalog, self.builds, self.clock)
        self.rollback = RollbackEngine(self.catalog, self.builds, self.use)
        if active:
            self.catalog.set_active(LLAMA, active)


def test_the_build_that_was_chosen_before() -> None:
    """Not the next older one: the one that served. A second rollback comes back."""
    house = House([an_engine("b1"), an_engine("b2"), an_engine("b3")])
    house.use("b1")
    asyncio.run(house.clock.advance(1))
    house.use("b3")
    asyncio.run(house.clock.advance(1))
    assert house.rollback(LLAMA).tag == "b1"
    asyncio.run(house.clock.advance(1))
    row = house.rollback(LLAMA)
    assert (row.tag, row.active, row.used_at) == ("b3", True, EPOCH + 3)


def test_the_build_that_nobody_chose_and_that_served() -> None:
    """The first build becomes active by itself; after `use` of another it is the one that served, not a newer one beside it."""
    house = House([an_engine("b1"), an_engine("b2", installed_at=EPOCH - 2), an_engine("b3", installed_at=EPOCH - 1)])
    house.use("b3")
    assert house.rollback(LLAMA).tag == "b1"


@pytest.mark.parametrize(("active", "to"), [("b3", "b2"), ("b2", "b1")])
def test_the_next_older_one_where_none_was_chosen(active: str, to: str) -> None:
    """As after a first update."""
    rows = [an_engine(tag, installed_at=float(number)) for number, tag in enumerate(("b1", "b2", "b3"), 1)]
    assert House(rows, active).rollback(LLAMA).tag == to


def test_nothing_to_go_back_to() -> None:
    """A sentence: alone, the oldest, or only with builds that may not serve or are gone."""
    lone = [an_engine("b1")]
    wheel = [an_engine("b1"), an_engine("e", provenance=Provenance.EMBEDDED, installed_at=1.0)]
    fork = [an_engine("b1"), an_engine("f", provenance=Provenance.FORK, used_at=9.0)]
    for rows in (lone, wheel, fork, [an_engine("b1", installed_at=1.0), an_engine("b2", installed_at=2.0)]):
        with pytest.raises(Conflict, match="no llamacpp build to go back to from 'b1'"):
            House(rows, "b1").rollback(LLAMA)
    house = House([an_engine("b1"), an_engine("b0", used_at=3.0)], "b1")
    house.builds.empty = {"b0"}
    with pytest.raises(Conflict, match="go back to"):
        house.rollback(LLAMA)


def test_a_kind_without_builds() -> None:
    """Not found, with what there is."""
    with pytest.raises(
        NotFound, match=r"no sglang engine is installed \(installed: b1\): run blazar engine install --kind"
    ):
        House([an_engine("b1")]).rollback(EngineKind.SGLANG)
