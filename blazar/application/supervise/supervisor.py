"""The set of instances: names, leases, explicit wishes, shutdown. Decides no state of a child; each one has a task for that.

`try_lease` is the hot path: one dictionary look-up by the name exactly as it was asked for. That dictionary is emptied when
the catalog changes, which is looked at once a second and never per request.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from typing import Any

from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.children import Children
from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.ports.telemetry import Events, Meter
from blazar.application.ports.weights import WeightFiles
from blazar.application.ports.workers import Workers
from blazar.application.supervise.admission import Admission, Look, hopeless_by, judge
from blazar.application.supervise.capacity import Capacity
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.front import Front
from blazar.application.supervise.hinting import Resident
from blazar.application.supervise.instance import Instance
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.lease import ChildLease
from blazar.application.supervise.leasing import Ask, Leasing
from blazar.application.supervise.messages import Evict, StopIfIdle
from blazar.application.supervise.preflight import Preflight
from blazar.application.supervise.review import by_former, outdated, plan_once, reread
from blazar.application.supervise.surroundings import Launch, Limits, Surroundings
from blazar.application.supervise.viewing import occupant_of, tenant_of, view_of
from blazar.application.supervise.views import InstanceView, Supervising
from blazar.domain import teaching
from blazar.domain.admission.work import ORDINARY, Work
from blazar.domain.errors import BlazarError, Busy, Forbidden, Malformed, ModelNotFound, NotFound
from blazar.domain.fit.verdict import Verdict
from blazar.domain.instance.eviction import Occupant
from blazar.domain.instance.machine import GONE, State
from blazar.domain.kinds import EngineKind, Task, Weights
from blazar.domain.names import near, parse_ref, resolve
from blazar.domain.records import Model
from blazar.domain.row_names import meant, not_one, row_named

CATALOG_CHECK_SECS = 1.0
NAMED = 3
"""Models that a refusal names: enough to go on with, and one line."""
MOST_SPELLINGS = 4096
"""Names as asked that are remembered; beyond it all are looked up anew, so that inventive clients cost no memory."""

Blocking = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs what may block (a driver, an engine's `--help`, a network file system) where it does not hold up the loop."""


