"""Memory: who may begin to load, who must leave for it, who waits."""

import asyncio

import pytest

from blazar.application.ports.children import HOST, LaunchPlan, Measured
from blazar.application.supervise.admission import Admission, Look, judge
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Launch, Limits
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, DoesNotFit, Fault, Malformed
from blazar.domain.kinds import EngineKind
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.fakes.clock import FakeClock
from tests.fakes.engines import an_engine
from tests.fakes.hardware import GIB, FakeCensus, a_machine
from tests.fakes.weights import heavy_shape
from tests.support.cards import NAMES, on_card
from tests.support.supervision import AnyWeightFiles, run


def story(**kwargs):
    """Run the decorated scenario on one card."""

    def wrap(scenario):
        def test():
            run(on_card(**kwargs), scenario)

        test.__doc__ = scenario.__doc__
        return test

    return wrap


async def gone(world, name):
    """Its child has been evicted."""
    evicting = asyncio.create_task(world.supervisor.evict(name))
    await world.clock.advance(1.0)
    assert evicting.result() == [name]


@story()
async def test_what_fits_beside_the_others_loads_at_once(world):
    """Two of three share the card; nobody leaves."""
    for name in ("a", "b"):
        (await world.lease(name)).release()
    assert [world.state(name) for name in NAMES] == ["serving", "serving", None]
    assert world.meter.evictions == []


@story()
async def test_the_longest_idle_leaves_before_its_successor_starts(world):
    """No more than suffices, and the card is free of it when the next one begins."""
    world.children.script = Script(term_takes=3.0)
    for name in ("a", "b"):
        (await world.lease(name)).release()
        await world.clock.advance(1.0)
    third = world.ask("c")
    await world.clock.advance(2.0)
    assert (world.state("a"), len(world.children.spawned)) == ("stopping", 2)
    await world.clock.advance(2.0)
    (await third).release()
    assert [world.state(name) for name in NAMES] == [None, "serving", "serving"]
    assert world.meter.evictions == [("a", "capacity")]


@story(sizes=(10, 10, 20))
async def test_a_busy_model_is_waited_for(world):
    """It never leaves for another (D4); as soon as it rests it does."""
    running = await world.lease("a")
    other = world.ask("c")
    await world.clock.advance(10.0)
    assert (world.state("a"), len(world.children.attempts)) == ("serving", 1)
    running.release()
    await world.clock.advance(5.0)
    (await other).release()
    assert (world.state("a"), world.state("c")) == (None, "serving")


@story(sizes=(10, 10, 20))
async def test_who_waits_for_a_busy_model_in_vain_is_told(world):
    """503 after the wait, and the idle neighbour did not leave for nothing."""
    running = await world.lease("a")
    (await world.lease("b")).release()
    other = world.ask("c", wait=120.0)
    await world.clock.advance(31.0)
    with pytest.raises(Busy) as refused:
        await other
    assert str(refused.value) == teaching.memory_is_busy("c")
    assert world.meter.evictions == []
    running.release()


@story(sizes=(10, 10, 20), limits=Limits(pinned=frozenset({"a"})))
async def test_a_pinned_model_is_neither_sent_away_nor_waited_for(world):
    """Who would need its memory hears at once what is missing."""
    (await world.lease("a")).release()
    other = world.ask("c")
    await world.clock.advance(0.1)
    with pytest.raises(DoesNotFit, match="'c' cannot be loaded"):
        await other
    assert world.state("a") == "serving"


@story(sizes=(10, 10, 300))
async def test_what_will_never_fit_is_refused_before_anybody_leaves(world):
    """With the numbers and what would help, although a place under the cap was free for the taking."""
    for name in ("a", "b"):
        (await world.lease(name)).release()
    other = world.ask("c")
    await world.clock.advance(0.1)
    with pytest.raises(DoesNotFit, match="will never fit here"):
        await other
    assert world.meter.evictions == []
    assert len(world.children.attempts) == 2


@story(sizes=(10, 10, 10), limits=Limits(max_loaded_models=1))
async def test_the_cap_and_the_memory_agree(world):
    """The cap makes room first; memory then needs nobody else to go."""
    for name in NAMES:
        (await world.lease(name)).release()
    assert world.meter.evictions == [("a", "capacity"), ("b", "capacity")]


@story(sizes=(14, 14, 1))
async def test_two_loads_at_once_never_get_the_same_bytes(world):
    """The second waits until the first has what it was promised, and then for it to rest."""
    world.children.next("a", Script(ready_after=20))
    first, second = world.ask("a"), world.ask("b")
    await world.clock.advance(0.5)
    assert [key for _, key in world.children.attempts] == ["a"]
    await world.clock.advance(10.0)
    running = await first
    assert [key for _, key in world.children.attempts] == ["a"]
    running.release()
    await world.clock.advance(5.0)
    (await second).release()
    assert world.children.most_alive == 1


