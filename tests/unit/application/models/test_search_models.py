"""Repositories by a word, each with what to take of it."""

from typing import Any

import pytest

from blazar.application.models.search_models import MOST, SearchModels
from blazar.application.ports.remote import Found
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.fit.machine import imagined
from tests.fakes.remote import MemoryRegistry

GIB = 2**30
BILLION = 10**9


class Searched(MemoryRegistry):
    """Finds what it was given."""

    def __init__(self, *found: Found) -> None:
        super().__init__({})
        self.found, self.words = found, list[tuple[str, int]]()

    def search(self, word: str, limit: int) -> tuple[Found, ...]:
        self._check()
        self.words.append((word, limit))
        return self.found


def searching(registry: Searched, gpu: float = 24) -> SearchModels:
    """On a machine with one card."""
    return SearchModels(lambda: registry, lambda: imagined((gpu,), 64))


def test_each_repository_has_what_to_take_and_whether_it_fits() -> None:
    """By its parameters; where only a size is known, by that; else nothing is said."""
    known = Found("a/b-GGUF", 5, 2, 8 * BILLION, 0, ("Q4_K_M", "Q8_0"), "2026-01-01", gated=True)
    sized = Found("c/d", 4, size=30 * GIB)
    registry = Searched(known, sized, Found("e/f", 3))
    hits = searching(registry)("  two   words ", 10)
    assert registry.words == [("two words", 10)]
    assert registry.closed == 1
    assert hits[0]._replace(size=0) == (
        "a/b-GGUF",
        5,
        2,
        8 * BILLION,
        ("Q4_K_M", "Q8_0"),
        "Q8_0",
        0,
        "fits",
        "2026-01-01",
        True,
    )
    assert 7.8 < hits[0].size / GIB < 8.1
    assert (hits[1].take, hits[1].size, hits[1].verdict) == ("", 30 * GIB, "fits partly on GPU")
    assert (hits[2].take, hits[2].size, hits[2].verdict) == ("", 0, "")


def test_no_more_than_was_asked_for() -> None:
    """Whatever a registry sends."""
    assert len(searching(Searched(*(Found(f"a/{n}", n) for n in range(9))))("x", 4)) == 4


@pytest.mark.parametrize(
    ("word", "limit"), [("", 5), (" ", 5), ("a\x00", 5), ("a" * 201, 5), ("a", 0), ("a", MOST + 1)]
)
def test_what_cannot_be_searched_for_is_not_asked(word: str, limit: int) -> None:
    """Nothing leaves the machine."""
    registry = Searched()
    with pytest.raises(Malformed):
        searching(registry)(word, limit)
    assert registry.words == []


def test_a_registry_is_let_go_whatever_comes() -> None:
    """Also when it cannot be reached."""
    registry: Any = Searched()
    registry.stop(RegistryTrouble("gone"))
    with pytest.raises(RegistryTrouble):
        searching(registry)("x", 5)
    assert registry.closed == 1
