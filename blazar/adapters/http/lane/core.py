"""The hot lane: one generation request from its bytes to the last byte of its answer.

Decides the order (understand, lease, ask, relay, release) and nothing about dialects, which the rows know. No web framework, no
ASGI, no engine: `Reply` and `Leasing` are all it sees. `design.md` has the whole way.
"""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from blazar.adapters.http.lane.codec import BOM
from blazar.adapters.http.lane.fetching import Fetching
from blazar.adapters.http.lane.headers import dialect_warnings, warning_headers
from blazar.adapters.http.lane.job import Job, Occasion
from blazar.adapters.http.lane.judge import SchemaJudge
from blazar.adapters.http.lane.keeping import Keeper
from blazar.adapters.http.lane.relay import Limits, Relay, refuse, send_whole
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.rows import ROWS, Row
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.clock import Clock
from blazar.application.ports.schemas import Schemas
from blazar.application.ports.upstream import Headers
from blazar.application.supervise.leasing import DEFAULT_WAIT, Ask, Lease, Leasing
from blazar.application.supervise.views import Supervising
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, ChildDied, Forbidden, Malformed
from blazar.domain.wire.chunking import Late
from blazar.domain.wire.delta import Usage

OFF_LOOP: Final = 64 * 1024
"""Bytes above which a body is parsed in a thread: 1 MB takes the loop 2 ms, in which no token moves."""

DEADLINE_HEADER: Final = b"x-blazar-deadline-ms"
_MILLISECONDS: Final = re.compile(rb"\d{1,15}(\.\d{1,15})?")
LONGEST_WAIT: Final = 600.0
"""Seconds; a caller's deadline beyond this is as good as none, and every ticket ends (D17)."""

_T = TypeVar("_T")


class Lane:
    """Serves the hot endpoints. One per daemon; keeps nothing between requests."""

    fetching: Fetching | None = None
    """Brings pictures that requests name by their address; without it, and with `image_fetch` off, they are refused."""

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

    async def serve(self, request: LaneRequest, reply: Reply) -> None:
        """Answer; every error of ours or the child's is told here, in the dialect of the path. Returns when all is written."""
        row = ROWS[request.path]
        record = request.record
        record.dialect = row.dialect.value
        try:
            body = request.body.removeprefix(BOM)
            if self.fetching is not None and self.limits.fetches:
                body = await self.fetching.bring(body)
            job = await _off_loop(len(body), lambda: row.understand(body))
            record.model, record.stream = job.model, job.stream
            if told := dialect_warnings(row.dialect, request.headers):
                job.warnings = (*job.warnings, *told)
            if job.schema is not None and not job.schema.of_call:
                await self.judge.check(job.schema)
            if job.keeps is None or self._keeper is None:
                await self._answer(job, row, request, reply)
            else:
                await self._keeper.serve(job.keeps, request, reply, partial(self._answer, job, row))
        except BlazarError as error:
            refuse(reply, error, row.dialect, record.trace)

    async def _answer(self, job: Job, row: Row, request: LaneRequest, reply: Reply) -> None:
        if job.load_only:
            await self._load(job, row, request, reply)
        elif (lease := await self._lease(job, row, request, reply)) is not None:
            await self._relay(lease, job, row, request, reply)

    async def _lease(self, job: Job, row: Row, request: LaneRequest, reply: Reply) -> Lease | None:
        """A place at a child; None when the client left while it waited."""
        allowed, wait = request.key_models, _wait(request)
        lease = self._leasing.try_lease(job.model, row.task) if allowed is None or job.model in allowed else None
        lacks = lease is not None and ((job.vision and lease.blind) or (job.tools and lease.toolless))
        if lease is not None and (lacks or job.num_ctx > lease.ctx):
            # A wider window, or a projector: the supervisor decides whether another child is worth it (case B8), and
            # says what is lacking.
            lease.release()
            lease = None
        if lease is None:
            note = request.record.note_depth
            ask = Ask(job.model, row.task, wait, job.num_ctx, allowed, request.record.key, note, job.vision, job.tools)
            lease = await self._in_line(ask, reply)
        if lease is not None:
            request.record.queue_seconds = lease.queue_seconds
        return lease

    async def _in_line(self, ask: Ask, reply: Reply) -> Lease | None:
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
        finally:
            reply.on_gone = None

    async def _relay(self, lease: Lease, job: Job, row: Row, request: LaneRequest, reply: Reply) -> None:
        """Ask the child and carry its answer. The lease ends with the child's answer, however that ends (case K6)."""
        relay: Relay | None = None

        def release() -> None:
            lease.release(job.keep_alive, failed=relay is not None and relay.broken)

        if lease.late:
            job.late = Late(lease.late, self.limits.late_tokens)
        try:
            relay = Relay(job, self._occasion(lease, request.record), reply, _extra(lease))
            relay.launch(lease.upstream, self._clock, self.limits)
            await reply.carry()
            if relay.unjudged is not None and not reply.gone:
                await self._judged(job, relay.unjudged)
                relay.say_judged()
            if (outcome := relay.outcome) is not None and not reply.gone:
                if isinstance(outcome, ChildDied):
                    outcome = await lease.explain(outcome)
                relay.tell(outcome, row.dialect)
        finally:
            if relay is None:
                release()
            else:
                relay.close(release)
                if relay.abandoned:
                    lease.abandon(job.keep_alive)
                _note(request.record, relay.usage)

    async def _judged(self, job: Job, raw: bytes) -> None:
        """No receipt for an answer that its own schema contradicts, whatever the engine was told (D19, E2)."""
        assert job.schema is not None
        if not await self.judge.agrees(job.schema, job.texts(raw)):
            job.constraint = ""

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
                headers = (*_extra(lease), *warning_headers(job.warnings))
                send_whole(reply, job.loaded(occasion, "load").body, headers)
            finally:
                lease.release(job.keep_alive)

    def _occasion(self, lease: Lease, record: RequestRecord) -> Occasion:
        now, started = self._clock.now, record.started
        wall, elapsed = self._clock.wall(), lambda: now() - started
        return Occasion(
            lease.called, record.trace, wall, lease.load_seconds, elapsed, lease.manners, lease.ctx, lease.ctx_key
        )


async def _off_loop(size: int, work: Callable[[], _T]) -> _T:
    """Do it here where it is quick, else in a thread."""
    return work() if size <= OFF_LOOP else await asyncio.to_thread(work)


def _cancel(task: "asyncio.Task[object]") -> None:
    task.cancel()


def _wait(request: LaneRequest) -> float:
    """Seconds this request may wait in line: its own deadline, else the SLO of normal priority (D17)."""
    text = request.headers.get(DEADLINE_HEADER)
    if text is None:
        return DEFAULT_WAIT
    if _MILLISECONDS.fullmatch(text) is None:
        name = DEADLINE_HEADER.decode()
        raise Malformed(teaching.field_must(name, "milliseconds"), name)
    return min(float(text) / 1000, LONGEST_WAIT)


def _extra(lease: Lease) -> Headers:
    """A response header of our own: how long it waited (D11)."""
    waited = lease.queue_seconds
    return ((b"x-blazar-queue-ms", b"%d" % (waited * 1000)),) if waited >= 0.001 else ()


def _note(record: RequestRecord, usage: Usage | None) -> None:
    if usage is not None:
        record.prompt_tokens, record.completion_tokens = usage.prompt, usage.completion
