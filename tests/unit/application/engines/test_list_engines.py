"""Listing builds."""

from blazar.application.engines.list_engines import ListEngines
from tests.fakes.engines import MemoryEngineCatalog, an_engine


def test_active_first_then_newest() -> None:
    """Build numbers decide, not the time of installation."""
    rows = [an_engine("b9", installed_at=3.0, active=True), an_engine("b10", installed_at=1.0), an_engine("b2")]
    assert [row.tag for row in ListEngines(MemoryEngineCatalog(rows))()] == ["b9", "b10", "b2"]
