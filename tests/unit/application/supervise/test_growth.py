"""A model that is crowded gets a slot more."""

import asyncio

import pytest

from blazar.application.supervise.surroundings import Limits
from blazar.domain.kinds import EngineKind
from tests.fakes.children import Script
from tests.support.supervision import story

OPEN = {"slots": 0}


async def crowd(world, seconds=62.0, waiting=1):
    """More requests than slots for so long, each followed by the next; then all of them end."""
    running = [await world.lease("a", wait=1000.0)]
    while (more := world.supervisor.try_lease("a")) is not None:
        running.append(more)
    asked = [world.ask("a", wait=1000.0) for _ in range(waiting)]
    for _ in range(int(seconds / 2)):
        await world.clock.advance(2.0)
        running.pop(0).release()
        await world.clock.settle()
        running += [task.result() for task in asked if task.done()]
        asked = [task for task in asked if not task.done()]
        while len(asked) < waiting:
            asked.append(world.ask("a", wait=1000.0))
        await world.clock.settle()
    for lease in running:
        lease.release()
    await world.clock.settle()
    while asked:
        (await asked.pop()).release()
        await world.clock.settle()


@story(a=OPEN)
async def test_after_a_minute_of_crowd_the_next_child_has_a_slot_more(world):
    """It takes the place of the first in a quiet moment, without anybody asking for it (D18)."""
    await crowd(world)
    assert (world.view().slots, len(world.children.spawned)) == (2, 1)  # the model was trained for two windows
    await world.clock.advance(4.0)
    assert len(world.children.spawned) == 1
    await world.clock.advance(2.0)
    assert (world.state(), world.view().slots, len(world.children.spawned)) == ("serving", 3, 2)
    assert world.meter.evictions == [("a", "slots")]
    assert "--parallel 3" in " ".join(world.view().argv)


@story(a=OPEN)
async def test_up_to_four(world):
    """Each further slot takes another minute; beyond four nothing is adopted."""
    for slots in (3, 4, 4, 4):
        await crowd(world)
        await world.clock.advance(10.0)
        assert world.view().slots == slots
    assert len(world.children.spawned) == 3


@story(a=OPEN)
async def test_a_shorter_crowd_changes_nothing(world):
    """Nor do two with a lull between them."""
    await crowd(world, 50.0)
    await world.clock.advance(10.0)
    await crowd(world, 50.0)
    await world.clock.advance(60.0)
    assert len(world.children.spawned) == 1


@pytest.mark.parametrize("said", [{"slots": 2}, {"slots": 0, "deterministic": True}])
def test_a_number_that_somebody_chose_stays(said):
    """Only where `slots` is left open, and never where answers are to be the same each time."""

    @story(a=said)
    async def scenario(world):
        await crowd(world)
        await world.clock.advance(60.0)
        assert len(world.children.spawned) == 1

    scenario()


@story(limits=Limits(adaptive_slots=False), a=OPEN)
async def test_it_can_be_switched_off(world):
    """`adaptive_slots = false`."""
    await crowd(world)
    await world.clock.advance(60.0)
    assert len(world.children.spawned) == 1


@story(a=OPEN)
async def test_it_waits_until_nothing_runs(world):
    """A request is never cut off for it, and one that comes within the quiet moment begins it anew (D4)."""
    await crowd(world)
    await world.clock.advance(3.0)
    running = await world.lease("a")
    await world.clock.advance(100.0)
    assert len(world.children.spawned) == 1
    running.release()
    await world.clock.advance(4.0)
    assert len(world.children.spawned) == 1
    await world.clock.advance(2.0)
    assert len(world.children.spawned) == 2


@story(a=OPEN)
async def test_without_room_the_child_stays(world):
    """The plan is made before anything is stopped; the next crowd asks again."""
    await crowd(world)
    enough, world.census.machine = world.census.machine, world.census.machine._replace(ram_available=1)
    await world.clock.advance(60.0)
    assert (len(world.children.spawned), world.view().slots) == (1, 2)
    world.census.machine = enough
    await crowd(world)
    await world.clock.advance(10.0)
    assert world.view().slots == 3


@story(a=OPEN)
async def test_what_was_wished_for_the_child_holds_for_its_successor(world):
    """One that was to stay for ever does, and its idle time begins with the change otherwise."""
    (await world.lease("a")).release(keep_alive=-1.0)
    await crowd(world)
    await world.clock.advance(10.0)
    assert len(world.children.spawned) == 2
    await world.clock.advance(10_000.0)
    assert world.state() == "serving"


@story(a=OPEN)
async def test_a_wider_child_that_does_not_load_is_not_tried_again(world):
    """The next request gets one as before."""
    world.children.next("a", Script(), Script(dies_after=1))
    await crowd(world)
    await world.clock.advance(10.0)
    assert world.view() is None
    (await world.lease("a")).release()
    assert world.view().slots == 2


