"""A death over an unknown architecture: remembered, gone round once, told with the way out."""

import asyncio

import pytest

from blazar.application.supervise.rerouting import LAST_WORDS, Lacks
from blazar.domain import teaching
from blazar.domain.errors import ArchitectureUnserved, Busy, SpawnFailed
from blazar.domain.kinds import EngineKind, Provenance, Weights
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import FakeCensus
from tests.support.supervision import a_planner, story

SAID = ("loading", "E llama_model_load: error loading model: unknown model architecture: 'newarch'", "exiting")
DIES = Script(dies_after=2, says=SAID)
NEW = a_model("a", arch="newarch", ctx_train=8192)
FORK = an_engine("fork-1", provenance=Provenance.FORK, architectures=("newarch",))
SECOND = an_engine("fork-2", provenance=Provenance.FORK, architectures=("newarch",), installed_at=1.0)


def refused(tags, died=("b11434",), curated=()):
    """The sentence of the 502."""
    return teaching.architecture_unserved("newarch", list(died), list(tags), curated)


# What is remembered


def test_only_the_architecture_of_the_model_is_remembered():
    """A draft that the engine does not know, or another death, says nothing about the build."""
    lacks, build = Lacks(), an_engine()
    assert not lacks.note(build, NEW, ["CUDA error: out of memory"])
    assert not lacks.note(build, NEW, ["unknown model architecture: 'draft'"])
    assert lacks.tags(NEW, [build]) == frozenset()
    assert lacks.note(build, NEW, SAID)
    assert lacks.tags(NEW, [build, FORK]) == {"b11434"}
    assert lacks.tags(a_model("b", arch="newarch"), [build]) == {"b11434"}
    assert lacks.tags(a_model("b"), [build]) == frozenset()


def test_a_build_that_was_installed_anew_is_another_one():
    """Whatever its tag."""
    lacks = Lacks()
    lacks.note(an_engine(), NEW, SAID)
    assert lacks.tags(NEW, [an_engine(installed_at=5.0)]) == frozenset()


def test_a_model_whose_files_do_not_say_its_architecture_keeps_what_the_engine_called_it():
    """For that model alone: others may have another one."""
    lacks, build, silent = Lacks(), an_engine(), a_model("silent", arch="")
    assert lacks.note(build, silent, SAID)
    assert (lacks.named(silent), lacks.named(a_model("other", arch=""))) == ("newarch", "")
    assert lacks.tags(a_model("other", arch=""), [build]) == frozenset()


def test_enough_lines_are_read():
    """The real llama-server says it six lines before the end, SGLang before the tracebacks of its parent."""
    assert LAST_WORDS > 100


def test_a_detour_within_the_planner():
    """The build that advertises it, else none; the sentence names the registry's lanes for the architecture."""
    asked = []

    def curated(arch):
        asked.append(arch)
        return ["new-lane"]

    planner = a_planner(FakeCensus(), {}, engines=MemoryEngineCatalog([an_engine()]), curated=curated)
    launch = planner.plan(NEW)
    assert asked == []  # nobody asks a registry before something is lacking
    assert planner.detour(launch, ["exiting"]) is None
    detour = planner.detour(launch, SAID)
    assert detour is not None
    assert detour.to is None
    assert str(detour.error) == refused(["b11434"], curated=["new-lane"])
    assert set(asked) == {"newarch"}
    planner.engines.add_engine(FORK)
    again = planner.detour(launch, SAID)
    assert again is not None
    assert again.to is not None
    assert again.to.tag == "fork-1"


# What happens


@story(models=[NEW])
async def test_who_waits_is_served_by_the_fork_that_knows_it(world):
    """Once round, without an error, without a blemish for the breaker; the next load goes there at once."""
    world.planner.engines.add_engine(FORK)
    world.children.next("a", DIES)
    asking = [world.ask("a") for _ in range(3)]
    await world.clock.advance(1.0)
    for one in asking:  # they have one slot between them
        assert one.done()
        (await one).release()
        await world.clock.settle()
    assert [child.plan.tag for child in world.children.spawned] == ["b11434", "fork-1"]
    assert world.told("rerouted") == [{"model": "a", "engine": "fork-1", "was": "b11434"}]
    assert (world.meter.crashes, world.told("failed")) == ([], [])
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    assert await evicting == ["a"]
    (await world.lease("a")).release()
    assert [child.plan.tag for child in world.children.spawned] == ["b11434", "fork-1", "fork-1"]