@dataclass(slots=True)
class Supervisor(Leasing, Supervising):
    """See `Leasing` and `Supervising`."""

    catalog: ModelCatalog
    files: WeightFiles
    planner: LaunchPlanner
    children: Children
    clock: Clock
    hardware: HardwareCensus
    meter: Meter
    events: Events
    limits: Limits = field(default_factory=Limits)
    blocking: Blocking = asyncio.to_thread
    workers: Workers | None = None
    _instances: dict[str, Instance] = field(default_factory=dict, init=False)
    _fast: dict[str, Front] = field(default_factory=dict, init=False)
    _revision: int = field(default=-1, init=False)
    _timer: Timer | None = field(default=None, init=False)
    _active: dict[EngineKind, str] | None = field(default=None, init=False)  # None: nobody has looked yet
    _closing: bool = field(default=False, init=False)
    _capacity: Capacity = field(init=False)
    _around: Surroundings = field(init=False)

    def __post_init__(self) -> None:
        self._capacity = Capacity(self.clock, self.limits.max_loaded_models, self._occupants, self._stop_if_idle)
        admission = Admission(
            self.clock,
            self.tenants,
            self._look,
            partial(self._stop_if_idle, cause="capacity"),
            self._capacity.next_change,
            self._off_the_loop,
            self._fitted,
        )
        self._around = Surroundings(
            clock=self.clock,
            children=self.children,
            meter=self.meter,
            events=self.events,
            limits=self.limits,
            prepare=self._prepare,
            claim=self._capacity.claim,
            admit=admission,
            preflight=Preflight(self.workers, self._sees_workers),
            changed=self._changed,
            review=self._review,
            task=self.planner.task,
            detour=self.planner.detour,
            adopt=self._adopt,
            grows=self._grows,
        )

    async def start(self) -> None:
        """Begin to watch the catalog. Loads nothing."""
        self._revision = self.catalog.revision()
        self._active = self._active_builds()
        self._timer = self.clock.call_later(CATALOG_CHECK_SECS, self._on_second)

    async def aclose(self, drain: float | None = None) -> None:
        """No new lease; drain and stop every child, all at the same time; nothing is left when it returns."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._fast.clear()
        limit = self.limits.drain_secs if drain is None else drain
        while instances := list(self._instances.values()):
            await asyncio.gather(*(instance.aclose(limit) for instance in instances))
            for instance in instances:
                self._forget(instance)

    # Leasing

    def try_lease(self, model: str, task: Task = Task.CHAT, work: Work = ORDINARY) -> ChildLease | None:
        front = self._fast.get(model)
        return None if front is None or not front.task.serves(task) else front.try_take(work)

    def check(self, ask: Ask) -> None:
        self._checked(ask)

    def _checked(self, ask: Ask) -> Instance:
        instance = self._instance_for(ask.model, ask.allowed)
        if ask.allowed is not None and instance.key not in self._meant(ask.allowed):
            raise Forbidden(teaching.key_not_for_model(ask.key, ask.model, ask.allowed))
        if ask.charge is not None:
            ask.charge()
        served = instance.front.task
        if not served.serves(ask.task):
            why = _wrong_task(instance.model, served, ask.task)
            raise Malformed(_and_others(why, self._able(ask.task, ask.allowed)), "model")
        return instance

    async def lease(self, ask: Ask) -> ChildLease:
        instance = self._checked(ask)
        if ask.tools:
            await self._check_tools(instance, ask.allowed)
        if ask.vision:
            await self._check_sight(instance, ask.allowed)
        lease = await instance.acquire(ask)
        try:
            self._still_may(ask, instance)
        except BlazarError:
            lease.hand_back(ask.work)
            raise
        return lease

    def _still_may(self, ask: Ask, instance: Instance) -> None:
        """Its key may have gone, or changed, while it waited: raises what a request would hear that comes now."""
        if ask.scope is not None and (models := ask.scope()) and instance.key not in self._meant(models):
            raise Forbidden(teaching.key_not_for_model(ask.key, ask.model, models))

    # Supervising

    def views(self) -> list[InstanceView]:
        return [view_of(one) for _, one in sorted(self._instances.items()) if one.state not in GONE]

    async def load(self, model: str, keep_alive: float | None = None) -> InstanceView:
        wanted = parse_ref(model)
        instance = self._instance_for(wanted.model)
        if wanted.replica is not None:
            raise Malformed(teaching.one_child_only(model, wanted.model), "model")
        if wanted.vision:
            await self._check_sight(instance)
        await instance.until_ready(vision=wanted.vision)
        if keep_alive is not None:
            instance.front.stay(keep_alive)
        return view_of(instance)

    async def evict(self, ref: str, *, force: bool = False, cause: str = "asked") -> list[str]:
        wanted = parse_ref(ref)
        rows = self.catalog.list_models()
        name = resolve(meant(wanted.model, rows), {*self._instances, *(row.name for row in rows)})
        if name not in self._instances and self.catalog.find_model(name) is None:
            raise not_one(wanted.model, rows)
        children = [
            one
            for one in self._instances.values()
            if parse_ref(one.key).model == name and wanted.replica in (None, parse_ref(one.key).replica)
        ]
        message = Evict(cause, force=force, limit=self.limits.drain_secs, vision=wanted.vision)
        gone = await asyncio.gather(*(one.evict(message) for one in children))
        return sorted(one.key for one, was_there in zip(children, gone, strict=True) if was_there)

    def reset(self) -> list[str]:
        return sorted(one.key for one in self._instances.values() if one.reset())

    async def reconfigure(self, limits: Limits) -> None:
        """The configuration has changed: its numbers hold from now on, and children that it means otherwise go when idle."""
        self.limits = self._around.limits = limits
        self._capacity.bound(limits.max_loaded_models)
        for instance in self._instances.values():
            instance.front.rearm()
            instance.sight.forget()  # what failed may have been mended
            if instance.tenure is None:
                instance.front.task = self.planner.task(instance.model)
        await asyncio.gather(*(self._review(key) for key in list(self._instances)))
        self._capacity.changed()  # those that go for what they were told leave room, too

    # Names

    def _meant(self, spellings: Collection[str]) -> set[str]:
        """The rows that a key's list means: its owner may spell them as callers do."""
        rows = self.catalog.list_models()
        return {meant(spelling, rows) for spelling in spellings}

    def _names(self) -> list[str]:
        return [model.name for model in self.catalog.list_models()]

    def _instance_for(self, asked: str, allowed: Collection[str] | None = None) -> Instance:
        """The instance of an existing model, made when it is asked for the first time. A scoped key hears of no other names."""
        if self._closing:
            raise Busy(teaching.shutting_down())
        self.look_at_catalog()
        model = self.catalog.find_model(asked)
        if model is None:
            rows = self.catalog.list_models()
            model = row_named(asked, rows)
            if model is None:
                raise not_one(asked, rows, None if allowed is None else self._meant(allowed))
        instance = self._instances.get(model.name)
        if instance is None:
            instance = Instance(model, self.planner.task(model), self._around, self._forget)
            self._instances[model.name] = instance
        if len(self._fast) >= MOST_SPELLINGS:
            self._fast.clear()
        self._fast[asked] = instance.front
        return instance

    def _forget(self, instance: Instance) -> None:
        if self._instances.get(instance.key) is instance:
            del self._instances[instance.key]
        self._fast.clear()

    def _on_second(self) -> None:
        self._timer = self.clock.call_later(CATALOG_CHECK_SECS, self._on_second)
        self.look_at_catalog()

    def look_at_catalog(self) -> None:
        """After a change by anybody: names are looked up anew, and children of rows that are gone or replaced must go."""
        revision = self.catalog.revision()
        if revision == self._revision:
            return
        self._revision = revision
        self._fast.clear()
        self._look_at_engines()
        for instance in list(self._instances.values()):
            row = self.catalog.find_model(instance.key)
            if row == instance.model:
                continue
            if row is None:
                instance.dismiss("removed", self.limits.drain_secs)
            elif _laid_out(row) != _laid_out(instance.model):
                instance.dismiss("replaced", inf)  # policy cuts nobody off (D4)
            if row is not None:
                instance.model, instance.front.task = row, self.planner.task(row)

    async def look_at_files(self) -> None:
        """Behind a pull: the catalog, and children that read a file which is another one by now, an adapter say."""
        self.look_at_catalog()
        for instance in list(self._instances.values()):
            tenure = instance.tenure
            launch = tenure.launch if tenure is not None else None
            if launch is None or not launch.read:
                continue
            changed = await self.blocking(partial(reread, self.planner, launch))
            if changed and instance.tenure is tenure:
                instance.dismiss("replaced", inf)

    def _look_at_engines(self) -> None:
        """Children keep the build that they were started with; what the next ones get is news."""
        before, self._active = self._active, self._active_builds()
        if before is None:  # what is there at the first look is no news, whoever looks first
            return
        for kind in sorted(before.keys() | self._active.keys()):
            if before.get(kind) != self._active.get(kind):
                was, now = before.get(kind, ""), self._active.get(kind, "")
                self.events.emit("engine_changed", lane=str(kind), engine=now, was=was)

    def _active_builds(self) -> dict[EngineKind, str]:
        return {engine.kind: engine.tag for engine in self.planner.engines.list_engines() if engine.active}

    # What instances ask of us

    def _able(self, task: Task, allowed: Collection[str] | None) -> Iterator[Model]:
        """The models that can be asked for that, of those that its key may use."""
        meant = None if allowed is None else self._meant(allowed)
        for model in self.catalog.list_models():
            if (meant is None or model.name in meant) and self.planner.task(model).serves(task):
                yield model

    async def _check_tools(self, instance: Instance, allowed: Collection[str] | None) -> None:
        """Before anything is loaded: raises where the model would never see the tools."""
        toolless = self.planner.toolless
        if await self.blocking(partial(toolless, instance.model)):
            why = teaching.template_has_no_tools(instance.model.name)
            raise Malformed(await self._with_others(why, lambda one: not toolless(one), allowed), "tools")

    async def _with_others(self, why: str, can: Callable[[Model], bool], allowed: Collection[str] | None) -> str:
        """A refusal of a chat, with models that would not refuse: their files are read for it."""
        chats = list(self._able(Task.CHAT, allowed))
        said: str = await self.blocking(lambda: _and_others(why, filter(can, chats)))
        return said

    async def _check_sight(self, instance: Instance, allowed: Collection[str] | None = None) -> None:
        """Before a child that serves text makes room for pictures: raises why the next one would not take any, or would not fit.

        Advice: what holds when its successor is planned, and what that one has become, decide (`Instance.acquire`).
        """
        if instance.sees:
            return
        launch = await self._prepare(instance.key, 0, vision=True)
        if launch.blind:
            raise Malformed(await self._with_others(launch.blind, self.planner.takes_pictures, allowed), "model")
        look: Look = await self.blocking(partial(self._look, launch, self.tenants(), gone={instance.key}))
        if look.refusal is not None and not look.evict and not look.later:
            raise look.refusal

    async def _prepare(self, key: str, ctx: int, vision: bool = False) -> Launch:
        """The plan as the catalog is now: a row that went away or was replaced while somebody waited is noticed here."""
        while True:
            model = self._row(key)
            launch: Launch = await self.blocking(partial(self._plan, model, key, ctx, vision=vision))
            if self._row(key) == model:
                if (hopeless := hopeless_by(launch, guard=self.limits.spawn_mem_guard)) is not None:
                    raise by_former(self.planner, hopeless)
                return launch

    def _row(self, key: str) -> Model:
        model = self.catalog.find_model(key)
        if model is None:
            raise ModelNotFound(key, near(key, self._names()))
        return model

    def _plan(self, model: Model, key: str, ctx: int, *, vision: bool) -> Launch:
        """In a thread: reads files, asks the drivers, and runs a build that was never asked for its flags."""
        if (path := self.files.missing(model.files)) is not None:
            raise NotFound(teaching.model_file_gone(key, path))
        return plan_once(self.planner, model, key, ctx, vision=vision)

    async def _review(self, key: str) -> None:
        """Whether its child still is what the configuration means. One that loads is looked at when it is ready."""
        instance = self._instances.get(key)
        tenure = instance.tenure if instance is not None else None
        while instance is not None and tenure is not None and tenure.launch is not None and tenure.ready_at is not None:
            settings = self.planner.settings_for(instance.model.name)
            if settings == tenure.launch.settings and not tenure.launch.read:
                stale = False
            else:
                stale = await self.blocking(partial(outdated, self.planner, tenure.launch, settings))
            if instance.tenure is not tenure:
                return
            if settings == self.planner.settings_for(instance.model.name):  # not changed again meanwhile
                instance.front.outdate(stale)
                return

    def _adopt(self, key: str, slots: int) -> None:
        self.planner.adopted[key] = slots

    async def _grows(self, key: str) -> bool:
        """Whether its next child would take more at once, if this one were gone."""
        instance = self._instances.get(key)
        tenure = instance.tenure if instance is not None else None
        if tenure is None or tenure.launch is None:
            return False
        slots: int = await self.blocking(partial(self._slots_alone, tenure.launch, self.tenants()))
        return slots > tenure.launch.plan.slots

    def _slots_alone(self, launch: Launch, tenants: tuple[Tenant, ...]) -> int:
        """In a thread, like planning; 0 where it would not fit."""
        key, sizing = launch.plan.key, self.planner.sizing
        sizing.forget(lists=False)
        usage = sizing.usage(tenants, gone={key})
        with suppress(BlazarError):
            fresh = plan_once(self.planner, launch.model, key, launch.wish, usage, vision=launch.vision)
            return fresh.plan.slots if fresh.verdict is not None and fresh.verdict.fits else 0
        return 0

    def residents(self) -> list[Resident]:
        """The children that serve."""
        serving = (one for one in self._instances.values() if one.state is State.SERVING)
        return [
            Resident(one.tenure, one.front.idle_since if one.front.line.idle else None)
            for one in serving
            if one.tenure is not None
        ]

    def tenants(self, key: str = "") -> tuple[Tenant, ...]:
        """Who, beside `key`, has memory or was promised some."""
        pinned = self.limits.pinned
        others = (one for one in self._instances.values() if one.key != key)
        found = (tenant_of(one, pinned=one.key in pinned) for one in others)
        return tuple(one for one in found if one is not None)

    def _look(self, launch: Launch, tenants: tuple[Tenant, ...], gone: Collection[str] = ()) -> Look:
        """In a thread, like planning: `launch` again, as the machine is now, or will be once `gone` are."""
        self.planner.sizing.forget(lists=bool(tenants))
        usage = self.planner.sizing.usage(tenants, gone=gone)
        vision = launch.vision
        fresh = plan_once(self.planner, launch.model, launch.plan.key, launch.wish, usage, vision=vision)
        return judge(fresh, tenants, self.planner.sizing, guard=self.limits.spawn_mem_guard)

    async def _sees_workers(self, launch: Launch) -> bool | None:
        """What was planned for them has seen them; else the build is asked once more: they may have come since."""
        if launch.sized is None:
            return None
        if any(device.kind == "rpc" for device in launch.sized.machine.devices):
            return True
        sees = partial(self.planner.sizing.sees_workers, launch.engine, launch.workers)
        seen: bool | None = await self.blocking(sees)
        return seen

    def _fitted(self, key: str) -> Verdict | None:
        return self._instances[key].fitted if key in self._instances else None

    async def _off_the_loop(self, work: Callable[[], Any]) -> Any:
        return await self.blocking(work)

    def _changed(self) -> None:
        self.planner.sizing.forget()
        self._capacity.changed()

    def _occupants(self) -> list[Occupant]:
        pinned = self.limits.pinned
        found = (occupant_of(one, pinned=one.key in pinned) for one in self._instances.values())
        return [one for one in found if one is not None]

    def _stop_if_idle(self, key: str, cause: str) -> None:
        if (instance := self._instances.get(key)) is not None:
            instance.post(StopIfIdle(cause))


def _laid_out(row: Model) -> tuple[object, ...]:
    """What its child reads: a draft that came later is none that it knows."""
    return row.files, row.digest, row.draft, row.components


def _and_others(why: str, able: Iterator[Model]) -> str:
    """A refusal, with a few models that would not refuse."""
    named = [model.name for model in islice(able, NAMED)]
    return teaching.others_can(why, named) if named else why


def _wrong_task(model: Model, served: Task, asked: Task) -> str:
    """Why this model cannot do what is asked, and what can: nothing is started for it (the contract's gate in both directions)."""
    if served is Task.IMAGE:
        return teaching.draws_pictures(model.name)
    if served is Task.RERANK:
        return teaching.reranker_only_ranks(model.name)
    if asked is Task.RERANK:
        return teaching.not_a_reranker(model.name)
    if asked is Task.IMAGE:
        say = teaching.embedder_draws_nothing if served is Task.EMBED else teaching.text_draws_nothing
        return say(model.name)
    if asked is Task.EMBED and model.weights is Weights.MLX_QUANT:
        return teaching.kind_makes_no_embeddings(model.name, "mlx-lm")
    return teaching.not_an_embedder(model.name) if asked is Task.EMBED else teaching.embedder_cannot_chat(model.name)
