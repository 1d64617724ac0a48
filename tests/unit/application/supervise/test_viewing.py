"""How an instance looks from outside."""

import asyncio

import pytest

from blazar.application.ports.children import HOST, MAPPED, REPACKED, Buffer, Measured
from blazar.application.supervise.surroundings import Limits
from blazar.application.supervise.viewing import occupant_of, tenant_of, uncounted, view_of, window_of
from blazar.domain import teaching
from blazar.domain.admission.work import Priority, WorkClass
from blazar.domain.argv import Flag
from blazar.domain.instance.hints import CacheHints
from blazar.domain.kinds import EngineKind, Weights
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.fakes.hardware import FakeCensus
from tests.support.supervision import PlainDriver, a_planner, story


def instance(world, key="a"):
    return world.supervisor._instances[key]


@story()
async def test_a_model_that_is_not_there_has_no_place_and_no_end(world):
    """Zeros and empty texts instead of facts, and the last error."""
    world.children.next("a", Script(fails_to_start="broken"))
    waiting = world.ask("a")
    await world.clock.advance(1.0)
    assert waiting.exception() is not None
    view = view_of(instance(world))
    assert (view.state, view.pid, view.port, view.engine, view.argv, view.rss) == ("failed", 0, 0, "", (), 0)
    assert (view.expires_at, view.load_seconds) == (0.0, 0.0)
    assert "broken" in view.last_error
    assert occupant_of(instance(world), pinned=False) is None


def test_a_model_that_draws_has_no_window():
    """Its plan has one like every other: `ps` and `explain` would show tokens that nobody can fill."""
    plan = a_planner(FakeCensus(), {}).plan(a_model("m")).plan
    assert plan.ctx > 0
    assert window_of(a_model("m"), plan) == plan.ctx
    assert window_of(a_model("m", weights=Weights.DIFFUSION), plan) == 0


def test_what_a_picture_takes_is_said_to_be_unknown():
    """Of a model that draws; all else is counted."""
    assert uncounted(a_model("m", weights=Weights.DIFFUSION)) == (teaching.pictures_uncounted(),)
    assert uncounted(a_model("m")) == ()


@story()
async def test_a_busy_child_goes_after_its_whole_stay(world):
    """Its countdown has not begun, so the end moves with the clock; idle it stands still."""
    lease = await world.lease("a")
    stay = lambda: view_of(instance(world)).expires_at - world.clock.wall()  # noqa: E731
    assert stay() == pytest.approx(1800.0)
    await world.clock.advance(100.0)
    assert stay() == pytest.approx(1800.0)
    lease.release()
    await world.clock.advance(100.0)
    assert stay() == pytest.approx(1700.0)
    lease = await world.lease("a")
    lease.release(keep_alive=-1.0)
    assert view_of(instance(world)).expires_at == 0.0


@story()
async def test_its_place_says_since_when_it_is_idle(world):
    """None while it is busy or leaves: policy takes neither (D4)."""
    lease = await world.lease("a")
    busy = occupant_of(instance(world), pinned=True)
    assert (busy.idle_since, busy.pinned, busy.leaving) == (None, True, False)
    lease.release()
    since = world.clock.now()
    await world.clock.advance(5.0)
    assert occupant_of(instance(world), pinned=False).idle_since == since
    world.children.of("a").script = world.children.of("a").script._replace(term_takes=3.0)
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    leaving = occupant_of(instance(world), pinned=False)
    assert (leaving.idle_since, leaving.leaving) == (None, True)
    await world.clock.advance(5.0)
    await evicting


@story()
async def test_pages_of_the_file_that_were_repacked_are_not_counted_twice(world):
    """Neither beside the plan nor in what a newcomer finds taken; what is resident is shown as it is."""
    mib = 2**20
    buffers = (Buffer(HOST, MAPPED, 100 * mib), Buffer(HOST, REPACKED, 70 * mib), Buffer(HOST, "kv", 20 * mib))
    world.children.appetites["a"] = Measured(210 * mib, 110 * mib, (), buffers)
    (await world.lease("a")).release()
    view, tenant = view_of(instance(world)), tenant_of(instance(world), pinned=False)
    assert (view.rss, view.measured, view.allocated) == (210 * mib, 140 * mib, 120 * mib)
    assert tenant is not None
    assert (tenant.measured.resident, tenant.measured.mapped) == (140 * mib, 40 * mib)