@story(sizes=(14, 14, 1))
async def test_the_engine_may_take_more_than_was_planned(world):
    """A serving child is charged what it uses: the small one no longer fits beside it, and the large one leaves."""
    world.children.appetites["a"] = Measured(GIB, 0, (("CUDA0", 23 * GIB),))
    (await world.lease("a")).release()
    (await world.lease("c")).release()
    assert (world.state("a"), world.state("c")) == (None, "serving")


@story(sizes=(10, 10, 1))
async def test_other_programs_are_not_waited_for(world):
    """What holds the card is none of ours: the refusal comes at once and says how much is free."""
    world.census.others = 23 * GIB
    asked = world.ask("a")
    await world.clock.advance(0.1)
    with pytest.raises(DoesNotFit, match="are free"):
        await asked


@story(sizes=(10, 10, 1), a={"ctx": 256})
async def test_what_fitted_before_is_named_where_memory_is_short_only_now(world):
    """With its settings and its size: what changed is the machine and not the configuration."""
    lease = await world.lease("a")
    size = world.view("a").planned
    lease.release()
    await gone(world, "a")
    world.census.others = 23 * GIB
    asked = world.ask("a")
    await world.clock.advance(0.1)
    with pytest.raises(DoesNotFit, match="are free") as refused:
        await asked
    said = f"loaded before with ctx = 256, slots = 1 and a cache of f16 / f16 (keys / values), and took {size / GIB:.2f} GiB"
    assert said in str(refused.value)


@story(sizes=(20, 10, 20))
async def test_what_fitted_before_is_named_to_who_waited_in_vain(world):
    """A busy neighbour holds what it had."""
    (await world.lease("c")).release()
    await gone(world, "c")
    running = await world.lease("a")
    other = world.ask("c", wait=120.0)
    await world.clock.advance(31.0)
    with pytest.raises(Busy) as refused:
        await other
    assert str(refused.value).startswith(teaching.memory_is_busy("c"))
    assert "It was loaded before with ctx = " in str(refused.value)
    assert refused.value.retry_after > 0
    running.release()


@story(sizes=(10, 10, 20))
async def test_what_will_never_fit_again_is_not_advised(world):
    """The configuration has changed: what it was before is no help."""
    (await world.lease("a")).release()
    await gone(world, "a")
    world.files.shapes["/models/a.gguf"] = heavy_shape(300 * GIB)
    asked = world.ask("a")
    await world.clock.advance(0.1)
    with pytest.raises(DoesNotFit) as refused:
        await asked
    assert "before" not in str(refused.value)


@story(sizes=(10, 10, 300), limits=Limits(spawn_mem_guard=False))
async def test_the_guard_can_be_switched_off(world):
    """Then a load that cannot fit is tried, and nobody leaves for it."""
    (await world.lease("a")).release()
    (await world.lease("c")).release()
    assert [world.state(name) for name in NAMES] == ["serving", None, "serving"]
    assert world.meter.evictions == []


@story(sizes=(10, 10, 20), limits=Limits(spawn_mem_guard=False))
async def test_without_the_guard_idle_models_leave_and_busy_ones_are_not_waited_for(world):
    """What is switched off is the refusal, not the room that can be made."""
    (await world.lease("a")).release()
    (await world.lease("c")).release()
    assert world.state("a") is None
    running = await world.lease("c")
    (await world.lease("b")).release()
    assert world.state("c") == "serving"
    running.release()


@story(limits=Limits(spawn_mem_guard=False), a={"devices": ["CUDA7"]})
async def test_what_the_engine_would_refuse_is_refused_in_any_case(world):
    """A device that is not there is a mistake of the configuration, whatever the guard says."""
    asked = world.ask("a")
    await world.clock.advance(0.1)
    with pytest.raises(Malformed, match="CUDA7"):
        await asked
    assert not world.children.attempts


@story()
async def test_a_running_model_is_never_judged_again(world):
    """A full card is no reason to refuse those whose model is there."""
    (await world.lease("a")).release()
    world.census.others = 24 * GIB
    readings = world.census.readings
    (await world.lease("a")).release()
    world.supervisor.try_lease("a").release()
    assert world.census.readings == readings


@story()
async def test_the_census_is_asked_anew_when_somebody_comes_or_goes(world):
    """What accelerators have free is remembered otherwise."""
    (await world.lease("a")).release()
    loaded = world.census.invalidations
    assert loaded > 0
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    assert await evicting == ["a"]
    assert world.census.invalidations > loaded


@story()
async def test_ps_shows_what_was_planned_and_what_is_used(world):
    """The plan's sum, the child's own measure, and its part on the card."""
    (await world.lease("a")).release()
    view = world.view("a")
    assert view.planned == pytest.approx(10 * GIB, rel=0.02)
    assert (view.measured, view.devices) == (11 * GIB, (("CUDA0", 10 * GIB),))


