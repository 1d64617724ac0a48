"""Processes that exist only on paper, with whatever manners a test gives them."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from blazar.application.ports.children import Child, Children, LaunchPlan, Measured, Orphan
from blazar.application.ports.clock import Clock
from blazar.domain import teaching
from blazar.domain.errors import SpawnFailed
from tests.fakes.upstream import FakeUpstream

TERM, KILL = 15, 9


class Script(NamedTuple):
    """How one child behaves. `ready_after` polls it is ready (None: never); `dies_after` polls it is dead instead."""

    ready_after: int | None = 1
    dies_after: int | None = None
    status: int = 1  # of a death of its own
    on_term: int = 0  # exit status for TERM
    terms_needed: int | None = 1  # None: ignores TERM
    term_takes: float = 0.0
    killable: bool = True
    moves: bool = True  # says something between polls
    says: tuple[str, ...] = ()
    fails_to_start: str = ""
    poll_hangs: bool = False
    spawn_hangs: bool = False
    spawn_takes: float = 0.0
    slots: int = 0  # that it says it has


class FakeChild(Child):
    """One process on paper."""

    def __init__(self, plan: LaunchPlan, pid: int, script: Script, clock: Clock) -> None:
        self.plan, self.pid, self.script = plan, pid, script
        self.port = 0 if plan.socket else 40_000 + pid
        self.argv = plan.words
        self.upstream = FakeUpstream(plan.model)
        self.signals: list[tuple[float, int]] = []
        self.hung_up_first = True  # our connections were closed before the first signal (D31)
        self.polls = 0
        self.uses = Measured(1_000_000)  # once it is ready; until then a part that grows
        self.closed = 0
        self._clock = clock
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def alive(self) -> bool:
        return not self._exit.done()

    def die(self, status: int = -9) -> None:
        """End it from outside, as the kernel would."""
        if self.alive:
            self._exit.set_result(status)

    def signal(self, number: int) -> None:
        if not self.alive:
            return
        self.hung_up_first = self.hung_up_first and self.upstream.closed
        self.signals.append((self._clock.now(), number))
        if number == KILL:
            if self.script.killable:
                self.die(-KILL)
            return
        terms = sum(sent == TERM for _, sent in self.signals)
        if self.script.terms_needed is not None and terms >= self.script.terms_needed:
            self._clock.call_later(self.script.term_takes, lambda: self.die(self.script.on_term))

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def is_ready(self) -> bool:
        self.polls += 1
        if self.script.poll_hangs:
            await asyncio.get_running_loop().create_future()
        if self.script.dies_after is not None:
            if self.polls >= self.script.dies_after:
                self.die(self.script.status)
            return False
        return self.alive and self.script.ready_after is not None and self.polls >= self.script.ready_after

    async def slots(self) -> int:
        return self.script.slots

    def progress(self) -> int:
        return self.polls if self.script.moves else 0

    def last_lines(self, count: int = 5) -> Sequence[str]:
        return self.script.says[-count:]

    def memory(self) -> Measured:
        if not self.alive:
            return Measured()
        return _part(self.uses, min(1.0, self.polls / (self.script.ready_after or 100)))

    async def aclose(self) -> None:
        assert not self.alive, "buried alive"
        self.closed += 1
        await self.upstream.aclose()


def _part(whole: Measured, share: float) -> Measured:
    devices = tuple((device, int(size * share)) for device, size in whole.devices)
    return Measured(int(whole.resident * share), int(whole.mapped * share), devices, whole.buffers)


class FakeChildren(Children):
    """`scripts` are consumed per key, oldest first; then `script` holds for everybody. `appetites` is what a key's child uses."""

    def __init__(self, clock: Clock, script: Script | None = None) -> None:
        self.clock = clock
        self.script = script or Script()
        self.scripts: dict[str, list[Script]] = {}
        self.spawned: list[FakeChild] = []
        self.attempts: list[tuple[float, str]] = []
        self.left: list[Orphan] = []
        self.reaped: list[Orphan] = []
        self.most_alive = 0
        self.appetites: dict[str, Measured] = {}

    def next(self, key: str, *scripts: Script) -> None:
        """How the next children of `key` behave."""
        self.scripts.setdefault(key, []).extend(scripts)

    @property
    def alive(self) -> list[FakeChild]:
        return [child for child in self.spawned if child.alive]

    def of(self, key: str) -> FakeChild:
        """The newest child of `key`."""
        return next(child for child in reversed(self.spawned) if child.plan.key == key)

    async def spawn(self, plan: LaunchPlan) -> FakeChild:
        self.attempts.append((self.clock.now(), plan.key))
        scripts = self.scripts.get(plan.key)
        script = scripts.pop(0) if scripts else self.script
        if script.spawn_hangs:
            await asyncio.get_running_loop().create_future()
        if script.spawn_takes:
            await self.clock.sleep(script.spawn_takes)
        if script.fails_to_start:
            raise SpawnFailed(teaching.spawn_failed(plan.model, script.fails_to_start))
        rivals = [child for child in self.spawned if child.plan.key == plan.key and not child.closed]
        assert not [rival for rival in rivals if rival.script.killable], "two children of one key"
        child = FakeChild(plan, 1000 + len(self.spawned), script, self.clock)
        child.uses = self.appetites.get(plan.key, child.uses)
        self.spawned.append(child)
        self.most_alive = max(self.most_alive, len(self.alive))
        return child

    def orphans(self) -> list[Orphan]:
        return list(self.left)

    async def reap(self, orphan: Orphan) -> None:
        self.left.remove(orphan)
        self.reaped.append(orphan)
