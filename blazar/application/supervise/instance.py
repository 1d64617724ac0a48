"""One child's owner: an asyncio task with an inbox. Only this task starts, stops and buries the child; others send messages.

Reading `state` to display or to rank is fine, reading it to decide whether to start a child is a bug: the answer is stale
when you act. What follows from an event stands in `domain.instance.machine`; this file carries the effects out.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar

from blazar.application.supervise.front import Front
from blazar.application.supervise.lease import ChildLease
from blazar.application.supervise.leasing import Ask
from blazar.application.supervise.messages import (
    Check,
    DrainOver,
    Emptied,
    Evict,
    Grow,
    Quit,
    Reshape,
    Sick,
    StopIfIdle,
    Want,
)
from blazar.application.supervise.surroundings import Surroundings
from blazar.application.supervise.tenure import Broke, Exited, Lost, NotStarted, Ready, Started, Tenure, exit_text
from blazar.application.supervise.waiting import settle
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, ChildDied, Malformed, SpawnFailed
from blazar.domain.instance.breaker import Breaker
from blazar.domain.instance.machine import GONE, STALL_SECS, Effect, Event, State, step
from blazar.domain.instance.sight import Sight
from blazar.domain.instance.window import WindowWish
from blazar.domain.kinds import Task
from blazar.domain.records import Model

if TYPE_CHECKING:
    from blazar.application.ports.clock import Timer
    from blazar.domain.fit.verdict import Verdict

CHECK_SECS = 1.0
"""How often a load is asked whether it moves: a stall is noticed at most this much late."""


class Instance:
    """One key's child, and the children that follow it."""

    def __init__(self, model: Model, task: Task, around: Surroundings, on_broken: Callable[["Instance"], None]) -> None:
        self.model = model
        self.key = model.name
        self.state = State.COLD
        self.tenure: Tenure | None = None
        self.last_error = ""
        self.fitted: Verdict | None = None  # what its last child that served was planned with
        self.front = Front(self.key, task, around, self.post)
        self.breaker = Breaker()
        self._around = around
        self._clock = around.clock
        self._on_broken = on_broken
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._error: BlazarError | None = None
        self._detoured = False  # another build was tried for the architecture, since somebody last got an answer
        self.sight = Sight()
        self._window = WindowWish()
        self._timers: dict[str, Timer] = {}
        self._drain_until = math.inf
        self._leavers: list[asyncio.Future[bool]] = []
        self._doomed: list[tuple[asyncio.Future[Tenure], BlazarError]] = []
        self._lost: list[Tenure] = []
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"instance {self.key}")
        self._task.add_done_callback(self._on_task_done)

    # Called by other tasks: messages, and the line

    def post(self, message: Any) -> None:
        self._inbox.put_nowait(message)

    async def acquire(self, ask: Ask) -> ChildLease:
        """A slot of a child that serves, whatever it takes."""
        if ask.num_ctx:
            self._widen(ask.num_ctx)
        if ask.vision:
            self._see()
        if ask.tell_depth is not None:
            ask.tell_depth(self.front.line.waiting)
        lease = await self.front.acquire(ask.work, vision=ask.vision)
        if ask.vision and lease.blind:  # configuration or files changed while it waited
            lease.hand_back(ask.work)
            raise Malformed(lease.blind, "model")
        return lease

    async def until_ready(self, *, vision: bool = False) -> None:
        """Wait for a child that serves, and with `vision` for one that takes pictures."""
        if vision:
            self._see()
        tenure = await self.front.until_ready(vision=vision)
        if vision and tenure.launch is not None and tenure.launch.blind:
            raise Malformed(tenure.launch.blind, "model")

    @property
    def has_projector(self) -> bool:
        """Whether its child was told of a projector, or will be."""
        tenure = self.tenure
        return tenure is not None and (tenure.launch.projector if tenure.launch is not None else tenure.vision)

    @property
    def sees(self) -> bool:
        """Whether there is a child that takes pictures, or one that will; advice only."""
        tenure = self.tenure
        return tenure is not None and (not tenure.launch.blind if tenure.launch is not None else tenure.vision)

    async def evict(self, message: Evict) -> bool:
        """Whether there was a child; returns when it is gone."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._task.done():
            return False
        self.post(message._replace(done=done))
        return await done

    def dismiss(self, cause: str, limit: float) -> None:
        """Its row is gone or another: from this moment on nobody gets the child. What it runs has `limit` seconds to end."""
        self.front.close()
        self.post(Evict(cause, limit=limit))

    def reset(self) -> bool:
        """Close the breaker; whether it was open."""
        was_open = self.breaker.reset()
        self.sight.forget()
        self._cancel("retry")
        self.post(Want())
        return was_open

    async def aclose(self, drain: float) -> None:
        """No new request, no new child; drain, stop, end the task."""
        self.front.shut(Busy(teaching.shutting_down()))
        await self.evict(Evict("shutdown", force=drain <= 0, limit=drain))
        self.post(Quit())
        await asyncio.gather(self._task, return_exceptions=True)
        for tenure in self._lost:
            await tenure.aclose()

    def _widen(self, num_ctx: int) -> None:
        """Remember a larger window; a smaller one never costs a load (case B8)."""
        tenure = self.tenure
        launch = tenure.launch if tenure is not None else None
        have = launch.plan.ctx if launch is not None else 0
        if not self._window.widen(num_ctx, self.model.ctx_train, have) or tenure is None:
            return
        if launch is None:
            tenure.wish = self._window.ctx  # it is being planned: a second load is spared
        else:
            self.front.close()  # at once, else the very request that asks would still get the small window
            self.post(Reshape())

    def _see(self) -> None:
        """A child that takes pictures is wanted: the one that does not makes room once what it runs has ended (D4).

        Nothing is remembered beyond the child: its successor is planned for whoever waits then. Raises while the last one that was
        started with a projector is known to have failed over it.
        """
        tenure = self.tenure
        launch = tenure.launch if tenure is not None else None
        if launch is not None and not launch.blind:
            return
        if (failed := self.sight.refusal(self._clock.now())) is not None:
            raise failed
        if tenure is None or tenure.vision:
            return  # the next one is planned for us; or this one was, and got none
        if launch is None:
            tenure.vision = True  # it is being planned: a second load is spared
        else:
            tenure.stale = True
            self.front.close()  # at once, else the picture would go to the child that cannot take it
            self.post(Reshape())

    # The task

    async def _run(self) -> None:
        while not isinstance(message := await self._inbox.get(), Quit):
            await self._HANDLERS[type(message)](self, message)

    async def _step(self, event: Event) -> None:
        follows = step(self.state, event)
        self.state = follows.to
        for effect in follows.effects:
            if (work := self._EFFECTS[effect](self)) is not None:
                await work
        if self.state in GONE:
            self._end()

    async def _on_want(self, _: Want) -> None:
        if self.state not in GONE or not self.front.wanted:
            return
        verdict = self.breaker.verdict(self._clock.now())
        if verdict.open:
            self.front.fail(Busy(teaching.breaker_open(self.key, verdict.wait), verdict.wait))
        elif verdict.wait > 0:
            self._later("retry", verdict.wait, Want())
        else:
            await self._step(Event.WANTED)

    async def _on_started(self, message: Started) -> None:
        if self.state is State.STOPPING:
            message.tenure.climb()

    async def _on_ready(self, message: Ready) -> None:
        if message.tenure is self.tenure and self.state is State.LOADING:
            if self._outgrown(message.tenure):
                await self._on_reshape(Reshape())  # it overtook its own wish in the inbox
            else:
                await self._step(Event.READY)
                await self._around.review(self.key)

    async def _on_not_started(self, message: NotStarted) -> None:
        self._error = message.error
        self.last_error = str(message.error or "")
        await self._step(Event.UNSTARTED if isinstance(message.error, SpawnFailed) else Event.REFUSED)

    async def _on_check(self, message: Check) -> None:
        tenure = self.tenure
        if tenure is None or message.tenure is not tenure or self.state is not State.LOADING:
            return
        now = self._clock.now()
        progress = tenure.child.progress() if tenure.child is not None else 0
        if tenure.watch is not None and (event := tenure.watch.verdict(progress, now)) is not None:
            why = teaching.load_stalled(self.key, STALL_SECS)
            if tenure.watch.too_slow(now):
                why = teaching.load_too_slow(self.key, tenure.watch.cap)
            self._error, self.last_error, tenure.cause = SpawnFailed(why), why, "load_failed"
            await self._step(event)
        else:
            self._later("check", CHECK_SECS, message)

    async def _on_exited(self, message: Exited) -> None:
        tenure = message.tenure
        if tenure is not self.tenure:
            await tenure.bury()  # one that was lost has ended after all
            self._lost.remove(tenure)
            return
        if self.state is State.LOADING and self._takes_detour(tenure):
            await self._step(Event.REROUTED)
            return
        status, last = exit_text(message.status), tenure.last_lines
        if self.state is State.LOADING:
            self._error = self._error or SpawnFailed(tenure.died_loading(status))
            self.last_error = str(self._error)
        elif self.state is not State.STOPPING:
            self.last_error = str(ChildDied(teaching.child_died(self.key, status, last)))
        await self._step(Event.EXITED)

    def _takes_detour(self, tenure: Tenure) -> bool:
        """Whether another build takes over from one that ended over the architecture: once. Else that is what waiters are told."""
        launch = tenure.launch
        detour = self._around.detour(launch, tenure.last_words) if launch is not None else None
        if launch is None or detour is None:
            return False
        if detour.to is None or self._detoured:
            self._error = detour.error
            return False
        self._detoured = True
        self._around.events.emit("rerouted", model=self.key, engine=detour.to.tag, was=launch.engine.tag)
        return True

    async def _on_lost(self, message: Lost) -> None:
        if message.tenure is not self.tenure or self.state is not State.STOPPING:
            return
        pid = message.tenure.child.pid if message.tenure.child is not None else 0
        self._error = SpawnFailed(teaching.child_lost(self.key, pid))
        self._lost.append(message.tenure)
        self._around.events.emit("child_lost", model=self.key, pid=pid)
        await self._step(Event.LOST)

    async def _on_broke(self, message: Broke) -> None:
        raise message.error

    async def _on_evict(self, message: Evict) -> None:
        self.front.uncall_successor()
        if message.force and (self.has_projector or not message.vision):
            self.front.fail(Busy(teaching.evicted_while_waiting(self.key)))
        tenure = self.tenure
        if tenure is None or self.state in GONE or (message.vision and not self.has_projector):
            if message.done is not None:
                settle(message.done, result=False)
            return
        if message.done is not None:
            self._leavers.append(message.done)
        tenure.cause = tenure.cause or message.cause
        if self.state is State.SERVING and not message.force and self.front.line.busy:
            await self._step(Event.EVICT)
        elif self.state in (State.LOADING, State.SERVING) or (self.state is State.DRAINING and message.force):
            await self._step(Event.STOP)
        if self.state is State.DRAINING:
            self._drain_within(message.limit, tenure)

    async def _on_reshape(self, _: Reshape) -> None:
        tenure = self.tenure
        if tenure is None or not self._outgrown(tenure):
            return
        tenure.cause = tenure.cause or ("vision" if tenure.stale else "num_ctx")
        if self.state is State.SERVING and self.front.line.busy:
            await self._step(Event.EVICT)  # without a limit: policy never cuts a request off
        elif self.state in (State.SERVING, State.LOADING):
            await self._step(Event.STOP)

    def _outgrown(self, tenure: Tenure) -> bool:
        """Whether more was asked for after it was planned. Not the plan alone counts: it may have had to clamp the wish."""
        wider = tenure.launch is not None and self._window.ctx > max(tenure.launch.plan.ctx, tenure.wish)
        return tenure.stale or wider

    async def _on_stop_if_idle(self, message: StopIfIdle) -> None:
        if self.tenure is not None and self.state is State.SERVING and self.front.line.idle:
            self.tenure.cause = message.cause
            await self._step(Event.STOP)

    async def _on_grow(self, message: Grow) -> None:
        ours = message.tenure is self.tenure and self.state is State.SERVING
        if not ours or not await self.front.may_grow():
            return
        if message.crowded:
            self.front.keep_back()
        elif self.front.line.idle:
            message.tenure.cause = "slots"
            self.front.call_successor()
            await self._step(Event.STOP)

    async def _on_sick(self, message: Sick) -> None:
        if message.tenure is not self.tenure or self.state is not State.SERVING:
            return
        message.tenure.cause = "wedged" if message.wedged else "sick"
        self.last_error = (teaching.child_wedged if message.wedged else teaching.child_sick)(self.key)
        await self._step(Event.SICK)
        self._drain_within(self._around.limits.drain_secs, message.tenure)
        await self._on_emptied(Emptied())

    async def _on_emptied(self, _: Emptied) -> None:
        if self.state is State.DRAINING and not self.front.line.busy:
            await self._step(Event.DRAINED)

    async def _on_drain_over(self, message: DrainOver) -> None:
        if message.tenure is self.tenure and self.state is State.DRAINING:
            await self._step(Event.DRAINED)

    # Effects

    def _spawn(self) -> None:
        self.breaker.on_spawn()
        self.tenure = Tenure(self.key, self._around, self.post)
        self.tenure.begin(self._window.ctx, vision=self.front.pictured)
        self._later("check", CHECK_SECS, Check(self.tenure))
        self._around.events.emit("loading", model=self.key)

    def _open(self) -> None:
        tenure = self.tenure
        assert tenure is not None
        assert tenure.launch is not None
        tenure.mark_ready()
        self.fitted = tenure.launch.verdict
        self.last_error, self._detoured = "", False
        self.breaker.on_ready(self._clock.now())
        self._around.meter.on_spawn(self.key, tenure.load_seconds)
        self._around.events.emit("serving", model=self.key, **tenure.told())
        self.front.open(tenure, tenure.slots)
        self._around.changed()  # it has what it was promised: who waits for memory may look again

    def _close(self) -> None:
        self.front.close()

    def _climb(self) -> None:
        assert self.tenure is not None
        self.tenure.climb()

    def _crashed(self) -> None:
        self._around.meter.on_crashed(self.key)
        self._blamed()

    def _blamed(self) -> None:
        now = self._clock.now()
        self.breaker.on_crash(now)
        self._around.events.emit("failed", model=self.key, why=self.last_error)
        if (verdict := self.breaker.verdict(now)).open:
            self._around.events.emit("breaker_open", model=self.key, seconds=verdict.wait)
        if self.tenure is not None and self.tenure.ready_at is None:
            self._window.on_failed_load()
            self._around.adopt(self.key, 0)
            if self.tenure.vision:
                self.sight.on_failed_load(teaching.projector_load_failed(self.key, self.last_error), now)

    def _stopped(self) -> None:
        self.breaker.on_stop()
        cause = self.tenure.cause if self.tenure is not None else ""
        self._around.meter.on_evicted(self.key, cause)
        self._around.events.emit("evicted", model=self.key, cause=cause)

    def _bury(self) -> Awaitable[None]:
        assert self.tenure is not None
        return self.tenure.bury()

    def _fail(self) -> None:
        error, spared = self._failure()
        self._detoured = False
        self.front.fail(error, pictured=spared)

    def _doom(self) -> None:
        error, spared = self._failure()
        self._doomed += [(future, error) for future in self.front.take_waiting(pictured=spared)]

    def _failure(self) -> tuple[BlazarError, bool]:
        """What who waits is told, and whether only who brings a picture: text is served by a child without a projector."""
        error, tenure = self._error or Busy(teaching.evicted_while_waiting(self.key)), self.tenure
        if tenure is None or not tenure.vision or tenure.ready_at is not None or tenure in self._lost:
            return error, False
        return self.sight.refusal(self._clock.now()) or error, True

    def _end(self) -> None:
        """There is no child: whoever waits for that is told, whoever waits for a child wants a new one."""
        self.tenure, self._error, self._drain_until = None, None, math.inf
        for name in ("check", "drain"):
            self._cancel(name)
        self.front.gone()
        self.front.task = self._around.task(self.model)
        leavers, self._leavers = self._leavers, []
        doomed, self._doomed = self._doomed, []
        for leaver in leavers:
            settle(leaver, result=True)
        for future, error in doomed:
            settle(future, error=error)
        self._around.changed()
        if self.front.wanted:
            self.post(Want())
        else:
            self._detoured = False

    # Timers, and our own failure

    def _drain_within(self, seconds: float, tenure: Tenure) -> None:
        """A second wish may shorten a drain, never lengthen it."""
        until = self._clock.now() + seconds
        if until < self._drain_until:
            self._drain_until = until
            self._later("drain", seconds, DrainOver(tenure))

    def _later(self, name: str, seconds: float, message: Any) -> None:
        self._cancel(name)
        self._timers[name] = self._clock.call_later(seconds, lambda: self.post(message))

    def _cancel(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        for name in list(self._timers):
            self._cancel(name)
        if task.cancelled() or (error := task.exception()) is None:
            return
        broken = SpawnFailed(teaching.spawn_failed(self.key, f"{type(error).__name__}: {error}"))
        self._around.events.emit("supervisor_fault", model=self.key, error=repr(error))
        if self.tenure is not None:
            self.tenure.abandon()
        self.state = State.FAILED
        self.front.shut(broken)
        self._end()
        while not self._inbox.empty():
            if isinstance(message := self._inbox.get_nowait(), Evict) and message.done is not None:
                settle(message.done, result=False)
        self._on_broken(self)

    # Who carries out what: the tables below are all there is

    _HANDLERS: ClassVar[dict[type, Callable[["Instance", Any], Awaitable[None]]]] = {
        Want: _on_want,
        Reshape: _on_reshape,
        Grow: _on_grow,
        Evict: _on_evict,
        StopIfIdle: _on_stop_if_idle,
        Emptied: _on_emptied,
        DrainOver: _on_drain_over,
        Sick: _on_sick,
        Check: _on_check,
        Started: _on_started,
        Ready: _on_ready,
        NotStarted: _on_not_started,
        Exited: _on_exited,
        Lost: _on_lost,
        Broke: _on_broke,
    }

    _EFFECTS: ClassVar[dict[Effect, Callable[["Instance"], Awaitable[None] | None]]] = {
        Effect.SPAWN: _spawn,
        Effect.OPEN: _open,
        Effect.CLOSE: _close,
        Effect.CLIMB: _climb,
        Effect.CRASHED: _crashed,
        Effect.BLAMED: _blamed,
        Effect.STOPPED: _stopped,
        Effect.BURY: _bury,
        Effect.FAIL: _fail,
        Effect.DOOM: _doom,
    }