@story()
async def test_a_load_that_is_called_off_gives_its_promise_back(world):
    """An eviction while it loads: the next one finds the card empty."""
    world.children.next("a", Script(ready_after=None))
    asked = world.ask("a")
    await world.clock.advance(1.0)
    (tenant,) = world.supervisor.tenants()
    assert dict(tenant.promised)["CUDA0"] >= 10 * GIB
    assert tenant.idle_since is None
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(1.0)
    assert await evicting == ["a"]
    assert world.supervisor.tenants() == ()
    with pytest.raises(Busy):
        await asked


@story()
async def test_a_load_that_fails_gives_its_promise_back(world):
    """A program that cannot be started, and one that dies as it loads: the next one finds the card empty."""
    for script in (Script(fails_to_start="no such program"), Script(dies_after=1, ready_after=None)):
        world.children.next("a", script)
        asked = world.ask("a")
        await world.clock.advance(30.0)
        with pytest.raises(Fault):
            await asked
        assert world.supervisor.tenants() == ()
    (await world.lease("c")).release()
    assert world.state("c") == "serving"


@story()
async def test_a_request_that_gives_up_while_its_model_loads_keeps_no_promise_for_ever(world):
    """The load goes on and ends; then it is charged what it uses, and nothing more."""
    world.children.next("a", Script(ready_after=20))
    asked = world.ask("a")
    await world.clock.advance(0.3)
    assert dict(world.supervisor.tenants()[0].promised)
    asked.cancel()
    await world.clock.advance(30.0)
    assert [dict(tenant.promised) for tenant in world.supervisor.tenants()] in ([], [{}])


@story()
async def test_a_daemon_that_stops_takes_its_promises_back(world):
    """Of a child that loads, and of one whose program has not even started."""
    world.children.next("a", Script(ready_after=None))
    world.children.next("b", Script(spawn_takes=50.0))
    asked = [world.ask(name) for name in ("a", "b")]
    await world.clock.advance(1.0)
    assert len(world.supervisor.tenants()) == 2
    closing = asyncio.create_task(world.supervisor.aclose())
    await world.clock.advance(120.0)
    await closing
    assert world.supervisor.tenants() == ()
    for one in asked:
        with pytest.raises(BlazarError):
            await one


@story()
async def test_who_is_charged_what(world):
    """While it loads its promise by device, the host's part among them; once it serves, nothing but what it uses."""
    (await world.lease("a")).release()
    (tenant,) = world.supervisor.tenants()
    assert (tenant.key, tenant.pid, tenant.promised) == ("a", world.children.of("a").pid, ())
    assert tenant.idle_since is not None
    assert world.supervisor.tenants("a") == ()
    world.children.next("b", Script(ready_after=50))
    other = world.ask("b")
    await world.clock.advance(0.3)
    promised = dict(world.supervisor.tenants("a")[0].promised)
    assert set(promised) == {HOST, "CUDA0"}
    await world.clock.advance(20.0)
    (await other).release()


def a_launch():
    """A launch that nobody has counted."""
    plan = LaunchPlan("a", "a", EngineKind.LLAMACPP, "b1", ("llama-server",))
    return Launch(plan, a_model("a"), an_engine(), 180.0)


def test_a_look_that_is_no_longer_true_is_taken_again():
    """Somebody got ready while it was taken: what he was promised and what is free were not of one moment."""
    clock, looks = FakeClock(), []
    loading = Tenant("x", 7, None, False, False, Measured(), ((HOST, 1),), "tenure")
    phases = iter(
        [loading, loading._replace(promised=()), loading._replace(promised=()), loading._replace(promised=())]
    )

    def replan(launch, tenants):
        looks.append([bool(one.promised) for one in tenants])
        return Look(launch)

    async def blocking(work):
        return work()

    admit = Admission(clock, lambda _: (next(phases),), replan, lambda _: None, clock.sleep, blocking)
    launch = a_launch()
    assert asyncio.run(admit(launch)) is launch
    assert looks == [[True], [False]]


def test_what_nobody_can_count_has_the_guard_alone():
    """Half of the weights and a margin must be free; switched off, nothing is asked."""
    sizing = Sizing(AnyWeightFiles(), FakeCensus(a_machine(available=GIB)))
    heavy = a_launch()._replace(plan=a_launch().plan._replace(weights=4 * GIB))
    look = judge(heavy, (), sizing, guard=True)
    assert str(look.refusal) == teaching.not_enough_memory("a", 2 * GIB + 512 * 2**20, GIB)
    assert not look.evict
    assert not look.later
    assert judge(heavy, (), sizing, guard=False).refusal is None
