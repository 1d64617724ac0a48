"""The owner of one child: failed loads, crashes, the breaker, a larger window."""

import asyncio

import pytest

from blazar.application.supervise.messages import StopIfIdle
from blazar.application.supervise.surroundings import Limits
from blazar.domain import teaching
from blazar.domain.errors import (
    Busy,
    SpawnFailed,
)
from tests.fakes.catalog import a_model
from tests.fakes.children import KILL, TERM, Script
from tests.support.supervision import story

# Failing to load


@story()
async def test_a_child_that_dies_while_loading_says_why(world):
    """Status and last lines are in the sentence (case G28), nothing is left (case G24)."""
    world.children.next("a", Script(dies_after=3, status=1, says=("loading", "CUDA out of memory")))
    with pytest.raises(SpawnFailed) as caught:
        await world.lease("a")
    want = teaching.child_died_loading("a", "exit code 1", ["loading", "CUDA out of memory"])
    assert str(caught.value) == want
    assert world.children.of("a").closed == 1
    assert world.view() is None
    assert world.meter.crashes == ["a"]


@story()
async def test_a_full_disk_is_named_where_an_engine_dies_over_it(world):
    """In its own words somewhere among the last; with what to do."""
    lines = ("loading", "write error: No space left on device", "exiting")
    world.children.next("a", Script(dies_after=3, status=1, says=lines))
    with pytest.raises(SpawnFailed) as caught:
        await world.lease("a")
    assert str(caught.value) == teaching.child_disk_full("a", "exit code 1", list(lines))
    assert "because a disk is full: make room" in str(caught.value)


@story()
async def test_a_program_that_does_not_start_is_told_as_it_is(world):
    """The adapter's sentence reaches the caller."""
    world.children.next("a", Script(fails_to_start="no such file"))
    with pytest.raises(SpawnFailed) as caught:
        await world.lease("a")
    assert str(caught.value) == teaching.spawn_failed("a", "no such file")


@story()
async def test_a_load_that_stalls_is_stopped_and_verified(world):
    """30 s without progress: TERM, TERM, KILL; the error comes when the child is gone (cases G6, G24)."""
    world.children.next("a", Script(ready_after=None, moves=False, terms_needed=None))
    ask = world.ask("a")
    await world.clock.advance(29.0)
    child = world.children.of("a")
    assert child.signals == []
    await world.clock.advance(3.0)
    began = child.signals[0][0]
    assert world.state() == "stopping"
    await world.clock.advance(12.0)
    assert [(at - began, number) for at, number in child.signals] == [(0, TERM), (10, TERM), (12, KILL)]
    with pytest.raises(SpawnFailed) as caught:
        await ask
    assert str(caught.value) == teaching.load_stalled("a", 30.0)
    assert not child.alive
    assert world.meter.crashes == []


@story()
async def test_a_poll_that_never_returns_does_not_hide_a_stall(world):
    """The stall is seen by the clock, not by the poll."""
    world.children.next("a", Script(poll_hangs=True, moves=False))
    ask = world.ask("a")
    await world.clock.advance(33.0)
    with pytest.raises(SpawnFailed):
        await ask


@story()
async def test_progress_keeps_a_slow_load_alive_up_to_the_cap(world):
    """The driver's 180 s bound a load that moves but does not end (D34)."""
    world.children.next("a", Script(ready_after=None))
    ask = world.ask("a")
    await world.clock.advance(179.0)
    assert world.state() == "loading"
    await world.clock.advance(2.0)
    with pytest.raises(SpawnFailed) as caught:
        await ask
    assert str(caught.value) == teaching.load_too_slow("a", 180.0)


@story(limits=Limits(model_load_timeout_secs=40.0))
async def test_the_cap_can_be_configured(world):
    """model_load_timeout_secs overrides every driver."""
    world.children.next("a", Script(ready_after=None))
    ask = world.ask("a")
    await world.clock.advance(42.0)
    with pytest.raises(SpawnFailed) as caught:
        await ask
    assert str(caught.value) == teaching.load_too_slow("a", 40.0)


@story()
async def test_a_spawn_that_hangs_is_called_off(world):
    """Also the start of a process is bounded, and the next request may try again."""
    world.children.next("a", Script(spawn_hangs=True))
    ask = world.ask("a")
    await world.clock.advance(50.0)
    with pytest.raises(SpawnFailed):
        await ask
    (await world.lease("a")).release()


