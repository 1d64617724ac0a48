"""`blazar search`: repositories of a registry by a word, each with what to take of it and whether that fits here, about.

One question to the registry, however many rows. What is in one exactly, `fit` tells.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from blazar.application.ports.remote import Found, RemoteModels
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.about import about
from blazar.domain.fit.machine import Machine
from blazar.domain.search import Hit, best_of

LONGEST_WORD = 200
MOST = 100
"""Rows of one answer; more is no search."""


@dataclass(frozen=True, slots=True)
class SearchModels:
    """`registry` opens the one that is asked, `machine` is what there is now. Blocking: call it off the event loop."""

    registry: Callable[[], RemoteModels]
    machine: Callable[[], Machine]

    def __call__(self, word: str, limit: int) -> tuple[Hit, ...]:
        """Most downloaded first. Raises `Malformed`, and what asking the registry raises."""
        said = " ".join(word.split())
        if not said or len(said) > LONGEST_WORD or not said.isprintable():
            raise Malformed(teaching.search_word(LONGEST_WORD), "word")
        if not 1 <= limit <= MOST:
            raise Malformed(teaching.search_limit(MOST), "limit")
        registry = self.registry()
        try:
            found = registry.search(said, limit)
        finally:
            registry.close()
        verdict = partial(about, machine=self.machine())
        return tuple(_hit(one, verdict) for one in found[:limit])


def _hit(found: Found, verdict: Callable[[int], str]) -> Hit:
    take = best_of(found.parameters, found.quants, verdict)
    size = take.size if take else found.size
    return Hit(
        found.repo,
        found.downloads,
        found.likes,
        found.parameters,
        found.quants,
        take.quant if take else "",
        size,
        take.verdict if take else verdict(size),
        found.updated,
        found.gated,
    )
