"""Where requests meet one child: the line, the slots, the idle clock."""

import asyncio

import pytest

from blazar.application.supervise.surroundings import Limits
from blazar.domain import teaching
from blazar.domain.admission.work import Priority, Work, WorkClass
from blazar.domain.errors import (
    Busy,
    SpawnFailed,
)
from blazar.domain.kinds import EngineKind
from tests.fakes.children import Script
from tests.support.supervision import story

# Waiting in line


@story()
async def test_a_queued_request_that_leaves_touches_nobody(world):
    """A runs, B waits and is cancelled: A goes on, B never runs, C is next (cases K3, K4)."""
    running = await world.lease("a")
    leaving, staying = world.ask("a"), world.ask("a")
    await world.clock.settle()
    assert world.view().waiting == 2
    leaving.cancel()
    await world.clock.settle()
    assert (world.view().waiting, world.view().in_flight) == (1, 1)
    assert world.children.of("a").signals == []
    running.release()
    (await staying).release()
    assert leaving.cancelled()
    assert world.view().in_flight == 0


@story()
async def test_a_grant_to_somebody_who_just_left_goes_to_the_next(world):
    """The cancellation and the grant fall into one turn of the loop: the slot is not lost (habit 3)."""
    for release_first in (True, False):
        running = await world.lease("a")
        leaving, staying = world.ask("a"), world.ask("a")
        await world.clock.settle()
        if release_first:
            running.release()
            leaving.cancel()
        else:
            leaving.cancel()
            running.release()
        await world.clock.settle()
        (await staying).release()
        assert world.view().in_flight == 0
        assert leaving.cancelled()


@story()
async def test_cancelling_every_first_request_leaves_an_idle_child(world):
    """The load goes on and ends as an idle child that can be evicted: no counter sticks."""
    world.children.next("a", Script(ready_after=10))
    asks = [world.ask("a") for _ in range(5)]
    await world.clock.settle()
    for ask in asks:
        ask.cancel()
    await world.clock.advance(2.0)
    assert (world.state(), world.view().in_flight, world.view().waiting) == ("serving", 0, 0)
    await world.clock.advance(1801.0)
    assert world.view() is None


@story()
async def test_nobody_is_started_for_requests_that_left(world):
    """Cancelled while the breaker paused: no child is spawned for them."""
    world.children.script = Script(dies_after=1)
    for _ in range(2):
        with pytest.raises(SpawnFailed):
            await world.lease("a")
    ask = world.ask("a")
    await world.clock.advance(0.1)
    ask.cancel()
    await world.clock.advance(5.0)
    assert len(world.children.attempts) == 2


@story()
async def test_the_wait_for_a_slot_is_bounded(world):
    """503 with the human wait and the number of others (D17)."""
    running = await world.lease("a")
    short, long = world.ask("a", wait=0.25), world.ask("a", wait=2.0)
    await world.clock.advance(0.3)
    with pytest.raises(Busy) as caught:
        await short
    assert str(caught.value) == teaching.all_slots_busy("a", 0.25, 1)
    await world.clock.advance(2.0)
    with pytest.raises(Busy) as caught:
        await long
    assert str(caught.value) == teaching.all_slots_busy("a", 2.0, 0)
    assert caught.value.retry_after > 0
    running.release()


@story(limits=Limits(waiting=1))
async def test_the_queue_is_bounded_in_every_state(world):
    """Slots 1, queue 1, six at once: four are refused (case L1), loading and loaded."""
    for loaded in (False, True):
        running = await world.lease("a") if loaded else None
        asks = [world.ask("a") for _ in range(5 if loaded else 6)]
        await world.clock.settle()
        refused = [ask for ask in asks if ask.done() and isinstance(ask.exception(), Busy)]
        assert {str(ask.exception()) for ask in refused} == {teaching.queue_full("a", 1)}
        assert len(refused) == (4 if loaded else 5)
        if running is not None:
            running.release()
        await world.clock.advance(1.0)
        for ask in asks:
            if ask not in refused:
                (await ask).release()


@story()
async def test_a_lease_is_given_back_once(world):
    """A second release is nothing; a thousand aborted requests leave the count at zero (case K6)."""
    for _ in range(1000):
        lease = world.supervisor.try_lease("a") or await world.lease("a")
        lease.release()
        lease.release(failed=True)
    assert world.view().in_flight == 0
    assert world.state() == "serving"


# Idle


@story(limits=Limits(idle_timeout_secs=100.0))
async def test_an_idle_child_goes_after_the_timeout(world):
    """Counted from the last request, not from the first."""
    (await world.lease("a")).release()
    await world.clock.advance(90.0)
    (await world.lease("a")).release()
    await world.clock.advance(94.0)
    assert world.state() == "serving"
    await world.clock.advance(7.0)
    assert world.view() is None
    assert world.meter.evictions == [("a", "idle")]