@story()
async def test_a_request_during_the_teardown_of_a_failed_load_gets_a_new_child(world):
    """Only those who waited for the failed one get its error."""
    world.children.next("a", Script(ready_after=None, moves=False, terms_needed=None))
    doomed = world.ask("a")
    await world.clock.advance(32.0)
    later = world.ask("a")
    await world.clock.advance(20.0)
    with pytest.raises(SpawnFailed):
        await doomed
    (await later).release()
    assert len(world.children.spawned) == 2


# Crashes and the breaker


@story()
async def test_after_a_crash_the_next_request_gets_a_fresh_child(world):
    """At once: the first unclean exit is forgiven (D33); a dead child is never listed (case G5)."""
    lease = await world.lease("a")
    world.children.of("a").die(-9)
    await world.clock.settle()
    assert world.view() is None
    assert world.meter.crashes == ["a"]
    lease.release()
    (await world.lease("a")).release()
    assert world.view().pid == world.children.spawned[1].pid


@story()
async def test_whoever_waits_for_a_slot_of_a_crashed_child_gets_the_next_one(world):
    """Waiting requests have lost nothing and are served by the successor."""
    lease = await world.lease("a")
    waiting = [world.ask("a") for _ in range(3)]
    await world.clock.settle()
    world.children.of("a").die()
    await world.clock.advance(1.0)
    lease.release()
    for ask in waiting:
        await world.clock.settle()
        (await ask).release()
    assert len(world.children.spawned) == 2


@story()
async def test_crashes_in_a_row_open_the_breaker(world):
    """At once, after 1 s, then 503 with retry-after, doubling; `ps --reset` clears it."""
    world.children.script = Script(dies_after=1)
    for _ in range(2):
        with pytest.raises(SpawnFailed):
            await world.lease("a")
    third = world.ask("a")
    await world.clock.advance(0.5)
    assert len(world.children.attempts) == 2
    await world.clock.advance(0.6)
    with pytest.raises(SpawnFailed):
        await third
    with pytest.raises(Busy) as caught:
        await world.lease("a")
    assert 0 < caught.value.retry_after <= 2.0
    assert str(caught.value) == teaching.breaker_open("a", caught.value.retry_after)
    assert len(world.children.attempts) == 3
    assert world.told("breaker_open")
    assert world.supervisor.reset() == ["a"]
    world.children.script = Script()
    (await world.lease("a")).release()


@story()
async def test_the_breaker_lets_one_trial_through_after_its_pause(world):
    """Half open: the trial fails, the pause doubles."""
    world.children.script = Script(dies_after=1)
    for _ in range(3):
        with pytest.raises(SpawnFailed):
            await world.lease("a")
    await world.clock.advance(2.1)
    with pytest.raises(SpawnFailed):
        await world.lease("a")
    with pytest.raises(Busy) as caught:
        await world.lease("a")
    assert 3.0 < caught.value.retry_after <= 4.0


@story()
async def test_an_exit_after_our_signal_is_no_crash_whatever_its_status(world):
    """KILL after the grace, exit code 1 after TERM: evicted, not crashed (D31)."""
    for script in (Script(terms_needed=None), Script(on_term=1), Script(terms_needed=2, on_term=-15)) * 2:
        world.children.next("a", script)
        (await world.lease("a")).release()
        evicting = asyncio.create_task(world.supervisor.evict("a"))
        await world.clock.advance(15.0)
        assert await evicting == ["a"]
    assert world.meter.crashes == []
    assert world.meter.evictions == [("a", "asked")] * 6
    assert world.told("failed") == []


@story()
async def test_three_answers_5xx_in_a_row_make_it_go(world):
    """Healthy by its own account, useless in fact: evicted, and counted by the breaker (case G6)."""
    world.children.next("a", Script(terms_needed=None))
    for failed in (True, True, False, True, True):
        (await world.lease("a")).release(failed=failed)
    assert world.state() == "serving"
    (await world.lease("a")).release(failed=True)
    await world.clock.settle()
    assert world.state() == "stopping"
    await world.clock.advance(15.0)
    assert world.view() is None
    assert world.meter.evictions == [("a", "sick")]
    assert [facts["why"] for facts in world.told("failed")] == [teaching.child_sick("a")]
    for _ in range(3):
        (await world.lease("a")).release(failed=True)
    await world.clock.advance(15.0)
    for _ in range(3):
        (await world.lease("a")).release(failed=True)
    await world.clock.settle()
    with pytest.raises(Busy):
        await world.lease("a")


