"""One child's life: its last words, and children that cannot be stopped."""

import asyncio
import threading
from dataclasses import replace

import pytest

from blazar.application.ports.drivers import FlagProbe
from blazar.application.supervise.tenure import exit_text, poll_pause
from blazar.domain import teaching
from blazar.domain.errors import (
    Busy,
    ChildDied,
    ChildSilent,
    SpawnFailed,
)
from blazar.domain.manifest import Manifest
from tests.fakes.catalog import a_model
from tests.fakes.children import TERM, Script
from tests.support.supervision import story

WATCHDOG = 30.0


class SlowProbe(FlagProbe):
    """A build whose `--help` does not come until `answer` is set; `asked` is told each time, on the loop."""

    def __init__(self):
        self.loop, self.answer = asyncio.get_running_loop(), threading.Event()
        self.asked, self.threads = asyncio.Queue(), []

    def manifest(self, engine):
        self.threads.append(threading.current_thread())
        self.loop.call_soon_threadsafe(self.asked.put_nowait, engine.tag)
        assert self.answer.wait(WATCHDOG)
        return Manifest()


def slow(world):
    """From now on this world plans in real threads, with a build that takes its time."""
    probe = SlowProbe()
    world.supervisor.planner = replace(world.planner, probe=probe)
    world.supervisor.blocking = asyncio.to_thread
    return probe


# A build that is slow to say what it can do


@story()
async def test_a_build_that_is_slow_to_answer_holds_up_nobody(world):
    """While its `--help` runs the loop goes on: other children serve, and the load ends once it has answered."""
    (await world.lease("b")).release()
    probe = slow(world)
    waiting = world.ask("a")
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    assert probe.threads[0] is not threading.main_thread()
    assert world.state("a") == "loading"
    world.supervisor.try_lease("b").release()
    assert not waiting.done()
    probe.answer.set()
    (await asyncio.wait_for(waiting, WATCHDOG)).release()
    assert threading.main_thread() not in probe.threads


@story()
async def test_an_eviction_does_not_wait_for_a_slow_build(world):
    """It ends the load at once; what the thread finds out later starts no child."""
    probe = slow(world)
    waiting = world.ask("a")
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    assert await asyncio.wait_for(world.supervisor.evict("a", force=True), WATCHDOG) == ["a"]
    with pytest.raises(Busy):
        await waiting
    assert world.view() is None
    probe.answer.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert world.children.attempts == []


@story()
async def test_who_waits_while_planning_is_called_off_gets_a_new_plan(world):
    """A patient eviction takes the load, not the request: the next child is planned anew, and only that one starts."""
    probe = slow(world)
    waiting = world.ask("a")
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    assert await asyncio.wait_for(world.supervisor.evict("a"), WATCHDOG) == ["a"]
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    probe.answer.set()
    (await asyncio.wait_for(waiting, WATCHDOG)).release()
    assert len(world.children.attempts) == 1


@story()
async def test_shutting_down_does_not_wait_for_a_slow_build(world):
    """Whoever waits is told, and no child is started behind the shutdown's back."""
    probe = slow(world)
    waiting = world.ask("a")
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    await asyncio.wait_for(world.supervisor.aclose(), WATCHDOG)
    with pytest.raises(Busy):
        await waiting
    probe.answer.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert world.children.attempts == []


@story()
async def test_a_row_replaced_while_planning_is_planned_anew(world):
    """A child never starts with the files of a row that is gone."""
    probe = slow(world)
    waiting = world.ask("a")
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    world.catalog.remove_model("a")
    world.catalog.add_model(a_model("a", digest="another", ctx_train=2048))
    probe.answer.set()
    lease = await asyncio.wait_for(waiting, WATCHDOG)
    assert (lease.ctx, len(world.children.attempts)) == (2048, 1)
    lease.release()


@story()
async def test_a_larger_window_asked_for_while_planning_costs_no_second_load(world):
    """The plan that stands is for the largest wish (case B8)."""
    probe = slow(world)
    first = world.ask("a")
    await asyncio.wait_for(probe.asked.get(), WATCHDOG)
    second = world.ask("a", num_ctx=8000)
    await world.clock.settle()
    probe.answer.set()
    lease = await asyncio.wait_for(first, WATCHDOG)
    assert lease.ctx == 8000
    lease.release()
    (await asyncio.wait_for(second, WATCHDOG)).release()
    assert len(world.children.attempts) == 1


@story()
async def test_the_hardware_is_never_read_on_the_loop(world):
    """A driver that hangs (NVML after a lost card) must not take every stream with it."""
    seen = set()
    read = world.census.read

    def noted():
        seen.add(threading.current_thread())
        return read()

    world.census.read = noted
    world.supervisor.blocking = asyncio.to_thread
    (await asyncio.wait_for(world.ask("a"), WATCHDOG)).release()
    assert seen
    assert threading.main_thread() not in seen


# Last words


