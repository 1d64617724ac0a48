"""Blocking answers beside the loop: few at a time, ended with their caller, none waited for."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from blazar.adapters.http.aside import Aside
from blazar.application.ops.caller import Caller
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, NotFound


class Slow:
    """Work that blocks until it is let go, or, where it obeys, until its caller leaves."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []
        self.why: list[BlazarError] = []
        self._obeys = obeys

    def __call__(self, caller: Caller) -> str:
        self.threads.append(threading.current_thread())
        caller.stopped_by(self._stop)
        self.began.set()
        assert self.go.wait(60)
        return "done"

    def _stop(self, why: BlazarError) -> None:
        self.why.append(why)
        if self._obeys:
            self.go.set()

    async def begun(self) -> None:
        await asyncio.to_thread(self.began.wait, 60)


def run(test: Callable[[Aside], Awaitable[None]], at_once: int = 1, queue_secs: float = 60) -> None:
    async def body() -> None:
        await test(Aside(at_once, queue_secs))

    asyncio.run(body())


def test_what_it_gives_and_what_it_raises_arrive() -> None:
    """In a thread that nobody waits for at the interpreter's end."""

    def refuses(_: Caller) -> str:
        raise NotFound("no such model")

    async def test(aside: Aside) -> None:
        work = Slow()
        work.go.set()
        assert await aside.run(work) == "done"
        assert work.threads[0].daemon
        with pytest.raises(NotFound, match="no such model"):
            await aside.run(refuses)
        assert await aside.run(work) == "done"

    run(test)


def test_a_caller_that_leaves_ends_the_work() -> None:
    """A client that hangs up."""

    async def test(aside: Aside) -> None:
        work = Slow()
        asked = asyncio.create_task(aside.run(work))
        await work.begun()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert str(work.why[0]) == teaching.caller_left()
        assert await aside.run(work) == "done"

    run(test)


def test_a_thread_that_does_not_end_keeps_its_place() -> None:
    """However many ask and leave, no more threads than allowed are there."""

    async def test(aside: Aside) -> None:
        stuck, later = Slow(obeys=False), Slow()
        asked = [asyncio.create_task(aside.run(stuck if number == 0 else later)) for number in range(12)]
        await stuck.begun()
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        waits = asyncio.create_task(aside.run(later))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not later.threads
        stuck.go.set()
        later.go.set()
        assert await waits == "done"
        assert (len(stuck.threads), len(later.threads)) == (1, 1)

    run(test)


def test_no_turn_in_time_is_said() -> None:
    """Two slow registries must not look like a daemon that hangs."""

    async def test(aside: Aside) -> None:
        work = Slow()
        first = asyncio.create_task(aside.run(work))
        await work.begun()
        with pytest.raises(Busy, match="other models are being looked at"):
            await aside.run(Slow())
        work.go.set()
        assert await first == "done"

    run(test, queue_secs=0.01)


def test_closing_refuses_all_who_wait() -> None:
    """Those under way, those in the queue, and those who come after; without waiting for a thread."""

    async def test(aside: Aside) -> None:
        stuck = Slow(obeys=False)
        asked = [asyncio.create_task(aside.run(stuck)) for _ in range(3)]
        await stuck.begun()
        aside.close()
        told = await asyncio.gather(*asked, aside.run(stuck), return_exceptions=True)
        assert [(type(one), str(one)) for one in told] == [(Busy, teaching.shutting_down())] * 4
        assert isinstance(stuck.why[0], Busy)
        assert len(stuck.threads) == 1
        stuck.go.set()

    run(test)


def test_a_loop_that_is_gone_is_no_trouble() -> None:
    """The thread may end after it."""
    stuck = Slow(obeys=False)

    async def test(aside: Aside) -> None:
        asked = asyncio.create_task(aside.run(stuck))
        await stuck.begun()
        aside.close()
        with pytest.raises(Busy):
            await asked

    run(test)
    stuck.go.set()
    stuck.threads[0].join(60)
    assert not stuck.threads[0].is_alive()
