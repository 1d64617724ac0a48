"""One report, several listeners: a finished request is told to the meter, the access log and the audit log.

It is told a moment after its end: who gets an answer often asks for the next one at once, and need not wait for the books of the last.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter, Served

MOMENT: Final = 0.002
"""Seconds, so that a request which comes right behind an answer is begun before. What a dozen requests leave is put down at once then."""


class FanoutMeter(Meter):
    """The meter, and whoever else wants to hear of finished requests. Listeners are called in order and must not block."""

    def __init__(self, clock: Clock, meter: Meter, *listeners: Callable[[Served], None]) -> None:
        self._clock, self._meter = clock, meter
        self._tell = (meter.on_served, *listeners)
        self._ended: deque[Callable[[], Served]] = deque()
        self._waits = False

    def add(self, listener: Callable[[Served], None]) -> None:
        """From now on it hears of finished requests, too, after the others."""
        self.settle()
        self._tell = (*self._tell, listener)

    def remove(self, listener: Callable[[Served], None]) -> None:
        """From now on it does not."""
        self.settle()
        self._tell = tuple(tell for tell in self._tell if tell != listener)

    def settle(self) -> None:
        """Tell of all that has ended."""
        self._waits = False
        while self._ended:
            self.on_served(self._ended.popleft()())

    def on_served(self, served: Served) -> None:
        for tell in self._tell:
            tell(served)

    def on_ended(self, tell: Callable[[], Served]) -> None:
        if not self._waits:
            self._waits = True
            self._clock.call_later(MOMENT, self.settle)
        self._ended.append(tell)

    def on_spawn(self, model: str, seconds: float) -> None:
        self._meter.on_spawn(model, seconds)

    def on_evicted(self, model: str, cause: str) -> None:
        self._meter.on_evicted(model, cause)

    def on_crashed(self, model: str) -> None:
        self._meter.on_crashed(model)

    def exposition(self, models: Collection[str] | None = None) -> bytes:
        self.settle()
        return self._meter.exposition(models)
