"""The hot lane: one generation request from its bytes to the last byte of its answer.

Decides the order (understand, lease, ask, relay, release) and nothing about dialects, which the rows know. No web framework, no
ASGI, no engine: `Reply` and `Leasing` are all it sees. `design.md` has the whole way.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from blazar.adapters.http.errors import status_of
from blazar.adapters.http.lane.codec import BOM
from blazar.adapters.http.lane.fetching import Fetching
from blazar.adapters.http.lane.headers import dialect_warnings, queue_header, warning_headers
from blazar.adapters.http.lane.job import Job, Occasion
from blazar.adapters.http.lane.joining import Joining, joinable
from blazar.adapters.http.lane.judge import SchemaJudge
from blazar.adapters.http.lane.keeping import Keeper
from blazar.adapters.http.lane.observing import look_back, note_answer, note_place, observe, say_judged
from blazar.adapters.http.lane.preflight import preflight
from blazar.adapters.http.lane.relay import Limits, Relay, refuse, send_whole
from blazar.adapters.http.lane.remembering import Remembering
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.rows import ROWS, Row
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.clock import Clock
from blazar.application.ports.schemas import Schemas
from blazar.application.supervise.leasing import Ask, Lease, Leasing
from blazar.application.supervise.views import Supervising
from blazar.domain import teaching
from blazar.domain.admission.work import Facts, Priority, Work, WorkClass, classify
from blazar.domain.errors import AnswerBroken, BlazarError, ChildDied, Fault, Forbidden, Malformed
from blazar.domain.kinds import Task
from blazar.domain.paces import Paces
from blazar.domain.preflight import near
from blazar.domain.tab import Tab, expected
from blazar.domain.wire.chunking import Late
from blazar.domain.wire.raw_tools import RawLane
from blazar.domain.wire.remote_pictures import may_name_addresses
from blazar.domain.wire.request import ignored

OFF_LOOP: Final = 64 * 1024
"""Bytes above which a body is parsed in a thread: 1 MB takes the loop 2 ms, in which no token moves."""

DEADLINE_HEADER: Final = b"x-blazar-deadline-ms"
PRIORITY_HEADER: Final = b"x-blazar-priority"
_MILLISECONDS: Final = re.compile(rb"\d{1,15}(\.\d{1,15})?")
_PRIORITIES: Final = tuple(priority.name.lower() for priority in Priority)
_DIALECTS: Final = {path: row.dialect.value for path, row in ROWS.items()}
"""By path: an enum's `value` is a call of Python's, and every request asks for it."""
_CLASSES: Final = tuple(kind.name.lower() for kind in WorkClass)
"""What the record calls them."""


RawLanes = Callable[[str], RawLane | None]
"""Of a model by the name that its caller used: whether its template has no tools, and how they are handled then."""


class Lane:
    """Serves the hot endpoints. One per daemon; keeps nothing between requests."""

    fetching: Fetching | None = None
    """Brings pictures that requests name by their address; without it, and with `image_fetch` off, they are refused."""

    sampling: Callable[[str], Mapping[str, Any]] | None = None
    """What `sampler_defaults` says of a model, by the name that its caller used."""
    raw_lanes: RawLanes | None = None
    """Which models get their tools in words; without it none does."""

    names: Callable[[str], str] | None = None
    """Which model of the catalog a caller's name means; empty: none."""
    paces: Paces | None = None
    """How fast the children speak, for whoever looks."""

    remembering: Remembering | None = None
    """The semantic cache; without it every chat is computed."""

    def __init__(
        self,
        leasing: Leasing,
        supervising: Supervising,
        clock: Clock,
        schemas: Schemas,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        *,
        keeper: Keeper | None = None,
    ) -> None:
        self._leasing, self._supervising, self._clock = leasing, supervising, clock
        self.limits = limits  # a new one holds for answers that begin then
        self.judge = SchemaJudge(schemas)
        self._keeper = keeper
        self._joining = Joining(clock)

    async def serve(self, request: LaneRequest, reply: Reply) -> None:
        """Answer; every error of ours or the child's is told here, in the dialect of the path. Returns when all is written."""
        row = ROWS[request.path]
        record = request.record
        record.dialect = _DIALECTS[request.path]
        try:
            body = request.body.removeprefix(BOM)
            if self.fetching is not None and self.limits.fetches and may_name_addresses(body):
                body = await self.fetching.bring(body)
            long = len(body) > OFF_LOOP
            job = await asyncio.to_thread(row.understand, body) if long else row.understand(body)
            if job.tools and self.raw_lanes is not None:
                job = self._compatible(job, self.raw_lanes(job.model))
            if self.sampling is not None and (defaults := self.sampling(job.model)):
                job.sample_by(defaults)
            record.model, record.stream = job.model, job.stream
            if told := dialect_warnings(row.dialect, request.headers):
                job.warnings = (*job.warnings, *told)
            if job.schema is not None and not job.schema.of_call:
                await self.judge.check(job.schema)
            observe(job, request.headers, self.limits)
            remembering = self.remembering
            if remembering is None or (question := remembering.question(job, request, reply)) is None:
                await self._serve(job, row, request, reply)
            else:
                ways = partial(self._serve, job, row), self._pay_joined
                await remembering.serve(question, job, request, reply, ways)
        except BlazarError as error:
            record.refuse(error)
            refuse(reply, error, row.dialect, record.trace, queue_header(record.queue_seconds))
        finally:
            self._settle(record)

    def _settle(self, record: RequestRecord) -> None:
        """Which model was meant, where no place at a child has told it; of a name that nobody has, nothing is known."""
        if not record.known and record.model and self.names is not None and (name := self.names(record.model)):
            record.call_it(name)

    async def _serve(self, job: Job, row: Row, request: LaneRequest, reply: Reply) -> None:
        """By itself, with others who ask the same, or with what is kept."""
        if self.limits.singleflight and joinable(job, request.path, reply):
            await self._joining.serve(request, reply, partial(self._answer, job, row), self._pay_joined)
        elif job.keeps is None or self._keeper is None:
            await self._answer(job, row, request, reply)
        else:
            if job.keeps.background:  # its caller is told now, not when nobody listens
                self._leasing.check(Ask(job.model, row.task, allowed=request.key_models, key=request.record.key))
            await self._keeper.serve(job.keeps, request, reply, partial(self._answer, job, row))

    async def _answer(self, job: Job, row: Row, request: LaneRequest, reply: Reply) -> None:
        if job.load_only:
            await self._load(job, row, request, reply)
            return
        lease = await self._lease(job, row, request, reply)
        wedged = None if lease is None else await self._relay(lease, job, row, request, reply)
        if wedged is None:
            if job.watch is not None and job.watch.later:
                await look_back(self.judge, job.watch, request.record, self._clock.now)
            return
        # The child that comes in its place is asked once more: the client has not noticed anything yet.
        request.record.note(self._clock.now(), "asked_again", why=str(wedged))
        lease = None
        try:
            lease = await self._place(job, row, request, reply)
            wedged = None if lease is None else await self._relay(lease, job, row, request, reply)
        finally:
            if lease is None or wedged is not None:
                self._undo(request.record)
        if wedged is not None:
            raise wedged

    async def _lease(self, job: Job, row: Row, request: LaneRequest, reply: Reply) -> Lease | None:
        """A place at a child; None when the client left while it waited. Its key pays for a place, and for nothing else (L3)."""
        tab = request.record.tab
        if tab is None:
            return await self._place(job, row, request, reply)
        lease = None
        try:
            lease = await self._place(job, row, request, reply, partial(self._charge, tab, row.task, request.body))
        finally:
            tab.settle(self._clock.wall(), admitted=lease is not None)
        return lease

    def _charge(self, tab: Tab, task: Task, body: bytes) -> None:
        chat = task is Task.CHAT
        tokens = expected(body, answers=chat) if tab.counts_tokens else 0
        tab.reserve(self._clock.now(), self._clock.wall(), chat=chat, tokens=tokens)

    def _undo(self, record: RequestRecord) -> None:
        """It was refused although it had a place: that costs nothing either."""
        if record.tab is not None:
            record.tab.undo(self._clock.wall())

    async def _place(
        self, job: Job, row: Row, request: LaneRequest, reply: Reply, charge: Callable[[], None] | None = None
    ) -> Lease | None:
        """The same, whoever pays. What its key must not use is refused before anything is charged."""
        allowed, work = request.key_models, _work(job, request)
        lease = None
        if reply.gone:  # while its body was read: nobody would hear the answer, nor that it is not wanted
            return None
        if allowed is None or job.model in allowed:
            if charge is not None:
                charge()
            lease = self._leasing.try_lease(job.model, row.task, work)
        lacks = lease is not None and ((job.vision and lease.blind) or (job.tools and lease.toolless))
        if lease is not None and (lacks or job.num_ctx > lease.ctx):
            # A wider window, or a projector: the supervisor decides whether another child is worth it (case B8), and
            # says what is lacking.
            lease.hand_back(work)
            lease = None
        if lease is None:
            note = _lining_up(request.record, self._clock.now)
            wants = job.vision, job.tools
            tab = request.record.tab
            scope = None if tab is None else tab.scope
            ask = Ask(job.model, row.task, work, job.num_ctx, allowed, request.record.key, note, *wants, charge, scope)
            lease = await self._in_line(ask, request.record, reply)
        if lease is not None:
            if job.thinks and lease.thoughtless:
                lease.hand_back(work)
                raise Malformed(teaching.thinks_not(job.model), "think")
            if job.num_ctx > lease.ctx > 0:
                told = teaching.warn_rewritten("options.num_ctx", teaching.window_served(lease.ctx))
                job.warnings = tuple(dict.fromkeys((*job.warnings, told)))
            note_place(request.record, lease)
        return lease

    async def _in_line(self, ask: Ask, record: RequestRecord, reply: Reply) -> Lease | None:
        """Wait. A client that leaves cancels the wait, so that its request never reaches a child (cases K3, K4)."""
        task = asyncio.current_task()
        assert task is not None
        reply.on_gone = lambda: _cancel(task)
        try:
            return await self._leasing.lease(ask)
        except asyncio.CancelledError:
            if not reply.gone or task.uncancel():
                raise
            return None
        except Fault:
            record.lined_up = 0.0  # its load failed: that is no line
            raise
        finally:
            reply.on_gone = None
            if record.lined_up:
                record.queue_seconds = self._clock.now() - record.lined_up  # in vain, unless a lease says better

    async def _relay(self, lease: Lease, job: Job, row: Row, request: LaneRequest, reply: Reply) -> BlazarError | None:
        """Ask the child and carry its answer. The lease ends with the child's answer, however that ends (case K6).

        What comes back is the trouble with a child that is wedged and goes, where the client has not been told anything.
        """
        relay: Relay | None = None

        def release() -> None:
            lease.release(job.keep_alive, failed=relay is not None and relay.broken)

        if lease.late:
            job.late = Late(lease.late, self.limits.late_tokens)
        if lease.guesses and job.odds and job.talk is None:  # else none are told at all, which it was warned of
            job.warnings = (*job.warnings, teaching.warn_odds_of_guesses(job.odds))
        try:
            await self._prepare(job, row, lease, len(request.body))
            pace = None if self.paces is None else self.paces.of(lease.key)
            relay = Relay(job, self._occasion(lease, request.record), reply, queue_header(lease.queue_seconds), pace)
            relay.launch(lease.upstream, self._clock, self.limits)
            await reply.carry()
            if relay.unjudged is not None and not reply.gone:
                await say_judged(self.judge, job, relay, self._clock.now)
            return await self._end(relay, lease, row, request.record, left=reply.gone)
        finally:
            if relay is None:
                release()
                self._undo(request.record)
            else:
                relay.close(release)
                if relay.abandoned:
                    lease.abandon(job.keep_alive)
                note_answer(request.record, job, relay, self._clock.now())
                if not _unanswered(relay):
                    self._spend(request.record)
                elif not relay.wedged:
                    self._undo(request.record)

    @staticmethod
    def _compatible(job: Job, lane: RawLane | None) -> Job:
        """Its tools in words, for a model that is marked so. Pictures go to the child as they are, and its template drops the tools."""
        if lane is None:
            return job
        if job.vision:
            job.warnings = (*job.warnings, ignored("tools"))
            return job
        return job.compat(lane)

    async def _prepare(self, job: Job, row: Row, lease: Lease, size: int) -> None:
        """What is asked of a child before the request itself is; nearly always nothing."""
        if job.talk is not None:
            await job.talk.render(lease)
        if job.echo is not None:
            await job.echo.render(lease)
        if self.limits.preflight and row.task is Task.CHAT and near(size, lease.ctx) and not job.vision:
            await preflight(job, lease)

    async def _end(
        self, relay: Relay, lease: Lease, row: Row, record: RequestRecord, *, left: bool
    ) -> BlazarError | None:
        """Tell what is left to be told; what is not told, because another child may answer, comes back."""
        if relay.wedged:
            lease.condemn()
        if (outcome := relay.outcome) is None or left:
            return None
        if relay.wedged and not relay.begun:
            return outcome
        if isinstance(outcome, ChildDied):
            outcome = await lease.explain(outcome)
        record.refuse(outcome)
        relay.tell(outcome, row.dialect)
        return None

    def _pay_joined(self, record: RequestRecord) -> None:
        """An answer that was another request's is as much an answer. Raises `OverQuota` where its key has no more."""
        if record.tab is not None:
            self._charge(record.tab, Task.CHAT, b"")
            record.tab.settle(self._clock.wall(), admitted=True)
            self._spend(record)

    def _spend(self, record: RequestRecord) -> None:
        """What the answer cost is its key's."""
        if (tab := record.tab) is not None:
            tab.spend(self._clock.now(), self._clock.wall(), record.prompt_tokens, record.completion_tokens)

    async def _load(self, job: Job, row: Row, request: LaneRequest, reply: Reply) -> None:
        """Load, or with `keep_alive` 0 unload: what a request without a prompt means to ollama."""
        occasion = Occasion(job.model, request.record.trace, self._clock.wall(), 0.0, lambda: 0.0)
        if job.keep_alive == 0:
            if request.key_models is not None:
                raise Forbidden(teaching.key_is_scoped(request.record.key))  # nothing but managing
            await self._supervising.evict(job.model, cause="keep_alive")
            send_whole(reply, job.loaded(occasion, "unload").body)
        elif (lease := await self._lease(job, row, request, reply)) is not None:
            try:
                occasion = self._occasion(lease, request.record)
                headers = (*queue_header(lease.queue_seconds), *warning_headers(job.warnings))
                send_whole(reply, job.loaded(occasion, "load").body, headers)
                self._spend(request.record)
            finally:
                lease.release(job.keep_alive)

    def _occasion(self, lease: Lease, record: RequestRecord) -> Occasion:
        now, started = self._clock.now, record.started
        wall, elapsed = self._clock.wall(), lambda: now() - started
        return Occasion(
            lease.called, record.trace, wall, lease.load_seconds, elapsed, lease.manners, lease.ctx, lease.ctx_key
        )


