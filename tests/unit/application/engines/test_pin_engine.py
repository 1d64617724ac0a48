"""Pinning."""

import pytest

from blazar.application.engines.pin_engine import PinEngine
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import Provenance
from tests.fakes.engines import MemoryEngineCatalog, an_engine


def test_a_build_is_pinned_and_let_go() -> None:
    """Nothing else of its row changes."""
    catalog = MemoryEngineCatalog([an_engine("b1", used_at=4.0)])
    before = catalog.find_engine("b1")
    pin = PinEngine(catalog)
    assert pin("b1").pinned
    assert pin("b1").pinned  # twice is no mistake
    assert pin("b1", pinned=False) == before


def test_what_cannot_be_pinned() -> None:
    """An unknown tag; an engine that nothing would take away, where a pin would be an option without effect."""
    catalog = MemoryEngineCatalog([an_engine("local", provenance=Provenance.LOCAL)])
    with pytest.raises(EngineNotFound, match="local"):
        PinEngine(catalog)("b1")
    with pytest.raises(Conflict, match="not installed by Blazar"):
        PinEngine(catalog)("local")
