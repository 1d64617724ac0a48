"""How many pulls of the daemon transfer at the same time; the others wait in the order in which they came. On the event loop only.

Who waits for files that another brings transfers nothing, and lends its turn until it does (`ThreadSlot`, for its thread).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from blazar.application.models.slots import Slot
from blazar.application.supervise.waiting import settle

LOOK_SECS: Final = 0.2
"""Between two looks whether who waits for its turn shall stop."""


class Turn:
    """One's own. `held` is false while it is lent."""

    def __init__(self, of: "AtOnce") -> None:
        self._of, self.held = of, True

    def lend(self) -> None:
        if self.held:
            self.held = False
            self._of.leave()

    async def take_back(self) -> None:
        """Before those who have not begun yet."""
        if not self.held:
            await self._of.enter(first=True)
            self.held = True


class AtOnce:
    """`most` have a turn."""

    def __init__(self, most: int) -> None:
        self._most, self.running = most, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, waiting: Callable[["asyncio.Future[None]"], None]) -> AsyncIterator[Turn]:
        """Until the end. Who has to wait hears of it by `waiting`, and waits no longer where an error is set there."""
        await self.enter(waiting)
        turn = Turn(self)
        try:
            yield turn
        finally:
            turn.lend()

    async def enter(
        self, waiting: Callable[["asyncio.Future[None]"], None] = lambda _: None, *, first: bool = False
    ) -> None:
        """Once it may; `leave` follows."""
        if self.running < self._most and (first or not self._waiting):
            self.running += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        came = False
        try:
            waiting(turn)
            await turn
            came = True
        finally:
            if not came:
                self._give_up(turn)

    def leave(self) -> None:
        """Somebody else may."""
        self.running -= 1
        while self._waiting and self.running < self._most:
            turn = self._waiting.popleft()
            if not turn.done():
                self.running += 1
                settle(turn)

    def _give_up(self, turn: "asyncio.Future[None]") -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif not turn.cancelled() and turn.exception() is None:  # it came in the very moment
            self.leave()


class ThreadSlot(Slot):
    """A turn, for the thread of the pull that has it. Where the loop has ended nobody counts any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turn: Turn) -> None:
        self._loop, self._turn, self._lent = loop, turn, False

    def lend(self) -> None:
        if not self._lent:
            self._lent = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._turn.lend)

    def take_back(self, waiting: Callable[[], None]) -> None:
        if not self._lent:
            return
        taking = self._turn.take_back()
        try:
            asked = asyncio.run_coroutine_threadsafe(taking, self._loop)
        except RuntimeError:
            taking.close()
            return
        try:
            while not _is_there(asked.result):
                waiting()
            self._lent = False
        finally:
            if self._lent:  # it was stopped
                asked.cancel()


def _is_there(result: Callable[[float], None]) -> bool:
    try:
        result(LOOK_SECS)
    except TimeoutError:
        return False
    return True
