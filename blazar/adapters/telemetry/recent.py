"""The requests that ended last, in memory. Those that were about a model apart from all others: polling and guessing push none of them out."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.recollection import Kept, Requests
from blazar.application.ports.telemetry import Served
from blazar.domain.names import LONGEST_NAME

ABOUT_MODELS: Final = 1000
"""An hour of a busy workstation; with its notes one takes about a kilobyte."""
OTHERS: Final = 250
MOST_NOTES: Final = 16
LONGEST: Final = 200
"""Characters of a path, of a warning, and of a text in a note: whoever asks chooses these."""


class RecentRequests(Requests):
    """Two rings. Told beside the hot path: a request without oddities is kept as it came."""

    on_read: Callable[[], None] | None = None
    """Called before anything is looked up: whoever has something to tell yet does so now."""

    def __init__(self, clock: Clock, about_models: int = ABOUT_MODELS, others: int = OTHERS) -> None:
        self._wall = clock.wall
        self._about: deque[Kept] = deque(maxlen=about_models)
        self._others: deque[Kept] = deque(maxlen=others)

    def on_served(self, served: Served) -> None:
        """One more has ended."""
        if len(served.path) > LONGEST or len(served.model) > LONGEST_NAME or served.notes or served.warnings:
            served = _bounded(served)
        (self._about if served.model else self._others).append(Kept(served.ended or self._wall(), served))

    def newest_first(self) -> Sequence[Kept]:
        if self.on_read is not None:
            self.on_read()
        return sorted((*self._about, *self._others), key=lambda kept: -kept.ended)


def _bounded(served: Served) -> Served:
    return served._replace(
        path=served.path[:LONGEST],
        model=served.model[:LONGEST_NAME],
        warnings=tuple(warning[:LONGEST] for warning in served.warnings[:MOST_NOTES]),
        notes=tuple((at, code, _short(facts)) for at, code, facts in served.notes[:MOST_NOTES]),
    )


def _short(facts: Any) -> Any:
    return {name: fact[:LONGEST] if isinstance(fact, str) else fact for name, fact in facts.items()}
