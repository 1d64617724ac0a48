"""How many tokens a second each child speaks now: counted while they pass, forgotten when it has been silent. Draws no time itself.

A piece is what one read of a stream brought: a token, or a few. Whoever counts must be done in a fraction of a microsecond.
"""

from typing import Final

SPAN_SECS: Final = 1.0
"""Pieces are summed up for so long before they count as a speed."""
SILENT_SECS: Final = 5.0
"""After so long without a word nobody speaks."""
KEPT: Final = 0.5
"""Of what was known when a second more is known: a change shows within two looks, and no single gap makes it jump."""
SHORTEST_SECS: Final = 0.2
"""Of a shorter time no speed is told: two pieces of one read would make thousands."""
MOST: Final = 256
"""Children that are kept; of more the one that began first is forgotten."""


class SpeakingPace:
    """Of one child, all of its answers together."""

    __slots__ = ("_begun", "_count", "_last", "_speed")

    def __init__(self) -> None:
        self._speed = 0.0
        self._begun = self._last = -SILENT_SECS  # of the second that is counted; of the last word
        self._count = 0

    def piece(self, now: float) -> None:
        """One more of a stream."""
        if now - self._begun >= SPAN_SECS:
            self._turn(now)
        self._count += 1
        self._last = now

    def whole(self, now: float, tokens: int, began: float) -> None:
        """A buffered answer: what it took is known only at its end, its prompt included."""
        if tokens < 2 or now - began < SHORTEST_SECS:
            return
        if now - self._begun >= SPAN_SECS:
            self._turn(now)
        self._last = now
        speed = tokens / (now - began)
        self._speed = speed if not self._speed else KEPT * self._speed + (1 - KEPT) * speed

    def read(self, now: float) -> float | None:
        """None: nobody speaks."""
        if now - self._last > SILENT_SECS:
            return None
        if self._speed:
            return self._speed
        span = now - self._begun
        return self._count / span if self._count > 1 and span >= SHORTEST_SECS else None

    def _turn(self, now: float) -> None:
        span = now - self._begun
        if now - self._last > SILENT_SECS:
            self._speed = 0.0
        elif self._count:
            speed = self._count / span
            self._speed = speed if not self._speed else KEPT * self._speed + (1 - KEPT) * speed
        self._begun, self._count = now, 0


class Paces:
    """Of all children by their key."""

    def __init__(self) -> None:
        self._of: dict[str, SpeakingPace] = {}

    def of(self, key: str) -> SpeakingPace:
        """Where its answers count."""
        pace = self._of.get(key)
        if pace is None:
            if len(self._of) >= MOST:
                del self._of[next(iter(self._of))]
            pace = self._of[key] = SpeakingPace()
        return pace

    def read(self, key: str, now: float) -> float | None:
        """Tokens a second; None: it does not speak."""
        pace = self._of.get(key)
        return None if pace is None else pace.read(now)
