"""Where requests meet one child: waiting, slots, leases, the idle clock. Never awaits between a question and its answer.

Who is next, and who has waited too long, the queue says (`domain/admission`); here is no rule about it.

Starts and stops nothing: it tells the instance. Grants are counted only for those who are still there when the grant is
made; otherwise the count would stay above zero and the child could never be evicted.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from blazar.application.supervise.growth import HELD_SECS, QUIET_SECS, Growth, wider
from blazar.application.supervise.lease import ChildLease, Landlord
from blazar.application.supervise.messages import Emptied, Evict, Grow, Reshape, Sick, StopIfIdle, Want
from blazar.application.supervise.surroundings import Surroundings
from blazar.application.supervise.tenure import Tenure
from blazar.application.supervise.waiting import settle
from blazar.domain import teaching
from blazar.domain.admission.outlook import Outlook
from blazar.domain.admission.queue import AdmissionQueue, Effect, Full, Grant, Late
from blazar.domain.admission.work import Work
from blazar.domain.errors import BlazarError, Busy
from blazar.domain.instance.idle import idle_deadline
from blazar.domain.kinds import Task

if TYPE_CHECKING:
    from blazar.application.ports.clock import Timer

SICK_AFTER = 3
"""Consecutive errors of the child's own that make it go although it says it is healthy (case G6)."""


