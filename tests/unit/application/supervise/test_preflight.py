"""Workers of a child, asked before it starts."""

import asyncio

import pytest

from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.workers import State, Worker
from blazar.application.supervise.preflight import Preflight
from blazar.application.supervise.surroundings import Launch, Limits
from blazar.domain import teaching
from blazar.domain.argv import Decision
from blazar.domain.errors import Busy, Malformed
from blazar.domain.kinds import EngineKind
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.fakes.workers import FakeWorkers
from tests.support.supervision import story

ONE, TWO = "10.0.0.2:50052", "10.0.0.3:50052"
SAID = {"rpc_servers": f"{ONE},{TWO}"}
GONE = Worker(TWO, State.ABSENT, "Connection refused")


def planned(*, words: str = SAID["rpc_servers"]) -> Launch:
    """One that is told of these workers."""
    told = Decision(("--rpc", words), "rpc_servers", "")
    plan = LaunchPlan("a", "a", EngineKind.LLAMACPP, "b11434", ("llama-server", *told.words), decisions=(told,))
    return Launch(plan, a_model("a"), an_engine(), 180.0, workers=words)


def ask(workers: FakeWorkers | None, of: Launch, *, last: bool = True, sees: bool | None = None) -> None:
    async def seen(_: Launch) -> bool | None:
        return sees

    asyncio.run(Preflight(workers, seen)(of, last=last))


def test_a_child_without_workers_asks_nobody():
    """Nor does one whose workers nobody can ask."""
    workers = FakeWorkers()
    ask(workers, planned()._replace(workers=""))
    ask(None, planned())
    assert workers.asked == []


@pytest.mark.parametrize("last", [False, True])
def test_a_dead_worker_refuses_the_load(last):
    """With its address and the reason, and how to start one; it may be there soon."""
    with pytest.raises(Busy) as caught:
        ask(FakeWorkers(GONE), planned(), last=last)
    dead = [teaching.worker_absent(TWO, "Connection refused")]
    assert str(caught.value) == teaching.workers_absent("a", "rpc_servers", dead)


@pytest.mark.parametrize("last", [False, True])
def test_what_is_no_worker_refuses_the_load(last):
    """No waiting helps: the key is wrong, or the release."""
    with pytest.raises(Malformed) as caught:
        ask(FakeWorkers(Worker(ONE, State.STRANGE)), planned(), last=last)
    assert (str(caught.value), caught.value.field) == (
        teaching.workers_strange("a", "rpc_servers", [ONE]),
        "rpc_servers",
    )


def test_a_silent_worker_counts_once_everybody_has_left():
    """Before that it may be busy with the very model that leaves for this one."""
    workers = FakeWorkers(Worker(ONE, State.SILENT))
    ask(workers, planned(), last=False)
    with pytest.raises(Busy) as caught:
        ask(workers, planned())
    assert str(caught.value) == teaching.workers_silent("a", "rpc_servers", [ONE])


def test_workers_that_the_build_cannot_use_refuse_the_load():
    """They speak another version of the protocol: the build itself is the judge, and only a plain no counts."""
    for sees in (True, None):
        ask(FakeWorkers(), planned(), sees=sees)
    ask(FakeWorkers(), planned(), last=False, sees=False)
    with pytest.raises(Malformed) as caught:
        ask(FakeWorkers(), planned(), sees=False)
    spoken = [teaching.worker_speaks(ONE, "7.0.0"), teaching.worker_speaks(TWO, "7.0.0")]
    assert str(caught.value) == teaching.workers_unlike("a", "rpc_servers", "b11434", spoken)


def test_a_worker_that_is_named_twice_is_asked_once():
    """It serves one connection at a time."""
    workers = FakeWorkers()
    ask(workers, planned(words=f"{ONE},{ONE}"))
    assert workers.asked == [(ONE,)]


# In the middle of a load


@story(a=SAID)
async def test_a_load_is_refused_before_anybody_leaves_for_it(world):
    """No child is started, and no breaker opens: the next request asks again."""
    world.workers.found[TWO] = GONE
    with pytest.raises(Busy, match=TWO):
        await world.lease("a")
    assert world.children.attempts == []
    assert world.view() is None
    del world.workers.found[TWO]
    (await world.lease("a")).release()


@story(a=SAID)
async def test_workers_are_asked_twice(world):
    """Before anybody leaves, and right before the spawn: waiting for room may take a while."""
    (await world.lease("a")).release()
    assert world.workers.asked == [(ONE, TWO)] * 2
    (await world.lease("a")).release()
    (await world.lease("b")).release()
    assert len(world.workers.asked) == 2


@story(a=SAID, limits=Limits(max_loaded_models=1))
async def test_a_worker_that_stays_silent_refuses_the_spawn(world):
    """Only after whoever had to leave is gone, for that one may have used it."""
    (await world.lease("b")).release()
    world.workers.found[ONE] = Worker(ONE, State.SILENT)
    with pytest.raises(Busy, match="one engine at a time"):
        await world.lease("a")
    assert world.state("b") is None  # it had to leave for that to be known
    world.workers.found.clear()
    (await world.lease("a")).release()