def _unanswered(relay: Relay) -> bool:
    """Whether it was refused before a word of an answer. What enforcement refuses was answered; a child that breaks was used."""
    outcome = relay.outcome
    if outcome is None or relay.begun or isinstance(outcome, AnswerBroken):
        return False
    return status_of(outcome) < 500


def _lining_up(record: RequestRecord, now: Callable[[], float]) -> Callable[[int], None]:
    return lambda waiting: record.line_up(waiting, now())


def _cancel(task: "asyncio.Task[object]") -> None:
    task.cancel()


def _work(job: Job, request: LaneRequest) -> Work:
    """Its place in the queue (D16). The record keeps what it got, not what it asked for."""
    record, named = request.record, request.headers.get(PRIORITY_HEADER, b"").decode("latin-1")
    size = len(request.body)
    work = classify(Facts(named, _deadline(request), job.tools, job.raw, size, record.key, record.weight))
    if named and named.lower() not in _PRIORITIES:
        job.warnings = tuple(dict.fromkeys((*job.warnings, teaching.warn_priority(named))))
    record.priority, record.work, record.wait_bound = _PRIORITIES[work.priority], _CLASSES[work.kind], work.wait
    return work


def _deadline(request: LaneRequest) -> float | None:
    """Seconds that its caller lets it wait in line."""
    text = request.headers.get(DEADLINE_HEADER)
    if text is None:
        return None
    if _MILLISECONDS.fullmatch(text) is None:
        name = DEADLINE_HEADER.decode()
        raise Malformed(teaching.field_must(name, "milliseconds"), name)
    return float(text) / 1000
