"""Answers that block for long, beside the event loop and beside its pool of threads, which loads of models need.

Each has a thread of its own, a few at a time; a thread whose client has left still counts. The interpreter's end waits for none.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from blazar.application.ops.caller import Caller
from blazar.application.supervise.waiting import settle
from blazar.domain import teaching
from blazar.domain.errors import Busy, Refusal

QUEUE_SECS: Final = 60.0
"""Longer than that nobody waits for a turn; the work itself has its own bounds."""

Given = TypeVar("Given")


class Aside:
    """`at_once` threads at most. Used on the event loop only."""

    def __init__(self, at_once: int, queue_secs: float = QUEUE_SECS) -> None:
        self._gate = asyncio.Semaphore(at_once)
        self._queue_secs = queue_secs
        self._asked: dict[Caller, asyncio.Future[Any]] = {}
        self._jobs: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self, work: Callable[[Caller], Given]) -> Given:
        """What `work` gives, or raises. A caller that leaves is told to it, and its thread keeps its place until it ends.

        Raises `Busy` where no turn came in time, and when `close` is called meanwhile.
        """
        if self._closed:
            raise Busy(teaching.shutting_down())
        caller, answered = Caller(), asyncio.get_running_loop().create_future()
        self._asked[caller] = answered
        job = asyncio.create_task(self._job(partial(work, caller), answered))
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        try:
            given: Given = await answered
            return given
        finally:
            self._asked.pop(caller, None)
            caller.leave(Refusal(teaching.caller_left()))

    def close(self) -> None:
        """Whoever waits is refused now, and what it waited for is stopped."""
        self._closed = True
        for caller, answered in list(self._asked.items()):
            why = Busy(teaching.shutting_down())
            settle(answered, error=why)
            caller.leave(why)

    async def _job(self, work: Callable[[], Any], answered: asyncio.Future[Any]) -> None:
        loop = asyncio.get_running_loop()
        late = loop.call_later(self._queue_secs, lambda: settle(answered, error=Busy(teaching.fit_queue_long())))
        async with self._gate:
            late.cancel()
            if answered.done():
                return
            ended = loop.create_future()
            Thread(target=_carry, args=(work, answered, ended), name="aside", daemon=True).start()
            await ended


def _carry(work: Callable[[], Any], answered: asyncio.Future[Any], ended: asyncio.Future[None]) -> None:
    """In the thread."""
    result, outcome = None, _Outcome()
    with outcome:
        result = work()

    def tell() -> None:
        settle(answered, result, outcome.error)
        settle(ended)

    with suppress(RuntimeError):  # the loop has ended meanwhile
        ended.get_loop().call_soon_threadsafe(tell)


class _Outcome:
    """Takes what is raised inside to be raised where the answer is waited for."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True
