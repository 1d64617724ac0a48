"""What every starter of children must do, on paper and with real processes."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.children import Child, Children, LaunchPlan
from blazar.composition.daemon import connect
from blazar.domain.errors import SpawnFailed
from blazar.domain.kinds import EngineKind
from blazar.domain.socket_paths import socket_path
from tests.fakes.children import FakeChildren, Script
from tests.support.engine import LoopClock, RealEntropy, stub_model, stub_server


class Case(NamedTuple):
    """`plan(manners)` is a plan for a child of that kind: good, stubborn (ignores TERM), loading, doomed, missing."""

    children: Children
    plan: Callable[[str], LaunchPlan]


def with_processes(folder: Path, socket: bool = False) -> Case:
    run_dir = folder / "run"
    run_dir.mkdir()
    children = SubprocessChildren(
        run_dir,
        LoopClock(),
        RealEntropy(),
        connect,
        {EngineKind.LLAMACPP: LLAMACPP},
        processes=SystemProcesses(),
    )
    program = stub_server(folder)
    switches = {"stubborn": {"ignore_term": 1}, "loading": {"load_secs": 600}, "doomed": {"oom": 1}}

    def plan(manners: str) -> LaunchPlan:
        model = stub_model(folder / f"{manners}.gguf", **switches.get(manners, {}))
        words = ("/nothing/here" if manners == "missing" else str(program), "--model", str(model), "--alias", "m")
        at = socket_path(str(run_dir), "m") if socket else ""
        return LaunchPlan("m", "m", EngineKind.LLAMACPP, "b1", words, socket=at, auth=not socket)

    return Case(children, plan)


def with_sockets(folder: Path) -> Case:
    """The same processes behind socket files, without keys."""
    return with_processes(folder, socket=True)


def on_paper(_: Path) -> Case:
    children = FakeChildren(LoopClock())
    scripts = {
        "stubborn": Script(terms_needed=None),
        "loading": Script(ready_after=None),
        "doomed": Script(ready_after=None, dies_after=1, status=1, says=("loading", "CUDA error: out of memory")),
        "missing": Script(fails_to_start="there is nothing"),
    }

    def plan(manners: str) -> LaunchPlan:
        children.next("m", scripts.get(manners, Script()))
        return LaunchPlan("m", "m", EngineKind.LLAMACPP, "b1", ("engine",))

    return Case(children, plan)


@pytest.fixture(params=[on_paper, with_processes, with_sockets], ids=["paper", "process", "socket"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Case]:
    return lambda: request.param(tmp_path)


def run(make: Callable[[], Case], scenario: Callable[[Case], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(make()), 60)

    asyncio.run(bounded())


async def ready(child: Child) -> None:
    while not await child.is_ready():
        await asyncio.sleep(0.01)


async def buried(child: Child, number: int = signal.SIGTERM) -> int:
    child.signal(number)
    status = await child.wait()
    await child.aclose()
    return status


def test_a_life_from_spawn_to_burial(make: Callable[[], Case]) -> None:
    """Spawned, ready, stopped by TERM with status 0; everything may be asked of the dead."""

    async def scenario(case: Case) -> None:
        child = await case.children.spawn(case.plan("good"))
        await ready(child)
        assert child.pid > 0
        socket = child.argv[-1].endswith(".sock")
        assert (child.port == 0) if socket else (child.port > 0)
        assert child.argv
        assert child.memory().total > 0
        assert await buried(child) == 0
        assert await child.wait() == 0
        child.signal(signal.SIGKILL)
        assert not await child.is_ready()
        assert child.memory().total == 0
        child.progress()
        child.last_lines()
        await child.aclose()

    run(make, scenario)


def test_a_key_may_be_spawned_again_after_burial(make: Callable[[], Case]) -> None:
    """A second child of the same key is a process of its own."""

    async def scenario(case: Case) -> None:
        first = await case.children.spawn(case.plan("good"))
        assert await buried(first, signal.SIGKILL) == -signal.SIGKILL
        second = await case.children.spawn(case.plan("good"))
        assert second.pid != first.pid
        await ready(second)
        assert await buried(second) == 0

    run(make, scenario)


def test_loading_is_not_ready_but_moves(make: Callable[[], Case]) -> None:
    """While it loads it is not ready, and its progress number grows."""

    async def scenario(case: Case) -> None:
        child = await case.children.spawn(case.plan("loading"))
        seen = child.progress()
        while child.progress() <= seen:
            assert not await child.is_ready()
            await asyncio.sleep(0.01)
        assert await buried(child, signal.SIGKILL) == -signal.SIGKILL

    run(make, scenario)


def test_the_stubborn_yield_to_kill(make: Callable[[], Case]) -> None:
    """TERM may be ignored, KILL may not; the status says which signal it was."""

    async def scenario(case: Case) -> None:
        child = await case.children.spawn(case.plan("stubborn"))
        await ready(child)
        child.signal(signal.SIGTERM)
        await asyncio.sleep(0)
        assert await buried(child, signal.SIGKILL) == -signal.SIGKILL

    run(make, scenario)


def test_a_death_while_loading_leaves_its_words(make: Callable[[], Case]) -> None:
    """Its status is its own and its last line is kept, the newest last (G28)."""

    async def scenario(case: Case) -> None:
        child = await case.children.spawn(case.plan("doomed"))
        ended = asyncio.ensure_future(child.wait())
        while not ended.done():
            assert not await child.is_ready()
            await asyncio.sleep(0.01)
        assert await ended == 1
        assert list(child.last_lines(1)) == ["CUDA error: out of memory"]
        await child.aclose()

    run(make, scenario)


def test_what_cannot_be_started_is_refused_at_once(make: Callable[[], Case]) -> None:
    """SpawnFailed, with a reason; nothing to bury."""

    async def scenario(case: Case) -> None:
        with pytest.raises(SpawnFailed, match="there is no"):
            await case.children.spawn(case.plan("missing"))
        assert case.children.orphans() == []

    run(make, scenario)
