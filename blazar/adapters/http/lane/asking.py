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

from blazar.adapters.http.lane.core import DEADLINE_HEADER, PRIORITY_HEADER, Lane
from blazar.adapters.http.lane.relay import refuse
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.rows import ROWS
from blazar.adapters.http.record import RequestRecord
from blazar.application.batches.ledger import Guard
from blazar.application.ports.answering import Answering, Question
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter
from blazar.application.ports.upstream import Headers
from blazar.domain import teaching
from blazar.domain.admission.place import Place
from blazar.domain.admission.work import LONGEST_WAIT
from blazar.domain.batches import Answered
from blazar.domain.errors import BlazarError, Fault, Malformed, Unauthorized
from blazar.domain.keys import Key
from blazar.domain.tab import Tab

_HEADERS: Final = {DEADLINE_HEADER: b"%d" % (LONGEST_WAIT * 1000), PRIORITY_HEADER: b"low"}
"""Nobody looks at a clock for this answer: it stands behind everybody, and as long as anybody may."""
PEER: Final = "batch"
"""Who asked, in the access log."""


class CollectedReply(Reply):
    """An answer that nobody reads while it comes. Its client never reads slowly, and leaves at most before its turn has come."""

    shares = False  # its lines are asked one by one, and each that was begun is answered

    def __init__(self) -> None:
        self.gone = False
        self.on_gone: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None
        self.status = 0
        self.headers: Headers = ()
        self.aborted = False
        self._begun = False
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
        self._begun = True
        await self._released.wait()
        self._released.clear()

    def leave(self) -> None:
        """Give the place in line up; once its turn has come this changes nothing."""
        if not self._begun and not self.status:
            self.gone = True
            if self.on_gone is not None:
                self.on_gone()

    def release(self) -> None:
        self._released.set()


@dataclass(frozen=True, slots=True)
class LaneAsking(Answering):
    """`keys` are the configured ones, now: a batch whose key has gone is not answered any more. `boot` tells two daemons' traces apart.

    `tab_of` is where the owner's key is charged. Limits of a minute and of requests at once are for those who wait: a batch asks one
    request after the other, and only when nobody waits. `guard` gives what nobody expected to the log: one request fails, and the batch goes on.
    """

    lane: Lane
    clock: Clock
    meter: Meter
    keys: Callable[[], Sequence[Key]]
    boot: str
    guard: Guard
    numbers: Iterator[int] = field(default_factory=count)
    tab_of: Callable[[str], Tab | None] = lambda _owner: None

    async def answer(self, question: Question, place: Place) -> Answered | None:
        record = RequestRecord(f"plm-{self.boot}-{next(self.numbers)}", self.clock.now())
        record.key, record.priority = question.owner, "low"
        reply = CollectedReply()
        place.taken(reply.leave)
        try:
            await self.guard(record.trace, partial(self._serve, question, record, reply))
            if reply.gone:
                return None
            if not reply.status or reply.aborted:
                reply = CollectedReply()
                refuse(reply, Fault(teaching.internal(record.trace)), ROWS[question.endpoint].dialect, record.trace)
            record.status = reply.status
            return Answered(reply.status, reply.body, record.trace, _retry_after(reply.headers))
        finally:
            self.meter.on_served(record.served("POST", question.endpoint, record.dialect, PEER, self.clock.now()))

    async def _serve(self, question: Question, record: RequestRecord, reply: CollectedReply) -> None:
        try:
            await self.lane.serve(self._request(question, record), reply)
        except BlazarError as error:
            record.refuse(error)
            refuse(reply, error, ROWS[question.endpoint].dialect, record.trace)

    def _request(self, question: Question, record: RequestRecord) -> LaneRequest:
        body: Mapping[str, Any] = question.line.body
        if body.get("stream"):
            raise Malformed(teaching.batch_no_stream(), "stream")
        if body.get("background") and question.endpoint == "/v1/responses":
            raise Malformed(teaching.batch_no_background(), "background")
        scope = self._scope(question.owner)
        if (tab := self.tab_of(question.owner)) is not None:
            record.tab, record.weight = tab, tab.account.key.weight
        return LaneRequest("POST", question.endpoint, b"", _HEADERS, json.dumps(body).encode(), record, scope)

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
