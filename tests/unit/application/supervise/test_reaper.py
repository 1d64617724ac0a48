"""What an earlier daemon left behind."""

import asyncio

from blazar.application.ports.children import Orphan
from blazar.application.supervise.reaper import Reaper
from tests.fakes.children import FakeChildren
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryEvents


def test_every_orphan_is_reaped_at_boot():
    """Each is told of and stopped (case G3)."""
    children, events = FakeChildren(FakeClock()), MemoryEvents()
    left = [Orphan("a", 41, "b1"), Orphan("b#2", 42, "b1")]
    children.left = list(left)
    asyncio.run(Reaper(children, events).start())
    assert children.reaped == left
    assert children.left == []
    assert [facts["pid"] for kind, facts in events.emitted if kind == "orphan"] == [41, 42]


def test_without_orphans_nothing_happens():
    """The usual start."""
    events = MemoryEvents()
    reaper = Reaper(FakeChildren(FakeClock()), events)
    assert asyncio.run(reaper.reap()) == []
    asyncio.run(reaper.aclose())
    assert events.emitted == []
