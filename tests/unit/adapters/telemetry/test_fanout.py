"""One report to several listeners."""

from blazar.adapters.telemetry.fanout import FanoutMeter
from tests.fakes.telemetry import MemoryMeter, a_served


def test_a_request_is_told_to_all():
    """The meter first, then every listener; everything else goes to the meter alone."""
    meter, heard = MemoryMeter(), []
    fanout = FanoutMeter(meter, heard.append, heard.append)
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
    fanout = FanoutMeter(meter, always.append)
    fanout.add(sometimes.append)
    fanout.on_served(a_served())
    fanout.remove(sometimes.append)
    fanout.remove(sometimes.append)
    fanout.on_served(a_served())
    assert (len(meter.served), len(always), len(sometimes)) == (2, 2, 1)
