"""When it is worth asking again at a model that is crowded: from how many wait, and how fast their turns have come lately. A guess, bounded."""

from typing import Final

KEPT: Final = 0.7
"""Of what was known before a turn: one long answer does not tell how long the others are."""
LEAST: Final = 1.0
MOST: Final = 60.0
"""Seconds; stock clients take a longer wait for none."""


class Outlook:
    """Of one queue. Told of every turn for which somebody waited."""

    __slots__ = ("_between", "_last")

    def __init__(self) -> None:
        self._last: float | None = None
        self._between: float | None = None

    def note(self, now: float) -> None:
        """Somebody's turn has come. After a time without any the first one tells nothing."""
        if self._last is not None and (gap := now - self._last) <= MOST:
            self._between = gap if self._between is None else KEPT * self._between + (1 - KEPT) * gap
        self._last = now

    def after(self, waiting: int) -> float:
        """Seconds until so many have had theirs."""
        return LEAST if self._between is None else min(MOST, max(LEAST, waiting * self._between))
