"""May a child be started now, given how its predecessors ended (D33). Holds no clock and starts nothing.

First unclean end: at once. Second: a second's pause. Third within a minute: open, every request is refused until the pause
is over, and each further one doubles the pause up to a minute. A clean stop or a minute of service forgets everything.
"""

from typing import NamedTuple

WINDOW = 60.0
"""Unclean ends further apart than this do not add up; service this long clears the history."""
FREE = 2
"""So many ends are answered by a pause at most; the next one opens the breaker."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


class Verdict(NamedTuple):
    """`wait` seconds until the next start; `open` says that requests are refused meanwhile instead of waiting."""

    open: bool
    wait: float


class Breaker:
    """The crash history of one instance."""

    __slots__ = ("_blemished", "_ends", "_pause", "_ready_at", "_until")

    def __init__(self) -> None:
        self._ends: list[float] = []
        self._pause = 0.0
        self._until = 0.0
        self._ready_at: float | None = None
        self._blemished = False

    @property
    def tripped(self) -> bool:
        """Whether it has opened and nothing has closed it since (a half-open trial does not)."""
        return len(self._ends) > FREE

    def verdict(self, now: float) -> Verdict:
        """Ask before every start."""
        return Verdict(self.tripped and now < self._until, max(0.0, self._until - now))

    def on_spawn(self) -> None:
        """A new child: what its predecessor did is history, how it ends is its own."""
        self._ready_at = None
        self._blemished = False

    def on_ready(self, now: float) -> None:
        self._ready_at = now

    def on_crash(self, now: float) -> None:
        """An unclean end: exit without our signal, failed load, or a child that fails every request."""
        if self._ready_at is not None and now - self._ready_at >= WINDOW:
            self.reset()
        if not self.tripped:
            self._ends = [end for end in self._ends if now - end < WINDOW]
        self._ends.append(now)
        self._blemished = True
        if self.tripped:
            self._pause = min(LONGEST_PAUSE, 2 * self._pause)
        else:
            self._pause = FIRST_PAUSE if len(self._ends) == FREE else 0.0
        self._until = now + self._pause

    def on_stop(self) -> None:
        """It ended by our signals. ODD: the stop of a blamed child is no clean stop: its crash was counted."""
        if not self._blemished:
            self.reset()

    def reset(self) -> bool:
        """Forget everything; whether it had been open."""
        had = self.tripped
        self._ends, self._pause, self._until = [], 0.0, 0.0
        return had
