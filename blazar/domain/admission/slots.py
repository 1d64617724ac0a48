"""When a model gets one slot more: after a minute in which somebody always had to wait (D18). Counts time, starts nothing.

What adopting one means is the caller's: an engine that batches by itself is sent more at once, another needs a new child.
"""

from typing import Final

from blazar.domain.fit.slots import MOST

SUSTAINED_SECS: Final = 60.0
LULL_SECS: Final = 5.0
"""Seconds without anybody waiting that end a crowd. Clients who take turns leave gaps of this size between two requests."""


class Crowd:
    """How long there have been more requests than slots."""

    __slots__ = ("_calm", "_since")

    def __init__(self) -> None:
        self._since: float | None = None
        self._calm: float | None = None

    @property
    def gathers(self) -> bool:
        """Whether there is anything to note when nobody waits any more."""
        return self._since is not None and self._calm is None

    def note(self, now: float, *, waiting: bool) -> None:
        """Whether somebody waits, after anything that may have changed it."""
        if waiting:
            if self._since is None or self._over(now):
                self._since = now
            self._calm = None
        elif self.gathers:
            self._calm = now

    def lasts(self, now: float) -> bool:
        """Whether it has gone on for long enough."""
        return self._since is not None and not self._over(now) and now - self._since >= SUSTAINED_SECS

    def forget(self) -> None:
        """The next minute begins when somebody waits again."""
        self._since = self._calm = None

    def _over(self, now: float) -> bool:
        return self._calm is not None and now - self._calm > LULL_SECS


def one_more(slots: int) -> int:
    """What is adopted after that; the same number where nothing is."""
    return max(slots, min(slots + 1, MOST))