@story(a=OPEN)
async def test_who_comes_during_the_change_waits_for_the_successor(world):
    """It is one load, and nobody is refused."""
    world.children.next("a", Script(), Script(ready_after=40))
    await crowd(world)
    await world.clock.advance(5.5)
    assert world.state() in ("stopping", "loading")
    lease = await world.lease("a")
    assert world.view().slots == 3
    lease.release()


@pytest.mark.parametrize("force", [False, True])
def test_an_eviction_during_the_change_is_the_last_word(force):
    """Nobody waits for the wider child, so that it does not come back."""

    @story(a=OPEN)
    async def scenario(world):
        world.children.next("a", Script(term_takes=1.0), Script(ready_after=400))
        await crowd(world)
        await world.clock.advance(8.0)
        assert world.state() == "loading"
        evicting = asyncio.create_task(world.supervisor.evict("a", force=force))
        await world.clock.advance(5.0)
        await evicting
        await world.clock.advance(60.0)
        assert world.view() is None
        assert len(world.children.spawned) == 2

    scenario()


@story(a=OPEN)
async def test_an_engine_that_takes_what_comes_is_sent_more_at_once(world):
    """Without a new child."""
    driver = world.planner.drivers[EngineKind.LLAMACPP]
    driver.manners = driver.manners._replace(gathers=True)
    await crowd(world)
    assert (world.view().slots, len(world.children.spawned)) == (3, 1)
    assert world.told("slots_adopted") == [{"model": "a", "slots": 3}]
    running = [world.supervisor.try_lease("a") for _ in range(4)]
    assert running.pop() is None
    for lease in running:
        lease.release()
    await world.clock.advance(60.0)
    assert len(world.children.spawned) == 1


@story(a=OPEN)
async def test_an_engine_without_slots_is_never_widened(world):
    """It does one request at a time."""
    driver = world.planner.drivers[EngineKind.LLAMACPP]
    driver.manners = driver.manners._replace(slotted=False)
    await crowd(world)
    await world.clock.advance(60.0)
    assert (len(world.children.spawned), world.view().slots) == (1, 1)


@story(a={"slots": 3})
async def test_slots_are_those_that_the_child_says_it_has(world):
    """Not only those that were planned."""
    world.children.next("a", Script(slots=2))
    leases = [await world.lease("a"), await world.lease("a")]
    assert world.supervisor.try_lease("a") is None
    assert world.view().slots == 2
    for lease in leases:
        lease.release()


@story(a=OPEN)
async def test_a_child_that_has_fewer_than_planned_is_not_replaced_for_ever(world):
    """What counts is whether the plan would be another one."""
    world.children.script = Script(slots=1)
    for _ in range(4):
        await crowd(world)
        await world.clock.advance(60.0)
    assert len(world.children.spawned) == 3  # planned for two, three and four


async def unbroken(world, seconds, turn=2.0):
    """A crowd without end: whoever ends is followed by another one, and somebody always waits."""
    running, asked = [await world.lease("a", wait=1000.0)], []
    while (more := world.supervisor.try_lease("a")) is not None:
        running.append(more)
    for _ in range(int(seconds / turn)):
        while len(asked) < 3:
            asked.append(world.ask("a"))
        await world.clock.advance(turn)
        if running:
            running.pop(0).release()
        await world.clock.settle()
        running += [task.result() for task in asked if task.done()]
        asked = [task for task in asked if not task.done()]
    return running, asked


async def disperse(world, running, asked):
    """They end, one after the other."""
    while running or asked:
        for lease in running:
            lease.release()
        await world.clock.settle()
        running = [task.result() for task in asked if task.done()]
        asked = [task for task in asked if not task.done()]


@story(a=OPEN)
async def test_an_unbroken_crowd_gets_its_slot_too(world):
    """No quiet moment ever comes: new requests are kept back until what runs has ended, and nobody is refused (A2, D18)."""
    running, asked = await unbroken(world, 110.0)
    assert (len(world.children.spawned), world.view().slots) == (2, 3)
    assert world.meter.evictions == [("a", "slots")]
    await disperse(world, running, asked)


@story(a=OPEN)
async def test_a_crowd_is_held_no_longer_than_its_bounds(world):
    """Something long runs: who waits gets in before its bound is over, and the child stays until it is quiet."""
    long = await world.lease("a", wait=1000.0)
    running, asked = await unbroken(world, 200.0)
    assert len(world.children.spawned) == 1
    await disperse(world, running, asked)
    long.release()
    await world.clock.advance(6.0)
    assert (len(world.children.spawned), world.view().slots) == (2, 3)