@story(limits=Limits(idle_timeout_secs=100.0))
async def test_a_busy_child_is_never_idle(world):
    """A request of an hour outlives every idle timeout."""
    (await world.lease("a")).release()
    running = await world.lease("a")
    await world.clock.advance(3600.0)
    assert world.state() == "serving"
    running.release()
    await world.clock.advance(101.0)
    assert world.view() is None


@story(limits=Limits(idle_timeout_secs=0.0))
async def test_a_timeout_of_zero_keeps_children(world):
    """idle_timeout_secs = 0 switches the reaper off."""
    (await world.lease("a")).release()
    await world.clock.advance(9000.0)
    assert world.state() == "serving"
    assert world.view().expires_at == 0.0


@story()
async def test_keep_alive_replaces_the_deadline(world):
    """Shorter and longer; a request without a wish keeps the last one."""
    (await world.lease("a")).release(keep_alive=10.0)
    await world.clock.advance(5.0)
    (await world.lease("a")).release()
    await world.clock.advance(9.0)
    assert world.state() == "serving"
    await world.clock.advance(2.0)
    assert world.view() is None
    (await world.lease("a")).release(keep_alive=4000.0)
    await world.clock.advance(3990.0)
    assert world.state() == "serving"
    await world.clock.advance(11.0)
    assert world.view() is None


@story()
async def test_a_shorter_keep_alive_rings_earlier(world):
    """The second wish is nearer than the armed one."""
    (await world.lease("a")).release()
    (await world.lease("a")).release(keep_alive=2.0)
    await world.clock.advance(3.0)
    assert world.view() is None


@story()
async def test_keep_alive_minus_one_stays(world):
    """For ever, until it is asked to go; its successor has the default again."""
    (await world.lease("a")).release(keep_alive=-1.0)
    await world.clock.advance(9000.0)
    assert world.state() == "serving"
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    await evicting
    (await world.lease("a")).release()
    await world.clock.advance(1801.0)
    assert world.view() is None


@story(a={"slots": 3})
async def test_keep_alive_zero_unloads(world):
    """Now when alone; with others in flight it drains for them (D4)."""
    (await world.lease("a")).release(keep_alive=0.0)
    await world.clock.advance(0.1)
    assert world.view() is None
    assert world.meter.evictions == [("a", "keep_alive")]
    other, last = await world.lease("a"), await world.lease("a")
    last.release(keep_alive=0.0)
    await world.clock.advance(10.0)
    assert world.state() == "draining"
    other.release()
    await world.clock.advance(1.0)
    assert world.view() is None


@story()
async def test_keep_alive_zero_first_serves_those_in_line(world):
    """Whoever waited already is not sent through another load."""
    running = await world.lease("a")
    waiting = world.ask("a")
    await world.clock.settle()
    running.release(keep_alive=0.0)
    (await waiting).release()
    await world.clock.advance(1.0)
    assert world.view() is None
    assert len(world.children.spawned) == 1


# Answers that nobody listens to any more


@story()
async def test_behind_an_abandoned_answer_the_next_waits_for_its_end(world):
    """The place is taken, whoever listens."""
    left = await world.lease("a")
    left.abandon()
    asked = world.ask("a")
    await world.clock.advance(5.0)
    assert (asked.done(), world.view().in_flight, world.view().abandoned) == (False, 1, 1)
    left.release()
    (await asked).release()
    assert (world.view().in_flight, world.view().abandoned) == (0, 0)


@pytest.mark.parametrize("draws", [False, True])
def test_who_waits_in_vain_behind_an_abandoned_answer_is_told_so(draws):
    """More slots would not have helped; an eviction does."""

    @story()
    async def scenario(world):
        driver = world.planner.drivers[EngineKind.LLAMACPP]
        driver.manners = driver.manners._replace(draws=draws)
        left = await world.lease("a")
        left.abandon()
        asked = world.ask("a", wait=2.0)
        await world.clock.advance(2.1)
        assert str(asked.exception()) == teaching.abandoned_answer_busy("a", 2.0, 0, draws)
        assert "slots" not in str(asked.exception()).removeprefix("all_slots_busy")
        left.release()

    scenario()


@story()
async def test_a_kind_without_slots_is_not_told_to_raise_them(world):
    """It does one request at a time, whatever the configuration says."""
    driver = world.planner.drivers[EngineKind.LLAMACPP]
    driver.manners = driver.manners._replace(slotted=False)
    await world.configure(a={"slots": 4})
    running = await world.lease("a")
    asked = world.ask("a", wait=2.0)
    await world.clock.advance(2.1)
    assert str(asked.exception()) == teaching.one_at_a_time_busy("a", 2.0, 0)
    assert world.view().slots == 1
    running.release()


