"""Whether a running child would be told something else by another configuration."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.supervise.review import outdated, plan_once, reread
from blazar.application.supervise.surroundings import Launch, Limits
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Task
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.fakes.hardware import GIB, FakeCensus, a_machine
from tests.fakes.weights import heavy_shape
from tests.support.supervision import AnyWeightFiles, a_config, a_planner, story

MODEL = a_model("m", ctx_train=8192)


def launched(census: FakeCensus, files: AnyWeightFiles, **said: Any) -> tuple[Any, Launch]:
    """A planner and what it planned for `m` with these settings."""
    planner = a_planner(census, {"m": said}, files)
    return planner, plan_once(planner, MODEL, "m")


def test_a_refusal_by_a_former_configuration_says_so() -> None:
    """A file that cannot be used leaves the old values in force: else a value is cited that stands in it no more."""
    said, drivers = {"m": {"extra_args": ["--port", "1"]}}, {LLAMACPP.kind: LLAMACPP}
    with pytest.raises(Malformed) as plain:
        plan_once(a_planner(FakeCensus(), said, drivers=drivers), MODEL, "m")
    with pytest.raises(Malformed) as caught:
        plan_once(a_planner(FakeCensus(), said, drivers=drivers, refused=lambda: ("line 3: bad",)), MODEL, "m")
    assert str(caught.value) == teaching.by_former_configuration(str(plain.value))
    assert caught.value.field == "extra_args"


def test_what_no_flag_says_is_no_change() -> None:
    """Settings that differ and words that do not."""
    planner, launch = launched(FakeCensus(), AnyWeightFiles(), ctx=1024)
    assert launch.settings["ctx"] == 1024
    assert not outdated(planner, launch, launch.settings)
    assert not outdated(planner, launch, {**launch.settings, "default_ctx": 2048})
    assert outdated(planner, launch, {**launch.settings, "ctx": 2048})
    assert outdated(planner, launch, {**launch.settings, "engine_env": {"A": "1"}})


def test_another_file_at_the_same_path_is_a_change() -> None:
    """An adapter that was pulled anew, a template that was edited; of what children write themselves nothing follows."""
    files, stamps = AnyWeightFiles(), {"/l/a.gguf": "1", "/t.jinja": "1", "/lookup": "1"}
    files.stamp = lambda path: stamps.get(path, "")  # type: ignore[method-assign] # files that are written anew
    words = ("--chat-template-file", "/t.jinja", "--lookup-cache-dynamic", "/lookup")
    said, drivers = {"loras": ["/l/a.gguf:0.5"], "extra_args": list(words)}, {LLAMACPP.kind: LLAMACPP}
    planner = a_planner(FakeCensus(), {"m": said}, files, drivers=drivers)
    launch = plan_once(planner, MODEL, "m")
    assert dict(launch.read) == {"/l/a.gguf": "1", "/t.jinja": "1"}
    stamps["/lookup"] = "2"
    assert not reread(planner, launch)
    for path in ("/l/a.gguf", "/t.jinja"):
        stamps[path] = "2"
        assert reread(planner, launch)
        assert outdated(planner, launch, launch.settings)
        stamps[path] = "1"
    assert not outdated(planner, launch, launch.settings)


def test_a_default_that_is_used_is_a_change() -> None:
    """The window that nobody chose comes from it."""
    planner, launch = launched(FakeCensus(), AnyWeightFiles())
    assert outdated(planner, launch, {**launch.settings, "default_ctx": 2048})


def test_free_memory_is_no_configuration() -> None:
    """The plan would be another one by now; under the same circumstances it is not."""
    census, files = FakeCensus(a_machine(ram=64 * GIB, available=64 * GIB)), AnyWeightFiles()
    files.every = heavy_shape(20 * GIB)
    planner, launch = launched(census, files)
    census.machine = a_machine(ram=64 * GIB, available=21 * GIB)
    census.invalidate()
    later = plan_once(planner, MODEL, "m")
    assert later.sized is not None
    assert launch.sized is not None
    assert later.sized.machine != launch.sized.machine
    assert not outdated(planner, launch, {**launch.settings, "spawn_mem_guard": False})
    assert outdated(planner, launch, {**launch.settings, "ctx": 256})


def test_a_window_that_requests_widened_is_no_change() -> None:
    """It was planned with their wish, and is compared with it."""
    planner = a_planner(FakeCensus(), {"m": {"ctx": 1024}})
    launch = plan_once(planner, MODEL, "m", 4096)
    assert (launch.wish, launch.plan.ctx) == (4096, 4096)
    assert not outdated(planner, launch, {**launch.settings, "spawn_mem_guard": False})
    assert not outdated(planner, launch, {**launch.settings, "ctx": 2048}), "the wish is larger than both"
    assert outdated(planner, launch, {**launch.settings, "ctx": 8192})


def test_a_configuration_that_would_be_refused_is_a_change() -> None:
    """Its next child would not start: that is for the next request to hear, not for a restart to find."""
    planner, launch = launched(FakeCensus(), AnyWeightFiles())
    assert outdated(planner, launch, {**launch.settings, "extra_args": ("--host", "0.0.0.0")})
    assert outdated(planner, launch, {**launch.settings, "engine": "none-such"})


def test_one_plan_is_of_one_configuration() -> None:
    """A reload while it is planned must not mix two."""
    base = a_planner(FakeCensus(), {})
    asked: list[str] = []
    small, large = (a_config({"m": {"ctx": ctx, "slots": slots}}) for ctx, slots in ((512, 1), (1024, 2)))

    def changing(name: str) -> dict[str, Any]:
        asked.append(name)
        return (small if len(asked) == 1 else large).settings_for(name)

    launch = plan_once(replace(base, settings_for=changing), MODEL, "m")
    assert (launch.plan.ctx, launch.plan.slots, launch.settings["ctx"]) == (512, 1, 512)
    assert asked == ["m"]


_UNRELATED = st.fixed_dictionaries(
    {},
    optional={
        "cors_origins": st.lists(st.sampled_from(["https://a.example", "*"]), max_size=2, unique=True),
        "max_loaded_models": st.integers(0, 5),
        "log_level": st.sampled_from(["info", "debug"]),
        "idle_timeout_secs": st.integers(1, 9999),
        "audit_log": st.booleans(),
    },
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_UNRELATED, st.integers(256, 4096), st.integers(2, 60))
def test_unrelated_changes_evict_nothing(changes: dict[str, Any], ctx: int, free: int) -> None:
    """Another model's override, keys of the gateway, other free memory: the same child (property)."""
    census = FakeCensus(a_machine(ram=64 * GIB, available=64 * GIB))
    planner, launch = launched(census, AnyWeightFiles(), ctx=2048)
    census.machine = a_machine(ram=64 * GIB, available=free * GIB)
    changed = a_config({"m": {"ctx": 2048}, "other": {"ctx": ctx}, "all": changes})
    assert not outdated(planner, launch, changed.settings_for("m"))


