"""Refused keys as events, few of them: whoever guesses keys must not fill the history of everything else. Keeps no key."""

from typing import Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Events

PAUSE_SECS: Final = 10.0
"""Between two events, whatever comes meanwhile is counted: at the worst a tenth of the feed's history in four minutes."""


class KeyRefusals:
    """One event for the first refusal after a pause; its `count` holds those that had none."""

    def __init__(self, events: Events, clock: Clock) -> None:
        self._events, self._clock = events, clock
        self._next = 0.0
        self._count = 0

    def __call__(self, peer: str, path: str) -> None:
        """Somebody at `peer` asked for `path` without a key that is configured."""
        self._count += 1
        now = self._clock.now()
        if now >= self._next:
            self._events.emit("key_refused", peer=peer, path=path[:200], count=self._count)
            self._next, self._count = now + PAUSE_SECS, 0