@story()
async def test_the_idle_time_begins_when_the_last_client_leaves(world):
    """What it computes for nobody does not keep it; somebody who waits does, until he leaves."""
    left = await world.lease("a")
    left.abandon()
    asked = world.ask("a", wait=10_000.0)
    await world.clock.advance(1801.0)
    assert world.state() == "serving"
    asked.cancel()
    await world.clock.advance(1799.0)
    assert world.state() == "serving"
    await world.clock.advance(10.0)
    assert world.view() is None
    left.release()


@story()
async def test_an_abandoned_wish_to_unload_holds_at_once(world):
    """`keep_alive` 0 of a client that has left."""
    (await world.lease("a")).abandon(0.0)
    await world.clock.advance(1.0)
    assert world.view() is None


# Whose turn it is (D16); the queue itself has its own tests


@story()
async def test_turns_go_by_priority_and_class(world):
    """And who asks for a free slot at once never overtakes those who wait."""
    running = await world.lease("a")
    asks = [
        world.ask("a", priority=Priority.LOW),
        world.ask("a", kind=WorkClass.RAW_LONG),
        world.ask("a"),
        world.ask("a", kind=WorkClass.TOOL),
        world.ask("a", priority=Priority.HIGH, kind=WorkClass.RAW_LONG),
    ]
    await world.clock.settle()
    running.release()
    for ask in reversed(asks):
        assert world.supervisor.try_lease("a", work=Work(Priority.HIGH, WorkClass.TOOL)) is None
        (await ask).release()
    assert world.view().in_flight == 0


@story(a={"slots": 4})
async def test_raw_generations_give_way_as_they_end(world):
    """Whatever ways they came by and end: four run, one that is not waits, and its kind is kept a slot for (`raw_ceiling`)."""
    long = {"kind": WorkClass.RAW_LONG}
    first = await world.lease("a", **long)
    rest = [world.supervisor.try_lease("a", work=Work(**long)) for _ in range(3)]
    left, next_long, chat = world.ask("a", **long), world.ask("a", priority=Priority.HIGH, **long), world.ask("a")
    await world.clock.settle()
    first.release()
    left.cancel()
    await world.clock.settle()
    assert (chat.done(), next_long.done()) == (True, False)
    rest[0].abandon()
    rest[0].release()
    await world.clock.settle()
    assert next_long.done()
    for lease in (*rest[1:], chat.result(), next_long.result()):
        lease.release()
    line = world.supervisor._instances["a"].front.line
    assert (line.in_flight, line.raw_in_flight, line.abandoned) == (0, 0, 0)


@story()
async def test_a_raw_grant_whose_waiter_left_in_the_same_turn_is_taken_back(world):
    """Both of its counts."""
    line = None
    for release_first in (True, False):
        running = await world.lease("a")
        line = world.supervisor._instances["a"].front.line
        leaving = world.ask("a", kind=WorkClass.RAW_LONG)
        await world.clock.settle()
        first, second = (running.release, leaving.cancel) if release_first else (leaving.cancel, running.release)
        first()
        second()
        await world.clock.settle()
        assert (line.in_flight, line.raw_in_flight) == (0, 0)


@story()
async def test_a_deadline_ends_the_wait_for_a_load(world):
    """Its caller's own bound runs from its arrival, also across the end of a child (A11); the tier's begins when it serves."""
    world.children.next("a", Script(ready_after=100))
    short, usual = world.ask("a", wait=5.0, firm=True), world.ask("a", wait=5.0)
    await world.clock.advance(5.1)
    with pytest.raises(Busy) as caught:
        await short
    assert str(caught.value) == teaching.still_loading("a", 5.0)
    assert not usual.done()
    usual.cancel()


@story()
async def test_who_waited_in_vain_hears_when_to_come_again(world):
    """By how many wait, and how fast turns came (A18)."""
    running = await world.lease("a")
    waiting = [world.ask("a", wait=100.0) for _ in range(6)]
    for _ in range(3):
        await world.clock.advance(4.0)
        running.release()
        await world.clock.settle()
        running = await waiting.pop(0)
    hasty = world.ask("a", wait=1.0, priority=Priority.HIGH)
    await world.clock.advance(1.1)
    with pytest.raises(Busy) as caught:
        await hasty
    assert caught.value.retry_after == pytest.approx(12.0)
    assert str(caught.value) == teaching.high_waits_briefly(teaching.all_slots_busy("a", 1.0, 3), 1.0)
    running.release()
    for task in waiting:
        (await task).release()
