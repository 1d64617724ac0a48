"""What every clock must do. The fake is moved by hand, the real one by waiting."""

import asyncio

import pytest

from blazar.adapters.telemetry.clock import MonotonicClock
from tests.fakes.clock import FakeClock

TICK = 0.02


async def let_pass(clock, seconds):
    """Make `seconds` go by on this clock."""
    if isinstance(clock, FakeClock):
        await clock.advance(seconds)
    else:
        await asyncio.sleep(seconds)


@pytest.fixture(params=[FakeClock, MonotonicClock])
def clock(request):
    """Each implementation in turn."""
    return request.param()


def test_now_never_goes_back(clock):
    """And moves with the time that passes."""

    async def main():
        before, wall = clock.now(), clock.wall()
        await let_pass(clock, TICK)
        assert clock.now() - before >= TICK * 0.9
        assert clock.wall() > 1_000_000_000
        assert clock.wall() >= wall

    asyncio.run(main())


def test_calls_come_in_order_of_their_time(clock):
    """Whatever the order in which they were asked for; zero is soon, not at once."""

    async def main():
        heard = []
        clock.call_later(2 * TICK, lambda: heard.append("late"))
        clock.call_later(TICK, lambda: heard.append("early"))
        clock.call_later(0.0, lambda: heard.append("soon"))
        assert heard == []
        await let_pass(clock, 10 * TICK)
        assert heard == ["soon", "early", "late"]

    asyncio.run(main())


def test_a_cancelled_call_never_comes(clock):
    """Also when it is cancelled twice, or after it came."""

    async def main():
        heard = []
        gone = clock.call_later(TICK, lambda: heard.append("gone"))
        kept = clock.call_later(TICK, lambda: heard.append("kept"))
        gone.cancel()
        gone.cancel()
        await let_pass(clock, 10 * TICK)
        kept.cancel()
        assert heard == ["kept"]

    asyncio.run(main())


def test_sleep_takes_its_time_and_can_be_cancelled(clock):
    """A sleeper wakes after its delay; a cancelled one leaves at once."""

    async def main():
        began = clock.now()
        sleeper = asyncio.create_task(clock.sleep(TICK))
        leaver = asyncio.create_task(clock.sleep(1000.0))
        await let_pass(clock, 10 * TICK)
        await sleeper
        assert clock.now() - began >= TICK * 0.9
        leaver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaver

    asyncio.run(main())
