"""Time that stands still until a test moves it. Nothing here sleeps."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Any

from blazar.application.ports.clock import Clock, Timer

EPOCH = 1_800_000_000.0


class _FakeTimer(Timer):
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock(Clock):
    """`advance` moves it, timer by timer, and lets everything that is ready run in between."""

    def __init__(self, start: float = 1000.0) -> None:
        self._now = start
        self._start = start
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _FakeTimer]] = []

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return EPOCH + self._now - self._start

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        timer = _FakeTimer(callback)
        heapq.heappush(self._timers, (self._now + max(0.0, delay), next(self._order), timer))
        return timer

    async def sleep(self, delay: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    @property
    def pending(self) -> int:
        """Timers that would still fire: what a test looks at to see that nothing was left behind."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    async def settle(self) -> None:
        """Let every task that can run do so, until all of them wait for time or for the test."""
        loop: Any = asyncio.get_running_loop()
        for _ in range(10_000):
            await asyncio.sleep(0)
            if not loop._ready:
                return
        raise AssertionError("tasks keep each other busy without end")

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass; every timer due on the way fires at its own time."""
        until = self._now + seconds
        await self.settle()
        while self._timers and self._timers[0][0] <= until:
            due, _, timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                self._now = max(self._now, due)
                callback()
                await self.settle()
        self._now = until
        await self.settle()
