"""Which architectures installed builds know."""

from typing import Any

import pytest

from blazar.application.engines.mine_architectures import MineArchitectures, release_of
from blazar.domain.kinds import EngineKind, Provenance
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.forks import FakeArchitectureSource


def test_a_build_is_asked_about_once() -> None:
    """The answer stays in its row: no other process asks again."""
    catalog, source = MemoryEngineCatalog([an_engine("b2")]), FakeArchitectureSource(b2=("llama", "qwen3"))
    assert MineArchitectures(catalog, source)() == ["b2"]
    assert MineArchitectures(catalog, source)() == []
    row = catalog.find_engine("b2")
    assert row is not None
    assert (row.architectures, row.active, source.asked) == (("llama", "qwen3"), True, ["b2"])


def test_no_answer_is_no_list() -> None:
    """Offline nothing is known, and this process does not try again with every look."""
    catalog, source = MemoryEngineCatalog([an_engine("b2")]), FakeArchitectureSource()
    mine = MineArchitectures(catalog, source)
    assert (mine(), mine()) == ([], [])
    assert source.asked == ["b2"]
    row = catalog.find_engine("b2")
    assert row is not None
    assert row.architectures == ()


@pytest.mark.parametrize(
    ("changes", "release"),
    [
        ({"tag": "b11434"}, "b11434"),
        ({"tag": "b11434-cuda-12.4"}, "b11434"),
        ({"tag": "mine", "release": "b11434"}, "b11434"),
        ({"tag": "b11434-cpu", "provenance": Provenance.BUILT}, "b11434"),
        ({"tag": "v1.2.3"}, ""),
        ({"tag": "local", "provenance": Provenance.LOCAL}, ""),
        ({"tag": "embedded-2026", "provenance": Provenance.EMBEDDED}, ""),
        ({"tag": "b11434-fork", "provenance": Provenance.FORK}, ""),
        ({"tag": "b11434", "kind": EngineKind.SDCPP}, ""),
    ],
)
def test_which_release_is_asked_about(changes: dict[str, Any], release: str) -> None:
    """Only llama.cpp's own: a fork says itself what it is for, of other builds nobody knows the source."""
    assert release_of(an_engine(**changes)) == release