# Through the whole of supervision


async def until_gone(world: Any, key: str = "a") -> None:
    """As long as a stop takes."""
    for _ in range(100):
        await world.clock.advance(0.05)
        if world.view(key) is None:
            return


@story(a={"ctx": 1024})
async def test_an_idle_child_makes_room_for_its_successor(world):
    """Evicted with the cause, and the next request starts the new one; others keep their process."""
    (await world.lease("a")).release()
    (await world.lease("b")).release()
    stays = world.children.of("b").pid
    await world.configure(a={"ctx": 2048})
    await until_gone(world)
    assert world.told("evicted") == [{"model": "a", "cause": "reload"}]
    assert world.view("b").pid == stays
    lease = await world.lease("a")
    assert lease.ctx == 2048
    lease.release()
    assert len(world.children.spawned) == 3


@story(a={"ctx": 1024, "slots": 2})
async def test_a_busy_child_is_left_alone_until_it_rests(world):
    """Policy never evicts a busy one (D4); others are still served by it, and `ps` says that it will go."""
    lease = await world.lease("a")
    await world.configure(a={"ctx": 2048, "slots": 2})
    await world.clock.advance(20)
    assert world.state() == "serving"
    assert world.view().notes[-1] == teaching.child_outdated()
    second = world.supervisor.try_lease("a")
    lease.release()
    await world.clock.advance(1)
    assert world.state() == "serving"
    second.release()
    await until_gone(world)
    assert world.told("evicted") == [{"model": "a", "cause": "reload"}]


@story(a={"ctx": 1024})
async def test_a_change_that_is_taken_back_saves_the_child(world):
    """It is compared with what it was started with, not with the file before."""
    lease = await world.lease("a")
    await world.configure(a={"ctx": 2048})
    await world.configure(a={"ctx": 1024})
    lease.release()
    await world.clock.advance(60)
    assert (world.state(), world.view().notes) == ("serving", ())
    assert world.told("evicted") == []


@story(a={"ctx": 1024, "pin": True})
async def test_a_pin_does_not_keep_an_old_configuration(world):
    """It protects from others that need the room."""
    (await world.lease("a")).release()
    await world.configure(a={"ctx": 2048, "pin": True})
    await until_gone(world)
    assert [facts["cause"] for facts in world.told("evicted")] == ["reload"]