class Front(Landlord):
    """The line before one child, across the lives of its children."""

    def __init__(self, key: str, task: Task, around: Surroundings, tell: Callable[[Any], None]) -> None:
        self.key = key
        self.task = task
        self.line = AdmissionQueue(around.limits.waiting)
        self.growth = Growth(around.clock, self.line)
        self.tenure: Tenure | None = None  # whose slots are handed out
        self.idle_since: float | None = None
        self.wish: float | None = None  # keep_alive as last asked for
        self._called: asyncio.Future[Tenure] | None = None  # the wish for a wider child that nobody waits for
        self._kept: float | None = None  # the same of a child whose place another one takes
        self.outdated = False  # its child was started with what the configuration no longer says
        self._around = around
        self.clock = around.clock
        self._tell = tell
        self._tickets = itertools.count()
        self._futures: dict[int, asyncio.Future[Tenure]] = {}
        self._watchers: list[asyncio.Future[Tenure]] = []
        self._seeing: set[asyncio.Future[Tenure]] = set()  # those of both that wait for a child with a projector
        self.outlook = Outlook()
        self._failures = 0
        self._shut: BlazarError | None = None
        self._line_timer: Timer | None = None
        self._idle_timer: Timer | None = None
        self._hold_timer: Timer | None = None
        self._idle_armed = 0.0

    @property
    def wanted(self) -> bool:
        """Whether anybody waits for a child."""
        return bool(self.line.waiting or self._watchers)

    @property
    def pictured(self) -> bool:
        """Whether anybody waits for a child that takes pictures."""
        return any(not future.done() for future in self._seeing)

    @property
    def keep_alive(self) -> float:
        return self._around.limits.keep_alive if self.wish is None else self.wish

    # Getting in

    def try_take(self, work: Work) -> ChildLease | None:
        """A lease at once or none: the hot path."""
        if self.tenure is not None and self.line.try_take(work):
            return ChildLease(self, self.tenure, raw=work.raw)
        return None

    async def acquire(self, work: Work, *, vision: bool = False) -> ChildLease:
        """Get in line and stay until it is our turn; leaving, for whatever reason, leaves nothing behind."""
        if self._shut is not None:
            raise self._shut
        ticket, arrived = next(self._tickets), self.clock.now()
        future = self._futures[ticket] = self._waiter(vision=vision)
        self._apply(self.line.arrive(ticket, work, arrived))
        if not self.line.is_open:
            self._tell(Want())
        self._arm_line()
        self._count()
        try:
            tenure = await future
        except asyncio.CancelledError:
            self._leave(ticket, future, raw=work.raw)
            raise
        ready = max(arrived, tenure.ready_at or 0.0)
        return ChildLease(self, tenure, ready - arrived, max(0.0, self.clock.now() - ready), raw=work.raw)

    async def until_ready(self, *, vision: bool = False) -> Tenure:
        """Wait for a serving child without taking a slot."""
        if self._shut is not None:
            raise self._shut
        if self.tenure is not None and self.line.is_open:
            return self.tenure
        future = self._waiter(vision=vision)
        self._watchers.append(future)
        self._tell(Want())
        try:
            return await future
        except asyncio.CancelledError:
            if future in self._watchers:
                self._watchers.remove(future)
            if not future.cancelled() and future.done():
                future.exception()  # nobody is left to hear it
            raise

    def _waiter(self, *, vision: bool) -> "asyncio.Future[Tenure]":
        future: asyncio.Future[Tenure] = asyncio.get_running_loop().create_future()
        if vision:
            self._seeing.add(future)
            future.add_done_callback(self._seeing.discard)
        return future

    def stay(self, keep_alive: float) -> None:
        """Replace the time an idle child stays, counted from now."""
        self.wish = keep_alive
        if self.tenure is not None and self.line.idle:
            self.rest()

    def outdate(self, outdated: bool) -> None:
        """Whether its child is to make room for its successor: at once where nobody needs it, else when it comes to rest (D4)."""
        self.outdated = outdated
        if outdated and self.tenure is not None and self.line.idle:
            self._tell(StopIfIdle("reload"))
        self._resume()

    def _resume(self) -> None:
        """Let requests in; the time until an outdated child is kept from them begins anew."""
        if self._hold_timer is not None:
            self._hold_timer.cancel()
            self._hold_timer = None
        self.growth.holds = False
        if self.line.held:
            self._apply(self.line.resume())
        if self.outdated and self.tenure is not None:
            self._hold_timer = self.clock.call_later(self._around.limits.drain_secs, self._on_hold_time)

    def _on_hold_time(self) -> None:
        """Under steady load a child never comes to rest: what it runs may end (D4), and new requests wait for its successor.

        Only as long as their own bounds let them (`_on_line_time`): nobody is refused for a change of the configuration.
        """
        self._hold_timer = None
        if self.outdated and self.tenure is not None:
            self.line.hold()
            self._succeed()

    def _succeed(self) -> None:
        """Make room for the next child as soon as a held one runs nothing for anybody: its line closes, so that nobody gets in between."""
        if self.line.held and not self.line.busy and self.tenure is not None:
            self.tenure.stale, self.tenure.cause = True, "slots" if self.growth.holds else "reload"
            if self.growth.holds:
                self.call_successor()
            self.line.close()
            self._tell(Reshape())

    def rearm(self) -> None:
        """The time that idle children stay is another one."""
        if self.tenure is not None and self.line.idle:
            self._arm_rest()

    def _leave(self, ticket: int, future: asyncio.Future[Tenure], *, raw: bool) -> None:
        """The one who waited was cancelled; it may have been granted or refused in the same turn of the loop."""
        self._futures.pop(ticket, None)
        self.line.cancel(ticket)
        self._count()
        if future.done() and not future.cancelled() and future.exception() is None:
            self.on_release(future.result(), None, failed=False, raw=raw)
        else:
            self._rest_again()

    def _rest_again(self) -> None:
        """Whoever waited has left, and nobody listens to what runs: no release will tell that soon."""
        if self.tenure is not None and self.line.abandoned and self.line.idle:
            self.rest()

    # Giving back

    def on_release(
        self,
        tenure: Tenure,
        keep_alive: float | None,
        *,
        failed: bool = False,
        abandoned: bool = False,
        raw: bool = False,
    ) -> None:
        if tenure is not self.tenure:
            return  # its child is gone, and its slots with it
        if keep_alive is not None:
            self.wish = keep_alive
        if self.line.waiting:
            self.outlook.note(self.clock.now())
        self._apply(self.line.release(raw=raw, abandoned=abandoned))
        self._count()
        self._succeed()
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= SICK_AFTER:
            self._tell(Sick(tenure))
        self._ease()

    def on_refund(self, tenure: Tenure, work: Work) -> None:
        if tenure is self.tenure:
            self.line.refund(work)

    def on_abandon(self, tenure: Tenure, keep_alive: float | None) -> None:
        """Its client has left: what runs on keeps its slot, and nothing that ends or replaces the child waits for it."""
        if tenure is not self.tenure:
            return
        if keep_alive is not None:
            self.wish = keep_alive
        self.line.abandon()
        self._succeed()
        self._ease()

    def on_condemn(self, tenure: Tenure) -> None:
        """Its line closes at once: who comes next, the one who says so first of all, is to get another child."""
        if tenure is self.tenure:
            self.line.close()
            self._tell(Sick(tenure, wedged=True))

    def _ease(self) -> None:
        """One less is listened to."""
        if not self.line.busy and not self.line.is_open:
            self._tell(Emptied())
        elif self.keep_alive == 0 and not self.line.waiting:
            self._tell(Evict("keep_alive", limit=self._around.limits.drain_secs))
        if self.line.idle:
            self.rest()

    def rest(self) -> None:
        """Nobody listens and nobody waits: the idle time begins."""
        self.idle_since = self.clock.now()
        self._arm_rest()
        if self.outdated:
            self._tell(StopIfIdle("reload"))
        elif self.growth.wanted:
            self._await_quiet()
        self._around.changed()

    def _arm_rest(self) -> None:
        due = idle_deadline(self.idle_since, self.keep_alive)
        if due is not None and (self._idle_timer is None or due < self._idle_armed):
            self._arm_idle(due)

    def _arm_idle(self, due: float) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_armed = due
        self._idle_timer = self.clock.call_later(max(0.0, due - self.clock.now()), self._on_idle_time)

    def _on_idle_time(self) -> None:
        # Armed once and looked at when it rings: a timer made and cancelled by every request would cost each of them.
        self._idle_timer = None
        if self.tenure is None or not self.line.idle:
            return
        due = idle_deadline(self.idle_since, self.keep_alive)
        if due is not None and due <= self.clock.now():
            self._tell(StopIfIdle("idle"))
        elif due is not None:
            self._arm_idle(due)

    # A slot more (D18)

    def _count(self) -> None:
        """Who waits may have changed."""
        if self.growth.due() and self._around.limits.adaptive_slots:
            self._adopt()

    def _adopt(self) -> None:
        """It is crowded: more at once where its engine takes what comes, else a wider child in a quiet moment."""
        launch = self.tenure.launch if self.tenure is not None else None
        if launch is None:
            return
        slots = self.line.slots if launch.manners.gathers else launch.plan.slots
        if (more := wider(launch, slots)) == slots:
            return
        if launch.manners.gathers:
            self._around.events.emit("slots_adopted", model=self.key, slots=more)
            self._apply(self.line.widen(more))
        else:
            self._around.adopt(self.key, more)
            self.growth.wanted = True
            self._await_lull()

    def _await_lull(self) -> None:
        self.growth.wait(self.clock.call_later(self._around.limits.drain_secs, self._on_no_lull))

    def _on_no_lull(self) -> None:
        """Under an unbroken crowd no quiet moment comes; while nobody waits there is no hurry."""
        if self.tenure is None or not self.growth.wanted or self.outdated:
            return
        if self.line.waiting:
            self._tell(Grow(self.tenure, crowded=True))
        else:
            self._await_lull()

    def keep_back(self) -> None:
        """What runs may end, and who comes waits for the wider child: a while, and no longer than its bound (`_on_line_time`)."""
        if self.line.waiting and not self.line.held:
            self.line.hold()
            self.growth.holds = self.line.held
            self.growth.wait(self.clock.call_later(HELD_SECS, self._resume))
            self._succeed()

    def _await_quiet(self) -> None:
        self.growth.calm()
        self.growth.timer = self.clock.call_later(QUIET_SECS, self._on_quiet)

    def _on_quiet(self) -> None:
        self.growth.timer = None
        if self.tenure is not None and self.growth.wanted and self.line.idle:
            self._tell(Grow(self.tenure))

    async def may_grow(self) -> bool:
        """Whether the plan has room for that; where it has none now, the next crowd asks again."""
        grows, launch = await self._around.grows(self.key), self.tenure.launch if self.tenure is not None else None
        if not grows and launch is not None:
            self._around.adopt(self.key, launch.plan.slots)
            self.growth.forget()
        return grows

    def call_successor(self) -> None:
        """The next child is wanted although nobody waits for it, with what was asked of this one."""
        assert self.tenure is not None
        self._kept = self.wish
        future = self._waiter(vision=self.tenure.vision)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody is to hear of a failure
        self._watchers.append(future)
        self._called = future

    def uncall_successor(self) -> None:
        """Somebody wants the model gone: only who really waits may bring it back."""
        if self._called in self._watchers:
            self._watchers.remove(self._called)
        self._called = self._kept = None

    # The child's side

    def open(self, tenure: Tenure, slots: int) -> None:
        """It serves."""
        self.tenure, self._failures, self.outdated = tenure, 0, False
        self.wish, self._kept = self._kept if self.wish is None else self.wish, None
        watchers, self._watchers = self._watchers, []
        for future in watchers:
            settle(future, tenure)
        self._apply(self.line.open(slots, self.clock.now()))
        self._arm_line()
        if self.line.idle:
            self.rest()

    def close(self) -> None:
        """It takes no new requests."""
        self.line.close()

    def gone(self) -> None:
        """There is no child any more; what was wished for its time is forgotten with it."""
        self.line.close()
        self.line.forget_running()
        self.tenure, self.wish, self.idle_since, self._failures, self.outdated = None, None, None, 0, False
        self._cancel_timers()
        self._arm_line()  # of those who wait on some have bounds of their own

    def take_waiting(self, *, pictured: bool = False) -> list[asyncio.Future[Tenure]]:
        """Everybody who waits, or only who brings pictures, out of the line."""
        if pictured:
            tickets = [ticket for ticket, future in self._futures.items() if future in self._seeing]
            for ticket in tickets:
                self.line.cancel(ticket)
        else:
            tickets = self.line.empty()
        leaving = [future for future in self._watchers if not pictured or future in self._seeing]
        self._watchers = [future for future in self._watchers if future not in leaving]
        return [self._futures.pop(ticket) for ticket in tickets] + leaving

    def fail(self, error: BlazarError, *, pictured: bool = False) -> None:
        """Everybody who waits, or only who brings pictures, gets `error`."""
        for future in self.take_waiting(pictured=pictured):
            settle(future, error=error)

    def shut(self, error: BlazarError) -> None:
        """Nobody gets in any more."""
        self._shut = error
        self.fail(error)

    def _apply(self, effects: Iterable[Effect]) -> None:
        pending = list(effects)
        while pending:
            effect = pending.pop(0)
            future = self._futures.pop(effect.ticket, None)
            told = future is not None and self._tell_waiter(future, effect)
            if isinstance(effect, Grant) and not told:
                pending.extend(self.line.release(raw=effect.raw))

    def _tell_waiter(self, future: asyncio.Future[Tenure], effect: Effect) -> bool:
        match effect:
            case Grant():
                return settle(future, self.tenure)
            case Full(_, bound):
                return settle(future, error=Busy(teaching.queue_full(self.key, bound), self.outlook.after(bound)))
            case Late(_, seconds, waiting, hurried):
                why = self._too_late(seconds, waiting)
                said = teaching.high_waits_briefly(why, seconds) if hurried else why
                return settle(future, error=Busy(said, self.outlook.after(waiting)))

    def _too_late(self, seconds: float, waiting: int) -> str:
        """What kept it waiting, and only advice that helps."""
        if not self.line.is_open:
            return teaching.still_loading(self.key, seconds)
        launch = self.tenure.launch if self.tenure is not None else None
        if launch is not None and self.line.abandoned and not self.line.busy:
            return teaching.abandoned_answer_busy(self.key, seconds, waiting, launch.manners.draws)
        if launch is not None and not launch.manners.slotted:
            return teaching.one_at_a_time_busy(self.key, seconds, waiting)
        return teaching.all_slots_busy(self.key, seconds, waiting)

    def _arm_line(self) -> None:
        if self._line_timer is not None:
            self._line_timer.cancel()
            self._line_timer = None
        if (due := self.line.next_deadline()) is not None:
            self._line_timer = self.clock.call_later(max(0.0, due - self.clock.now()), self._on_line_time)

    def _on_line_time(self) -> None:
        self._line_timer = None
        if self.line.held:
            self._resume()
        self._apply(self.line.tick(self.clock.now()))
        self._count()
        self._arm_line()
        self._rest_again()

    def _cancel_timers(self) -> None:
        self.growth.forget()
        for timer in (self._line_timer, self._idle_timer, self._hold_timer):
            if timer is not None:
                timer.cancel()
        self._line_timer = self._idle_timer = self._hold_timer = None
