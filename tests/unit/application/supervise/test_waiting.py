"""Bounded waiting on our own clock."""

import asyncio

from blazar.application.supervise.waiting import settle, within
from tests.fakes.clock import FakeClock


def test_within_tells_done_from_late_and_leaves_no_timer():
    """Done before, done in time, not done: and the future is never cancelled."""

    async def main():
        clock, loop = FakeClock(), asyncio.get_running_loop()
        done, late = loop.create_future(), loop.create_future()
        settle(done, "x")
        assert await within(clock, 1.0, done)
        waiting = asyncio.create_task(within(clock, 1.0, late))
        await clock.advance(0.9)
        assert not waiting.done()
        await clock.advance(0.2)
        assert await waiting is False
        assert not late.done()
        waiting = asyncio.create_task(within(clock, 1.0, late))
        await clock.advance(0.5)
        settle(late, "y")
        await clock.settle()
        assert await waiting is True
        assert clock.pending == 0

    asyncio.run(main())


def test_within_can_be_cancelled():
    """Whoever waits may leave; nothing of it stays."""

    async def main():
        clock, future = FakeClock(), asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(within(clock, 1.0, future))
        await clock.settle()
        waiting.cancel()
        await clock.settle()
        assert waiting.cancelled()
        assert not future.cancelled()
        assert clock.pending == 0

    asyncio.run(main())


def test_settle_tells_whether_somebody_was_there():
    """A future that is done, whatever way, is left as it is."""

    async def main():
        loop = asyncio.get_running_loop()
        one, gone, failed = loop.create_future(), loop.create_future(), loop.create_future()
        gone.cancel()
        assert settle(one, 1)
        assert not settle(one, 2)
        assert one.result() == 1
        assert not settle(gone, 1)
        assert settle(failed, error=KeyError())
        assert isinstance(failed.exception(), KeyError)

    asyncio.run(main())
