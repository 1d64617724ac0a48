"""A batch's request through the very lane that clients come by: the same rules, no client, and the whole answer in hand.

Decides how a request without a connection looks to the lane, and that its owner's key still holds. Knows no files and no batches.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

from blazar.adapters.http.lane.core import DEADLINE_HEADER, LONGEST_WAIT, Lane
from blazar.adapters.http.lane.relay import refuse
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.rows import ROWS
from blazar.adapters.http.layers.doors import Key
from blazar.adapters.http.record import RequestRecord
from blazar.application.batches.ledger import Guard
from blazar.application.ports.answering import Answering, Question
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter, Served
from blazar.application.ports.upstream import Headers
from blazar.domain import teaching
from blazar.domain.batches import Answered
from blazar.domain.errors import BlazarError, Fault, Malformed, Unauthorized

_WAIT: Final = {DEADLINE_HEADER: b"%d" % (LONGEST_WAIT * 1000)}
"""Nobody looks at a clock for this answer: it may stand in line as long as anybody may."""
PEER: Final = "batch"
"""Who asked, in the access log."""


class CollectedReply(Reply):
    """An answer that nobody reads while it comes. Its client never leaves and never reads slowly."""

    def __init__(self) -> None:
        self.gone = False
        self.on_gone: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None
        self.status = 0
        self.headers: Headers = ()
        self.aborted = False
        self._parts: list[bytes] = []
        self._released = asyncio.Event()

    @property
    def body(self) -> bytes:
        """What was written so far."""
        return b"".join(self._parts)

    def start(self, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers

    def write(self, data: bytes) -> None:
        self._parts.append(data)

    def finish(self) -> None:
        """Nothing waits for it but `carry`."""

    def abort(self) -> None:
        self.aborted = True

    async def carry(self) -> None:
        await self._released.wait()

    def release(self) -> None:
        self._released.set()


@dataclass(frozen=True, slots=True)
class LaneAsking(Answering):
    """`keys` are the configured ones, now: a batch whose key has gone is not answered any more. `boot` tells two daemons' traces apart.

    `guard` gives what nobody expected to the log: one request fails, and the batch goes on.
    """

    lane: Lane
    clock: Clock
    meter: Meter
    keys: Callable[[], Sequence[Key]]
    boot: str
    guard: Guard
    numbers: Iterator[int] = field(default_factory=count)

    async def answer(self, question: Question) -> Answered:
        record = RequestRecord(f"plm-{self.boot}-{next(self.numbers)}", self.clock.now())
        record.key = question.owner
        reply = CollectedReply()
        try:
            await self.guard(record.trace, partial(self._serve, question, record, reply))
            if not reply.status or reply.aborted:
                reply = CollectedReply()
                refuse(reply, Fault(teaching.internal(record.trace)), ROWS[question.endpoint].dialect, record.trace)
            record.status = reply.status
            return Answered(reply.status, reply.body, record.trace, _retry_after(reply.headers))
        finally:
            self.meter.on_served(_served(record, question.endpoint, self.clock.now()))

    async def _serve(self, question: Question, record: RequestRecord, reply: CollectedReply) -> None:
        try:
            await self.lane.serve(self._request(question, record), reply)
        except BlazarError as error:
            refuse(reply, error, ROWS[question.endpoint].dialect, record.trace)

    def _request(self, question: Question, record: RequestRecord) -> LaneRequest:
        body: Mapping[str, Any] = question.line.body
        if body.get("stream"):
            raise Malformed(teaching.batch_no_stream(), "stream")
        scope = self._scope(question.owner)
        return LaneRequest("POST", question.endpoint, b"", _WAIT, json.dumps(body).encode(), record, scope)

    def _scope(self, owner: str) -> frozenset[str] | None:
        """The models that the owner's key admits; None: all."""
        keys = self.keys()
        if not keys and not owner:
            return None
        key = next((key for key in keys if key.name == owner), None)
        if key is None:
            raise Unauthorized
        return frozenset(key.models) if key.models else None


def _retry_after(headers: Headers) -> float:
    """Seconds; a date is as good as nothing."""
    value = next((value for name, value in headers if name == b"retry-after"), b"")
    return float(value) if value.isdigit() else 0.0


def _served(record: RequestRecord, endpoint: str, now: float) -> Served:
    return Served(
        trace=record.trace,
        key=record.key,
        method="POST",
        path=endpoint,
        dialect=record.dialect,
        model=record.model,
        status=record.status,
        seconds=now - record.started,
        queue_seconds=record.queue_seconds,
        first_byte_seconds=0.0,
        prompt_tokens=record.prompt_tokens,
        completion_tokens=record.completion_tokens,
        stream=False,
        peer=PEER,
        priority="low",
        queue_depth=record.queue_depth,
    )