@story()
async def test_a_wedged_child_goes_at_the_first_word_about_it(world):
    """Who says so gets no second place at it: the next request is for the next child."""
    lease = await world.lease("a")
    lease.condemn()
    lease.release(failed=True)
    assert world.supervisor.try_lease("a") is None
    again = world.ask("a")
    await world.clock.advance(15.0)
    (await again).release()
    assert len(world.children.spawned) == 2
    assert world.meter.evictions == [("a", "wedged")]
    assert [facts["why"] for facts in world.told("failed")] == [teaching.child_wedged("a")]


@story()
async def test_a_word_about_a_child_that_is_gone_changes_nothing(world):
    """Its successor serves on; a place that was given back says nothing either."""
    old = await world.lease("a")
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(15.0)
    await evicting
    new = await world.lease("a")
    old.condemn()
    new.release()
    new.condemn()
    await world.clock.settle()
    assert world.state() == "serving"
    assert len(world.children.spawned) == 2


@story(a={"slots": 2})
async def test_a_sick_child_drains_before_it_goes(world):
    """The one request that still runs is not cut off at once."""
    running = await world.lease("a")
    for _ in range(3):
        (await world.lease("a")).release(failed=True)
    await world.clock.advance(5.0)
    assert world.state() == "draining"
    running.release()
    await world.clock.advance(1.0)
    assert world.view() is None


# The window


@story()
async def test_a_smaller_or_equal_window_never_respawns(world):
    """num_ctx 4096 and 2048 in turn, ten times: one spawn (case B8)."""
    for _ in range(10):
        for wish in (4096, 2048):
            (await world.lease("a", num_ctx=wish)).release()
    assert len(world.children.spawned) == 1


@story()
async def test_a_larger_window_reshapes_once_and_is_remembered(world):
    """The request that asks gets it; later ones find it; the next child has it too."""
    (await world.lease("a")).release()
    lease = await world.lease("a", num_ctx=6000)
    assert lease.ctx == 6000
    lease.release()
    for wish in (6000, 2048, 0):
        (await world.lease("a", num_ctx=wish)).release()
    assert len(world.children.spawned) == 2
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    await evicting
    lease = await world.lease("a")
    assert lease.ctx == 6000
    lease.release()


@story()
async def test_a_reshape_never_cuts_a_request_off(world):
    """It waits for those in flight as long as they take."""
    running = await world.lease("a")
    larger = world.ask("a", num_ctx=6000)
    await world.clock.advance(300.0)
    assert world.state() == "draining"
    assert not larger.done()
    running.release()
    await world.clock.advance(1.0)
    lease = await larger
    assert lease.ctx == 6000
    lease.release()


@story()
async def test_a_wish_beyond_the_trained_window_stops_there(world):
    """8192 is all the model knows; asking for more again changes nothing."""
    for _ in range(3):
        lease = await world.lease("a", num_ctx=10**9)
        assert lease.ctx == 8192
        lease.release()
    assert len(world.children.spawned) == 1


@story(models=[a_model("a", ctx_train=0)])
async def test_a_model_that_does_not_say_keeps_the_configured_window(world):
    """Without a trained window a wish has no bound, so it is not granted."""
    lease = await world.lease("a", num_ctx=10**9)
    assert lease.ctx == 4096
    lease.release()


@story()
async def test_a_window_that_cannot_be_loaded_is_not_tried_again(world):
    """The wish fails once; everybody else still gets the configured one."""
    world.children.next("a", Script(), Script(dies_after=1))
    (await world.lease("a")).release()
    with pytest.raises(SpawnFailed):
        await world.lease("a", num_ctx=8192)
    for _ in range(2):
        lease = await world.lease("a", num_ctx=8192)
        assert lease.ctx == 4096
        lease.release()
    assert len(world.children.spawned) == 3


@story()
async def test_a_larger_wish_during_a_load_restarts_it(world):
    """Nobody gets less than was asked for."""
    world.children.next("a", Script(ready_after=None))
    first = world.ask("a")
    await world.clock.advance(0.5)
    second = world.ask("a", num_ctx=6000)
    await world.clock.advance(1.0)
    lease = await first
    assert lease.ctx == 6000
    lease.release()
    (await second).release()


@story()
async def test_a_larger_wish_at_any_moment_of_a_load_is_granted(world):
    """Also when the child becomes ready in the very turn in which the wish arrives."""
    for turns in range(25):
        evicting = asyncio.create_task(world.supervisor.evict("a"))
        await world.clock.advance(1.0)
        await evicting
        num_ctx = 5000 + turns
        first = world.ask("a")
        for _ in range(turns):
            await asyncio.sleep(0)
        larger = world.ask("a", num_ctx=num_ctx)
        for _ in range(20):
            await world.clock.advance(0.1)
            if first.done():
                first.result().release()
        lease = await larger
        assert lease.ctx == num_ctx
        lease.release()
        (await first).release()