@story()
async def test_explain_adds_what_the_child_said_last(world):
    """The exit is awaited for a moment, and named (case G28)."""
    world.children.next("a", Script(says=("boom",)))
    lease = await world.lease("a")
    explaining = asyncio.create_task(lease.explain(ChildDied("gone")))
    await world.clock.advance(0.3)
    world.children.of("a").die(-11)
    await world.clock.settle()
    fault = await explaining
    assert str(fault) == teaching.child_died("a", "killed by SIGSEGV", ["boom"])
    lease.release(failed=True)


@story()
async def test_explain_gives_up_when_the_child_lives_on(world):
    """Under a second; other faults are not touched at all."""
    lease = await world.lease("a")
    silent, died = ChildSilent("x"), ChildDied("gone")
    assert await lease.explain(silent) is silent
    explaining = asyncio.create_task(lease.explain(died))
    await world.clock.advance(0.95)
    assert await explaining is died
    lease.release()


@story()
async def test_explain_tells_an_eviction_from_a_crash(world):
    """Whoever was cut off by a forced eviction reads so."""
    lease = await world.lease("a")
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(1.0)
    assert await evicting == ["a"]
    assert str(await lease.explain(ChildDied("gone"))) == teaching.evicted_while_waiting("a")
    lease.release()
    assert world.view() is None


# Stuck children


@story()
async def test_a_stuck_child_blocks_nobody_else(world):
    """One that ignores TERM, KILL and polls: other models load and answer meanwhile (case G16)."""
    world.children.next("a", Script(terms_needed=None, killable=False))
    (await world.lease("a")).release()
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    (await world.lease("b")).release()
    waiting = world.ask("a")
    await world.clock.advance(25.0)
    assert await evicting == ["a"]
    with pytest.raises(SpawnFailed) as caught:
        await waiting
    assert str(caught.value) == teaching.child_lost("a", 1000)
    assert world.told("child_lost")
    (await world.lease("a")).release()


@story()
async def test_a_lost_child_that_ends_after_all_is_buried(world):
    """Late news of a replaced child do not touch its successor."""
    world.children.next("a", Script(terms_needed=None, killable=False))
    (await world.lease("a")).release()
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(25.0)
    await evicting
    (await world.lease("a")).release()
    world.children.spawned[0].die()
    await world.clock.settle()
    assert world.children.spawned[0].closed == 1
    assert world.state() == "serving"


@story()
async def test_a_bug_of_ours_reaches_the_waiters_and_is_survived(world):
    """Nobody hangs, no process stays, and the next request starts over."""
    world.children.next("a", Script(ready_after=None))
    waiting = world.ask("a")
    await world.clock.advance(0.1)
    child = world.children.of("a")
    child.progress = lambda: 1 / 0
    await world.clock.advance(2.0)
    with pytest.raises(SpawnFailed) as caught:
        await waiting
    assert "ZeroDivisionError" in str(caught.value)
    assert not child.alive
    assert world.told("supervisor_fault")
    (await world.lease("a")).release()


@story()
async def test_connections_are_closed_before_the_first_signal(world):
    """A llama-server with an open stream does not leave on TERM (D31)."""
    lease = await world.lease("a")
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(1.0)
    await evicting
    child = world.children.of("a")
    assert child.hung_up_first
    assert [number for _, number in child.signals] == [TERM]
    lease.release()


@story()
async def test_a_hang_up_that_hangs_does_not_hold_up_the_signal(world):
    """Our own closing is bounded; TERM goes out a second later at the latest."""
    (await world.lease("a")).release()
    child = world.children.of("a")
    child.upstream.aclose = asyncio.Event().wait
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.1)
    assert [number for _, number in child.signals] == [TERM]
    await world.clock.advance(10.0)
    assert await evicting == ["a"]


@story()
async def test_a_process_that_starts_after_it_was_called_off_is_stopped(world):
    """A start under way is awaited, then ended by the ladder: no process is lost."""
    world.children.next("a", Script(spawn_takes=3.0))
    waiting = world.ask("a")
    await world.clock.advance(1.0)
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(1.0)
    assert not evicting.done()
    await world.clock.advance(2.0)
    assert await evicting == ["a"]
    child = world.children.of("a")
    assert (child.alive, child.closed) == (False, 1)
    assert [number for _, number in child.signals] == [TERM]
    with pytest.raises(Busy):
        await waiting


def test_polling_costs_at_most_a_twentieth_of_the_load():
    """Often at first, then rarer: a fast load is noticed at once, a slow one is not disturbed."""
    assert [poll_pause(elapsed) for elapsed in (0.0, 0.2, 2.0, 60.0)] == [0.02, 0.02, 0.1, 0.25]


@pytest.mark.parametrize(
    ("status", "text"),
    [(0, "exit code 0"), (1, "exit code 1"), (-9, "killed by SIGKILL"), (-99, "killed by signal 99")],
)
def test_exit_statuses_in_words(status, text):
    """Signals by name, unknown ones by number."""
    assert exit_text(status) == text
