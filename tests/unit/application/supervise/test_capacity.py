"""Room for one more child."""

import asyncio

import pytest

from blazar.application.supervise.surroundings import Limits
from blazar.domain import teaching
from blazar.domain.errors import (
    Busy,
)
from blazar.domain.records import Model
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.support.supervision import story


@story(limits=Limits(max_loaded_models=2))
async def test_the_least_recently_used_makes_room(world):
    """And is gone before its successor starts."""
    world.children.script = Script(term_takes=3.0)
    for name in ("a", "b"):
        (await world.lease(name)).release()
        await world.clock.advance(1.0)
    (await world.lease("a")).release()
    third = world.ask("c")
    await world.clock.advance(2.0)
    assert (world.state("b"), len(world.children.spawned)) == ("stopping", 2)
    await world.clock.advance(2.0)
    (await third).release()
    assert world.state("a") == "serving"
    assert world.view("b") is None
    assert world.children.most_alive == 2
    assert world.meter.evictions == [("b", "capacity")]


@story(limits=Limits(max_loaded_models=1))
async def test_a_busy_child_is_waited_for_and_never_evicted(world):
    """Room comes when it becomes idle; else 503 after the wait (D4, case G8)."""
    running = await world.lease("a")
    other = world.ask("b")
    await world.clock.advance(10.0)
    assert world.state("a") == "serving"
    running.release()
    await world.clock.advance(1.0)
    lease = await other
    late = world.ask("a")
    await world.clock.advance(31.0)
    with pytest.raises(Busy) as caught:
        await late
    assert str(caught.value) == teaching.all_models_busy("a", 1)
    assert caught.value.retry_after > 0
    assert world.state("b") == "serving"
    lease.release()


@story(limits=Limits(max_loaded_models=1, pinned=frozenset({"a"})))
async def test_a_pinned_child_does_not_make_room(world):
    """Policy skips pins; an explicit wish does not."""
    (await world.lease("a")).release()
    other = world.ask("b")
    await world.clock.advance(31.0)
    with pytest.raises(Busy):
        await other
    assert world.state("a") == "serving"


@story(limits=Limits(max_loaded_models=1))
async def test_room_is_not_needed_any_more_when_the_load_is_called_off(world):
    """An eviction of somebody who still waits for room ends at once."""
    running = await world.lease("a")
    other = world.ask("b")
    await world.clock.advance(1.0)
    evicting = asyncio.create_task(world.supervisor.evict("b", force=True))
    await world.clock.settle()
    assert await evicting == ["b"]
    with pytest.raises(Busy):
        await other
    running.release()


@story(limits=Limits(max_loaded_models=1))
async def test_two_models_in_turn_always_end(world):
    """The swap race: nobody is refused while each request is short (cases G8, G10)."""
    for _ in range(10):
        for name in ("a", "b"):
            (await world.lease(name)).release()
    assert world.children.most_alive == 1
    assert len(world.children.spawned) == 20


def _four() -> list[Model]:
    return [a_model(name) for name in ("a", "b", "c", "d")]


@story(models=_four(), limits=Limits())
async def test_a_lowered_number_sends_idle_ones_away_at_once(world):
    """The oldest first, because of the configuration; who stays keeps its child."""
    for name in ("a", "b", "c"):
        (await world.lease(name)).release()
        await world.clock.advance(1.0)
    (await world.lease("a")).release()
    await world.configure(Limits(max_loaded_models=1))
    await world.clock.advance(1.0)
    assert [world.state(name) for name in ("a", "b", "c")] == ["serving", None, None]
    assert world.meter.evictions == [("b", "reload"), ("c", "reload")]
    assert [told["cause"] for told in world.told("evicted")] == ["reload", "reload"]
    await world.configure(Limits(max_loaded_models=3))
    for name in ("b", "c", "b"):
        (await world.lease(name)).release()
    assert len(world.meter.evictions) == 2, "a number that is kept sends nobody away"


@story(models=_four(), limits=Limits())
async def test_busy_ones_beyond_a_lowered_number_go_when_they_fall_idle(world):
    """No request is cut off (D4); a load under way counts, too."""
    busy = {name: await world.lease(name) for name in ("a", "b")}
    (await world.lease("c")).release()
    await world.clock.advance(1.0)
    loading = world.ask("d")
    await world.clock.settle()
    await world.configure(Limits(max_loaded_models=1))
    await world.clock.advance(5.0)
    (await loading).release()
    await world.clock.advance(1.0)
    assert [world.state(name) for name in ("a", "b", "c", "d")] == ["serving", "serving", None, None]
    busy["b"].release()
    await world.clock.advance(1.0)
    assert [world.state(name) for name in ("a", "b")] == ["serving", None]
    busy["a"].release()
    await world.clock.advance(1.0)
    assert world.state("a") == "serving"
    assert world.meter.evictions == [(name, "reload") for name in ("c", "d", "b")]


@story(models=_four(), limits=Limits())
async def test_a_pinned_child_stays_beyond_a_lowered_number(world):
    """Policy skips pins; the others make up for it."""
    for name in ("a", "b", "c"):
        (await world.lease(name)).release()
        await world.clock.advance(1.0)
    await world.configure(Limits(max_loaded_models=1, pinned=frozenset({"a"})))
    await world.clock.advance(1.0)
    assert [world.state(name) for name in ("a", "b", "c")] == ["serving", None, None]


@story(models=_four(), limits=Limits())
async def test_children_that_go_for_what_they_were_told_leave_room(world):
    """A change of one model's words and of the number: not one more goes than has to."""
    for name in ("a", "b", "c"):
        (await world.lease(name)).release()
        await world.clock.advance(1.0)
    await world.configure(Limits(max_loaded_models=2), c={"ctx": 256})
    await world.clock.advance(1.0)
    assert [world.state(name) for name in ("a", "b", "c")] == ["serving", "serving", None]