@story(a={"ctx": 1024})
async def test_a_child_that_loads_is_looked_at_when_it_is_ready(world):
    """Who waits for it is served; then it goes. Five edits while it loads start one more child (case G7)."""
    world.children.next("a", Script(spawn_takes=5.0))
    waiting = world.ask("a")
    await world.clock.advance(1)
    for ctx in (256, 512, 2048, 4096, 2048):
        await world.configure(a={"ctx": ctx})
    await world.clock.advance(10)
    lease = await waiting
    assert lease.ctx == 1024
    lease.release()
    await until_gone(world)
    again = await world.lease("a")
    assert again.ctx == 2048
    again.release()
    assert len(world.children.spawned) == 2


@story(a={"ctx": 1024})
async def test_another_task_holds_for_the_next_child(world):
    """Embedding requests must not reach a child that was started to chat."""
    lease = await world.lease("a")
    await world.configure(a={"ctx": 1024, "embeddings": True}, b={"embeddings": True})
    assert world.supervisor.try_lease("a", Task.EMBED) is None
    with pytest.raises(Exception, match="embed"):
        await world.lease("a", task=Task.EMBED)
    lease.release()
    await until_gone(world)
    for model in ("a", "b"):
        (await world.lease(model, task=Task.EMBED)).release()


@story(limits=Limits(max_loaded_models=3, idle_timeout_secs=1000))
async def test_the_numbers_hold_at_once(world):
    """The idle time of children that rest already, and the cap of models for the next one that wants in."""
    for model in ("a", "b"):
        (await world.lease(model)).release()
        await world.clock.advance(5)
    await world.configure(Limits(max_loaded_models=2, idle_timeout_secs=1000))
    assert {view.key for view in world.supervisor.views()} == {"a", "b"}
    (await world.lease("c")).release()
    assert {view.key for view in world.supervisor.views()} == {"b", "c"}
    await world.configure(Limits(max_loaded_models=2, idle_timeout_secs=4))
    await until_gone(world, "b")
    assert world.told("evicted")[-1] == {"model": "b", "cause": "idle"}
    await world.clock.advance(10)
    assert world.supervisor.views() == []


@story(a={"ctx": 1024})
async def test_a_child_under_steady_load_makes_room_all_the_same(world):
    """It never rests: after as long as an eviction drains, new requests wait for its successor, and none is cut off (D4)."""
    lease, answers = await world.lease("a"), 0
    first = world.children.of("a").pid
    await world.configure(a={"ctx": 2048})
    for _ in range(50):  # there is always one more before the last one ends
        await world.clock.advance(0.5)
        following = world.ask("a")
        await world.clock.settle()
        lease.release()
        lease = await following
        answers += 1
    assert world.children.of("a").pid == first
    await world.clock.advance(10)
    waiting = [world.ask("a"), world.ask("a")]
    await world.clock.advance(10)
    assert not any(ask.done() for ask in waiting)
    assert world.children.of("a").signals == []
    assert world.supervisor.try_lease("a") is None
    lease.release()
    await world.clock.advance(5)
    after = await waiting[0]
    assert (after.ctx, world.children.of("a").pid != first, answers) == (2048, True, 50)
    assert world.told("evicted") == [{"model": "a", "cause": "reload"}]
    after.release()
    (await waiting[1]).release()


@story(a={"ctx": 1024, "slots": 2})
async def test_nobody_is_refused_for_a_change_of_the_configuration(world):
    """A long answer runs on: who has waited as long as it may gets the old child, and the next attempt comes later."""
    long = await world.lease("a")
    pid = world.children.of("a").pid
    await world.configure(a={"ctx": 2048, "slots": 2})
    await world.clock.advance(31)
    waiting = world.ask("a")
    await world.clock.advance(1)
    assert not waiting.done()
    await world.clock.advance(200)
    lease = await waiting
    assert (lease.ctx, world.children.of("a").pid) == (1024, pid)
    lease.release()
    await world.clock.advance(40)
    assert world.supervisor.try_lease("a") is None
    long.release()
    await until_gone(world)
    assert world.told("evicted") == [{"model": "a", "cause": "reload"}]


@story(a={"ctx": 1024, "slots": 2})
async def test_a_change_that_is_taken_back_lets_everybody_in(world):
    """Who was kept waiting is served at once, by the child that is right again."""
    long = await world.lease("a")
    await world.configure(a={"ctx": 2048, "slots": 2})
    await world.clock.advance(31)
    waiting = world.ask("a")
    await world.clock.settle()
    assert not waiting.done()
    await world.configure(a={"ctx": 1024, "slots": 2})
    await world.clock.settle()
    (await waiting).release()
    await world.clock.advance(60)
    world.supervisor.try_lease("a").release()
    long.release()
    await world.clock.advance(1)
    assert world.state() == "serving"
