"""The event loop's time."""

import asyncio
import time
from collections.abc import Callable

from blazar.application.ports.clock import Clock, Timer


class MonotonicClock(Clock):
    """Timers of the running loop. `now` is the clock that both loops count with, and works before one runs."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay)
