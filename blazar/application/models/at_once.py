"""How many pulls of the daemon transfer at the same time; the others wait in the order in which they came. On the event loop only."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from blazar.application.supervise.waiting import settle


class AtOnce:
    """`most` have a turn."""

    def __init__(self, most: int) -> None:
        self._most, self.running = most, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, waiting: Callable[["asyncio.Future[None]"], None]) -> AsyncIterator[None]:
        """Until the end. Who has to wait hears of it by `waiting`, and waits no longer where an error is set there."""
        if self.running < self._most and not self._waiting:
            self.running += 1
        else:
            await self._wait(waiting)
        try:
            yield
        finally:
            self._leave()

    async def _wait(self, waiting: Callable[["asyncio.Future[None]"], None]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        came = False
        try:
            waiting(turn)
            await turn
            came = True
        finally:
            if not came:
                self._give_up(turn)

    def _give_up(self, turn: "asyncio.Future[None]") -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif not turn.cancelled() and turn.exception() is None:  # it came in the very moment
            self._leave()

    def _leave(self) -> None:
        self.running -= 1
        while self._waiting and self.running < self._most:
            turn = self._waiting.popleft()
            if not turn.done():
                self.running += 1
                settle(turn)
