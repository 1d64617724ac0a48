"""What the doctor says about forks."""

import pytest

from blazar.application.ops.diagnose import OK, WARN
from blazar.application.ops.fork_report import fork_rows
from blazar.domain.capability import DAY_SECS, LaneList
from blazar.domain.kinds import Provenance
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.forks import FakeCapabilityRegistry


def test_no_registry_is_no_fault() -> None:
    """It is off by itself, and nobody is asked."""
    registry = FakeCapabilityRegistry()
    registry.address = ""
    (row,) = fork_rows(registry, MemoryEngineCatalog(), FakeClock(), 7)
    assert (row.status, row.detail.startswith("off:")) == (OK, True)


def test_a_list_that_is_kept() -> None:
    """Its lanes are counted, those that were left out are warnings; the registry is not asked for it."""
    registry = FakeCapabilityRegistry(kept=LaneList((), ("lane 'x' is left out",)))
    rows = list(fork_rows(registry, MemoryEngineCatalog(), FakeClock(), 7))
    assert [(row.status, row.detail) for row in rows[1:]] == [(WARN, "lane 'x' is left out")]
    assert (rows[0].status, registry.asked) == (OK, 0)
    assert "0 lanes" in rows[0].detail


@pytest.mark.parametrize(
    ("days", "pinned", "said"),
    [(7, False, "in 6 days"), (1, False, "with the next look"), (0, False, "stays"), (7, True, "stays")],
)
def test_a_fork_whose_days_are_counted(days: int, pinned: bool, said: str) -> None:
    """When it goes, or that it stays; others are no news."""
    registry = FakeCapabilityRegistry()
    registry.address = ""
    facts = {"provenance": Provenance.FORK, "release": "novel", "pinned": pinned}
    forks = [an_engine("novel-1", superseded_at=EPOCH - 1.5 * DAY_SECS, **facts), an_engine("novel-2", **facts)]
    rows = list(fork_rows(registry, MemoryEngineCatalog(forks), FakeClock(), days))
    assert len(rows) == 2
    assert "novel-1" in rows[1].detail
    assert said in rows[1].detail
