"""Replies that stand before others."""

import asyncio

from blazar.adapters.http.lane.passing import PassingReply
from tests.support.lane_rig import MemoryReply


def test_one_that_does_nothing_changes_nothing() -> None:
    """What is written, and what the door says."""
    behind, heard = MemoryReply(), []
    before = PassingReply(behind)
    before.start(200, [(b"a", b"b")])
    before.write(b"x")
    before.finish()
    before.on_gone, before.on_pause, before.on_resume = (
        lambda: heard.append("gone"),
        lambda: heard.append("pause"),
        lambda: heard.append("resume"),
    )
    assert (before.on_gone, before.on_pause, before.on_resume) == (behind.on_gone, behind.on_pause, behind.on_resume)
    assert not before.gone
    before.release()
    asyncio.run(before.carry())
    behind.leave()
    before.abort()
    assert (behind.status, behind.headers, behind.body, behind.finished, behind.aborted) == (
        200,
        [(b"a", b"b")],
        b"x",
        True,
        True,
    )
    assert before.gone
    assert heard == ["gone"]
    assert before.shares