@story()
async def test_a_child_that_may_sleep_is_remembered_as_it_was(world):
    """The most of main memory that it has been seen to hold is what it will want again; only where it was told to sleep."""
    world.planner.drivers[EngineKind.LLAMACPP].flags = (
        *PlainDriver.flags,
        Flag("--sleep-idle-seconds", "idle_sleep_secs"),
    )
    world.children.appetites["a"] = Measured(200)
    (await world.lease("a")).release()
    assert tenant_of(instance(world), pinned=False).again == ((HOST, 200),)
    world.children.of("a").uses = Measured(20)
    tenant = tenant_of(instance(world), pinned=False)
    assert (tenant.measured.resident, tenant.again) == (20, ((HOST, 200),))
    del world.planner.drivers[EngineKind.LLAMACPP].flags
    (await world.lease("b")).release()
    assert tenant_of(instance(world, "b"), pinned=False).again == ()


@story(a={"extra_args": ("--sleep-idle-seconds", "5")}, b={"extra_args": ("--sleep-idle-seconds", "-1")})
async def test_words_of_a_person_s_own_send_a_child_to_sleep_as_well(world):
    """Ours gives way to them, and what the child lets go is claimed all the same; told never to sleep it claims nothing."""
    world.planner.drivers[EngineKind.LLAMACPP].flags = (
        *PlainDriver.flags,
        Flag("--sleep-idle-seconds", "idle_sleep_secs"),
    )
    world.children.appetites = {"a": Measured(200), "b": Measured(200)}
    for name in ("a", "b"):
        (await world.lease(name)).release()
    claims = [tenant_of(instance(world, name), pinned=False).again for name in ("a", "b")]
    assert claims == [((HOST, 200),), ()]


@story()
async def test_an_abandoned_answer_leaves_its_child_idle(world):
    """For the cap and for memory alike; `ps` shows what it still does."""
    (await world.lease("a")).abandon()
    since = world.clock.now()
    await world.clock.advance(5.0)
    assert occupant_of(instance(world), pinned=False).idle_since == since
    assert tenant_of(instance(world), pinned=False).idle_since == since
    view = view_of(instance(world))
    assert (view.in_flight, view.abandoned) == (1, 1)
    assert view.expires_at - world.clock.wall() == pytest.approx(1795.0)


@story()
async def test_who_waits_is_shown_by_priority_and_class(world):
    """In the order of their turns."""
    running = await world.lease("a")
    asked = [world.ask("a"), world.ask("a", priority=Priority.HIGH, kind=WorkClass.TOOL)]
    await world.clock.settle()
    assert world.view().queued == (("high", "tool", 1), ("normal", "interactive", 1))
    running.release()
    for ask in reversed(asked):
        (await ask).release()
    assert world.view().queued == ()


@story()
async def test_hints_are_shown_as_they_are_known(world):
    """None until something is; and a child that may not sleep is never asked whether it does."""
    await world.lease("a")
    view = view_of(instance(world))
    assert (view.cache_hint, view.spec_accept, view.sleeping) == (None, None, False)
    instance(world).tenure.hints = CacheHints(cache_hint=0.5, spec_accept=0.25)
    view = view_of(instance(world))
    assert (view.cache_hint, view.spec_accept) == (0.5, 0.25)


@story()
async def test_a_child_sleeps_when_it_says_so_and_nobody_uses_it(world):
    """A request that has just come wakes it up, whatever its log says still."""
    flag = Flag("--sleep-idle-seconds", "idle_sleep_secs")
    world.planner.drivers[EngineKind.LLAMACPP].flags = (*PlainDriver.flags, flag)
    lease = await world.lease("a")
    child = world.children.of("a")
    child.asleep = lambda: True
    assert not view_of(instance(world)).sleeping
    lease.release()
    assert view_of(instance(world)).sleeping


@story(limits=Limits(max_loaded_models=2))
async def test_the_colder_cache_makes_room(world):
    """Of two that came to rest in the same minute, whatever their order."""
    for name, hint in (("a", 0.9), ("b", 0.1)):
        (await world.lease(name)).release()
        tenure = world.supervisor._instances[name].tenure
        tenure.hints, tenure.hinted_at = CacheHints(cache_hint=hint), world.clock.now()
    (await world.lease("c")).release()
    assert [name for name in ("a", "b", "c") if world.state(name) == "serving"] == ["a", "c"]