@story()
async def test_a_wish_beyond_a_replaced_row_does_not_reload_for_ever(world):
    """The new file knows less than what was asked of the old one: it is clamped, once."""
    (await world.lease("a", num_ctx=8192)).release()
    world.catalog.remove_model("a")
    world.catalog.add_model(a_model("a", ctx_train=6000, digest="cd" * 32))
    for _ in range(3):
        lease = await world.lease("a", num_ctx=8192)
        assert lease.ctx == 6000
        lease.release()
    assert len(world.children.spawned) == 2


@story()
async def test_policy_looks_again_before_it_stops_a_child(world):
    """A request that came between the decision and its reading keeps the child."""
    (await world.lease("a")).release()
    world.supervisor._instances["a"].post(StopIfIdle("capacity"))
    lease = world.supervisor.try_lease("a")
    await world.clock.advance(5.0)
    assert world.state() == "serving"
    lease.release()


@story()
async def test_a_successor_starts_with_nobody_in_flight(world):
    """Requests of a dead child hold no slot of the next one, however late they are given back."""
    lease = await world.lease("a")
    waiting = world.ask("a")
    await world.clock.settle()
    world.children.next("a", Script(ready_after=20))
    world.children.of("a").die()
    await world.clock.settle()
    assert (world.state(), world.view().in_flight, world.view().waiting) == ("loading", 0, 1)
    await world.clock.advance(2.0)
    following = await waiting
    lease.release(keep_alive=0.0, failed=True)
    assert world.view().in_flight == 1
    await world.clock.advance(1.0)
    assert world.state() == "serving"
    following.release()


@story()
async def test_reset_lets_waiters_go_at_once(world):
    """`ps --reset` during the pause does not wait for its end."""
    world.children.script = Script(dies_after=1)
    for _ in range(2):
        with pytest.raises(SpawnFailed):
            await world.lease("a")
    world.children.script = Script()
    waiting = world.ask("a")
    await world.clock.settle()
    assert not waiting.done()
    assert world.supervisor.reset() == []
    await world.clock.settle()
    (await waiting).release()


# Answers that nobody listens to any more


@story()
async def test_an_eviction_does_not_wait_for_an_abandoned_answer(world):
    """There is nobody to drain for; who waits behind it gets the next child."""
    (await world.lease("a")).abandon()
    waiting = world.ask("a")
    await world.clock.settle()
    gone = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    assert await gone == ["a"]
    (await waiting).release()
    assert len(world.children.attempts) == 2


@story()
async def test_a_drain_ends_with_the_last_client_that_leaves(world):
    """What runs on then runs for nobody."""
    lease = await world.lease("a")
    gone = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    assert world.state() == "draining"
    lease.abandon()
    await world.clock.advance(1.0)
    assert (gone.done(), world.view()) == (True, None)


@story()
async def test_a_shutdown_does_not_wait_for_an_abandoned_answer(world):
    """The drain is for clients."""
    (await world.lease("a")).abandon()
    closing = asyncio.create_task(world.supervisor.aclose())
    await world.clock.advance(1.0)
    assert closing.done()


@story()
async def test_a_changed_configuration_does_not_wait_for_an_abandoned_answer(world):
    """Changed before the client left, or after."""
    for first in (True, False):
        lease = await world.lease("a")
        if first:
            lease.abandon()
        await world.configure(a={"ctx": 1024 if first else 2048})
        if not first:
            assert world.state() == "serving"
            lease.abandon()
        await world.clock.advance(1.0)
        assert world.view() is None


@story(limits=Limits(max_loaded_models=1))
async def test_an_abandoned_answer_makes_room_for_another_model(world):
    """Its child is idle: it goes at once, not when the picture is drawn."""
    (await world.lease("a")).abandon()
    (await world.lease("b")).release()
    assert (world.view("a"), world.state("b")) == (None, "serving")


@story(limits=Limits(max_loaded_models=1))
async def test_who_waits_for_room_hears_of_an_abandoned_answer(world):
    """It becomes room the moment its client leaves."""
    lease = await world.lease("a")
    asked = world.ask("b")
    await world.clock.advance(1.0)
    assert world.state("a") == "serving"
    lease.abandon()
    await world.clock.advance(1.0)
    (await asked).release()
    assert world.view("a") is None