@story(models=[NEW])
async def test_without_an_advertiser_the_refusal_is_bounded(world):
    """One child is tried; after that nothing is started, however often it is asked, and the breaker stays closed."""
    world.children.script = DIES
    for _ in range(6):
        with pytest.raises(ArchitectureUnserved) as caught:
            await world.lease("a")
        assert str(caught.value) == refused(["b11434"])
    assert len(world.children.attempts) == 1
    assert world.supervisor.reset() == []
    assert world.told("rerouted") == []
    world.planner.engines.add_engine(FORK)
    world.children.script = Script()
    (await world.lease("a")).release()
    assert world.children.of("a").plan.tag == "fork-1"


@story(models=[NEW])
async def test_there_is_one_detour_and_no_more(world):
    """A fork that dies of it as well is the end for those who wait, although a third build says that it could."""
    for fork in (FORK, SECOND):
        world.planner.engines.add_engine(fork)
    world.children.next("a", DIES, DIES)
    with pytest.raises(ArchitectureUnserved) as caught:
        await world.lease("a")
    assert str(caught.value) == refused(["b11434", "fork-1", "fork-2"], ["b11434", "fork-1"])
    assert [child.plan.tag for child in world.children.spawned] == ["b11434", "fork-1"]
    (await world.lease("a")).release()
    assert world.children.of("a").plan.tag == "fork-2"


@story(models=[NEW])
async def test_another_death_of_the_fork_is_an_ordinary_one(world):
    """It says why, and counts."""
    world.planner.engines.add_engine(FORK)
    world.children.next("a", DIES, Script(dies_after=1, says=("out of memory",)))
    with pytest.raises(SpawnFailed) as caught:
        await world.lease("a")
    assert str(caught.value) == teaching.child_died_loading("a", "exit code 1", ["out of memory"])
    assert world.meter.crashes == ["a"]


@story(models=[NEW, a_model("b", arch="newarch")])
async def test_what_one_model_taught_holds_for_its_kin(world):
    """The second model of that architecture never starts the build that cannot load it."""
    world.planner.engines.add_engine(FORK)
    world.children.next("a", DIES)
    (await world.lease("a")).release()
    (await world.lease("b")).release()
    assert [child.plan.tag for child in world.children.spawned] == ["b11434", "fork-1", "fork-1"]


@story(models=[NEW], a={"engine": "b11434"})
async def test_a_pin_is_not_gone_round(world):
    """What a person insists on is said to be unable."""
    world.planner.engines.add_engine(FORK)
    world.children.script = DIES
    for _ in range(2):
        with pytest.raises(ArchitectureUnserved):
            await world.lease("a")
    assert len(world.children.attempts) == 1


@story(models=[NEW])
async def test_nobody_waits_any_more(world):
    """The detour is not taken for its own sake, and the next load has its own."""
    world.planner.engines.add_engine(FORK)
    world.children.next("a", DIES._replace(dies_after=10))
    asking = world.ask("a")
    await world.clock.advance(0.1)
    asking.cancel()
    await world.clock.advance(20.0)
    assert len(world.children.attempts) == 1
    assert world.state("a") is None
    (await world.lease("a")).release()
    assert world.children.of("a").plan.tag == "fork-1"


@story(models=[NEW])
async def test_an_eviction_is_stronger_than_a_detour(world):
    """Who is evicted while the first build dies is told that, and no child is left behind."""
    world.planner.engines.add_engine(FORK)
    world.children.next("a", DIES._replace(dies_after=3))
    asking = world.ask("a")
    await world.clock.advance(0.03)
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(20.0)
    await evicting
    with pytest.raises(Busy):
        await asking


@story(models=[a_model("a", weights=Weights.SAFETENSORS, arch="XForCausalLM")])
async def test_other_formats_take_the_same_way(world):
    """From SGLang to the mistral.rs that lists the type: one says the class, the other the type."""
    driver = next(iter(world.planner.drivers.values()))
    world.planner.drivers[EngineKind.SGLANG] = driver
    world.planner.drivers[EngineKind.MISTRALRS] = driver
    world.planner.engines.add_engine(an_engine("s1", kind=EngineKind.SGLANG))
    world.planner.engines.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS, architectures=("XForCausalLM",)))
    row = world.catalog.find_model("a")
    launch = world.planner.plan(row)
    assert launch.engine.tag == "s1"
    said = ["ValueError: Model architectures ['XForCausalLM'] are not supported for now. Supported architectures: []"]
    detour = world.planner.detour(launch, said)
    assert detour.to.tag == "m1"
