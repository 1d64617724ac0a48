"""One report to several listeners."""

import asyncio

import pytest

from blazar.adapters.telemetry.fanout import MOMENT, FanoutMeter
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryMeter, a_served


def test_a_request_is_told_to_all():
    """The meter first, then every listener; everything else goes to the meter alone."""
    meter, heard = MemoryMeter(), []
    fanout = FanoutMeter(FakeClock(), meter, heard.append, heard.append)
    fanout.on_served(a_served())
    fanout.on_spawn("tiny", 1.0)
    fanout.on_evicted("tiny", "idle")
    fanout.on_crashed("tiny")
    assert meter.served == [a_served()]
    assert heard == [a_served(), a_served()]
    assert (meter.spawns, meter.evictions, meter.crashes) == ([("tiny", 1.0)], [("tiny", "idle")], ["tiny"])
    assert fanout.exposition() == meter.exposition()


def test_listeners_come_and_go():
    """The meter stays, and so do the others; one that was never there may go."""
    meter, always, sometimes = MemoryMeter(), [], []
    fanout = FanoutMeter(FakeClock(), meter, always.append)
    fanout.add(sometimes.append)
    fanout.on_served(a_served())
    fanout.remove(sometimes.append)
    fanout.remove(sometimes.append)
    fanout.on_served(a_served())
    assert (len(meter.served), len(always), len(sometimes)) == (2, 2, 1)


def test_what_ended_is_told_a_moment_later_and_in_order():
    """By one timer for all of it; the facts are asked for then, once."""
    clock, meter, asked = FakeClock(), MemoryMeter(), []
    fanout = FanoutMeter(clock, meter)

    def tell(name):
        return lambda: asked.append(name) or a_served(trace=name)

    fanout.on_ended(tell("one"))
    fanout.on_ended(tell("two"))
    assert (asked, clock.pending) == ([], 1)
    asyncio.run(clock.advance(MOMENT))
    assert [served.trace for served in meter.served] == asked == ["one", "two"]
    fanout.on_ended(tell("three"))
    asyncio.run(clock.advance(MOMENT))
    assert len(meter.served) == 3


def test_who_comes_and_who_goes_hears_what_ended_in_its_time():
    """A listener that is taken away has been told everything, and a new one nothing of before."""
    meter, old, new = MemoryMeter(), [], []
    fanout = FanoutMeter(FakeClock(), meter, old.append)
    fanout.on_ended(lambda: a_served(trace="one"))
    fanout.add(new.append)
    fanout.on_ended(lambda: a_served(trace="two"))
    fanout.remove(new.append)
    fanout.on_ended(lambda: a_served(trace="three"))
    assert fanout.exposition() == meter.exposition()
    assert [served.trace for served in old] == ["one", "two", "three"]
    assert [served.trace for served in new] == ["two"]


def test_facts_that_cannot_be_had_cost_no_others():
    """The error is the loop's; what stands behind it is told the next time."""
    clock, meter = FakeClock(), MemoryMeter()
    fanout = FanoutMeter(clock, meter)
    fanout.on_ended(lambda: 1 / 0)
    fanout.on_ended(a_served)
    with pytest.raises(ZeroDivisionError):
        fanout.settle()
    fanout.on_ended(a_served)
    asyncio.run(clock.advance(MOMENT))
    assert len(meter.served) == 2
