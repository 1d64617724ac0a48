"""Responses in the background: each is answered by the lane like any other, into a buffer from which whoever asks later reads.

The buffers are bounded, each and all together (A29). Cancelling one is its client's leaving, so that the child stops at once (K8).
What the daemon's end interrupts stays written down as unfinished, and is told as lost when it is asked for.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.lane.job import Keeps
from blazar.adapters.http.lane.keeping import Answer, Backgrounds
from blazar.adapters.http.lane.relay import STREAM_HEADERS, send_whole
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM
from blazar.adapters.http.record import RequestRecord
from blazar.application.kept.keep_answer import KeepAnswer
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Served
from blazar.application.ports.upstream import Headers
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Malformed, NotFound
from blazar.domain.tab import expected
from blazar.domain.wire.delta import Failed

if TYPE_CHECKING:
    from blazar.domain.quota import Account

MOST_RUNNING: Final = 64
"""Beyond the places of all models a request in the background would only wait; each holds its buffer meanwhile."""
BUFFER: Final = 4 * 2**20
"""Bytes of events that are kept of one response; of a longer one the first go. A token takes about 200."""
ALL_BUFFERS: Final = 64 * 2**20
"""Bytes of events of all that have ended; of these the oldest go first."""
PEER: Final = "background"
"""Who asked, in the access log: whoever did is gone."""
QUIET_SECS: Final = 15.0
"""Between two comments to a listener while nothing happens (case D5)."""


class Written(Protocol):
    """The writer of a response in the background."""

    status: str

    @property
    def over(self) -> bool: ...
    def queue(self) -> bytes: ...
    def write(self, delta: Any) -> bytes: ...
    def cancel(self) -> bytes: ...
    def response(self) -> dict[str, Any]: ...


class Behind(Keeps, Protocol):
    """A job that runs in the background."""

    follows: bool
    """Its caller listens from the start."""
    writer: Written

    def begin(self, wall: float) -> None:
        """It begins now."""
        ...


class Run:
    """One response on its way, or one whose events can still be read."""

    def __init__(self, job: Behind, owner: str) -> None:
        self.owner = owner
        self.account: Account | None = None  # of whose places it holds one, once its request has ended
        self._job: Behind | None = job
        self._last: dict[str, Any] | None = None
        self.reply = RunReply(self._push)
        self.done = False
        self.size = 0
        self.asked: RequestRecord | None = None  # of the request that began it
        self.id = str(job.writer.response()["id"])
        self._events: list[bytes] = []
        self._first = 0  # the number of the oldest event that is here; they are numbered without gaps
        self._news: list[asyncio.Future[None]] = []

    def reaches(self, after: int) -> bool:
        """Whether every event behind that number is here."""
        return after + 1 >= self._first

    def push(self, data: bytes) -> None:
        """More events."""
        self._push(data)

    def response(self) -> dict[str, Any] | None:
        """How it is now; None once it can be read from what was kept."""
        return self._last if self._job is None else self._job.writer.response()

    def end(self, *, kept: bool) -> None:
        """No more come. Its request goes: a body may be as large as all buffers together."""
        assert self._job is not None
        if not kept:
            self._last = self._job.writer.response()
            self.size += len(codec.encode(self._last))
        self._job = None
        self.done = True
        self._tell()

    async def events(self, after: int) -> AsyncIterator[bytes]:
        """Everything behind that number as it comes. A listener that falls behind the buffer hears no more."""
        while self.reaches(after):
            if missing := self._events[after + 1 - self._first :]:
                after += len(missing)
                yield b"".join(missing)
            elif self.done:
                return
            elif not await self._news_in(QUIET_SECS):
                yield COMMENT

    def _push(self, data: bytes) -> None:
        for event in data.split(b"\n\n"):
            if event.startswith(b"event:"):
                self._events.append(event + b"\n\n")
                self.size += len(event) + 2
        gone = 0
        while self.size > BUFFER:
            self.size -= len(self._events[gone])
            gone += 1
        del self._events[:gone]
        self._first += gone
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, []
        for waiting in news:
            if not waiting.done():
                waiting.set_result(None)

    async def _news_in(self, seconds: float) -> bool:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._news.append(waiting)
        with suppress(TimeoutError):
            await asyncio.wait_for(waiting, seconds)
            return True
        return False


class RunReply(Reply):
    """Where the lane writes an answer that nobody waits for. A refusal is kept to be told as the response's failure."""

    def __init__(self, push: Callable[[bytes], None]) -> None:
        self._to = push
        self._status = 0
        self._refusal: list[bytes] = []
        self._released = asyncio.Event()
        self.gone = False
        self.on_gone: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None

    @property
    def status(self) -> int:
        """As it began; 0: it has not."""
        return self._status

    @property
    def refusal(self) -> Failed | None:
        """Why there is no answer."""
        if self._status < 400:
            return None
        return Failed(self._status, str(json.loads(b"".join(self._refusal))["error"]["message"]))

    def start(self, status: int, headers: Headers) -> None:
        del headers
        self._status = status

    def write(self, data: bytes) -> None:
        if self._status >= 400:
            self._refusal.append(data)
        elif not self.gone:
            self._to(data)

    def finish(self) -> None:
        """The writer's last event says it."""

    def abort(self) -> None:
        """Only answers with a length are aborted, and these have none."""

    async def carry(self) -> None:
        await self._released.wait()
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    def leave(self) -> None:
        """Nobody wants it any more."""
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()
        self._released.set()


def _nobody(_served: Served) -> None:
    """Nobody counts."""


class Runs(Backgrounds):
    """All of them. Each is told of when its work has ended, as a request of its own: accepting it is none.

    Used on the event loop only; has a life, because what runs must be stopped.
    """

    def __init__(self, keep: KeepAnswer, clock: Clock, tell: Callable[[Served], None] = _nobody) -> None:
        self._keep, self._clock, self._served = keep, clock, tell
        self._running: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._beginning = 0  # more that are being written down
        self._ended: dict[str, Run] = {}

    async def start(self) -> None:
        """It has nothing to begin with."""

    async def aclose(self) -> None:
        """Stop all. They stay written down as unfinished."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def running(self) -> Collection[str]:
        """Ids of responses that are being worked on."""
        return self._running.keys()

    def find(self, id_: str, owner: str) -> Run | None:
        """One whose events can be read. Somebody else's is not there."""
        run = self._running[id_][0] if id_ in self._running else self._ended.get(id_)
        return run if run is not None and run.owner == owner else None

    def listen(self, id_: str, owner: str, after: int) -> AsyncIterator[bytes]:
        """Its events behind that number. Raises `Malformed` where they are gone."""
        run = self.find(id_, owner)
        if run is None or not run.reaches(after):
            raise Malformed(teaching.response_events_gone(id_), "stream")
        return run.events(after)

    async def cancel(self, id_: str, owner: str) -> None:
        """Stop one; when this returns the child works on it no more. Raises `NotFound` for one that does not run."""
        run = self.find(id_, owner)
        if run is None:
            raise NotFound(teaching.response_not_kept(id_))
        if id_ in self._running:
            task = self._running[id_][1]
            run.reply.leave()
            await asyncio.wait([task])

    def forget(self, id_: str) -> None:
        """It was deleted: nobody reads its events any more."""
        self._ended.pop(id_, None)

    async def begin(self, keeps: Keeps, request: LaneRequest, reply: Reply, answer: Answer) -> None:
        job: Any = keeps
        if len(self._running) + self._beginning >= MOST_RUNNING:
            raise Busy(teaching.too_many_in_background(MOST_RUNNING), 5.0)
        record, begun = self._own_record(request), False
        self._beginning += 1
        try:
            job.begin(self._clock.wall())
            run = Run(job, record.key)
            run.push(job.writer.queue())
            warning = await self._write(job, run.owner)
            begun = True
        finally:
            self._beginning -= 1
            if not begun and record.tab is not None:
                record.tab.settle(self._clock.wall(), admitted=False)
        request.record.accepted, run.asked = True, request.record
        headers = warning_headers([*job.warnings, *([warning] if warning else [])])
        task = asyncio.create_task(self._work(run, job, request._replace(record=record), answer))
        self._running[run.id] = (run, task)
        try:
            if job.follows:
                await _follow(run, reply, headers)
            else:
                send_whole(reply, codec.encode(job.writer.response()), headers)
        finally:
            if record.tab is not None and run.id in self._running:
                run.account = (
                    record.tab.account
                )  # the same request: its place at the door stays taken until the work is done
                run.account.running += 1

    def _own_record(self, request: LaneRequest) -> RequestRecord:
        """The work's: the request's own ends with this answer. Raises `OverQuota` now, while its caller listens."""
        asked = request.record
        record = RequestRecord(asked.trace, asked.started)
        record.model, record.known, record.stream = asked.model, asked.known, True  # told event by event, whoever reads
        record.parent, record.dialect = asked.parent, asked.dialect
        record.key, record.weight = asked.key, asked.weight
        if asked.tab is not None:
            record.tab = asked.tab.twin()
            tokens = expected(request.body, answers=True) if record.tab.counts_tokens else 0
            record.tab.reserve(self._clock.now(), self._clock.wall(), chat=True, tokens=tokens)
        return record

    async def _work(self, run: Run, job: Behind, request: LaneRequest, answer: Answer) -> None:
        kept = False
        try:
            try:
                await answer(request, run.reply)
                failed = run.reply.refusal
            except BlazarError as error:
                request.record.refuse(error)
                failed = Failed(500, str(error))
            if failed is not None:
                request.record.status = failed.status
                run.push(job.writer.write(failed))
            run.push(job.writer.cancel())  # says nothing where it has ended
            kept = not await self._write(job, run.owner)
        finally:
            if request.record.tab is not None:
                request.record.tab.settle(self._clock.wall(), admitted=False)
            if run.account is not None:
                run.account.leave()
            self._tell(run, request)
            self._running.pop(run.id, None)
            run.end(kept=kept)
            self._remember(run)

    def _tell(self, run: Run, request: LaneRequest) -> None:
        """It counts now, as what it was."""
        record, asked = request.record, run.asked
        if asked is not None and asked.known and not record.known:
            record.call_it(asked.model)
        record.left = record.left or run.reply.gone
        record.status = record.status or run.reply.status
        self._served(record.served(request.method, request.path, record.dialect, PEER, self._clock.now()))

    async def _write(self, job: Behind, owner: str) -> str:
        saved = await asyncio.to_thread(job.saved, owner, b"", self._clock.wall())
        return "" if saved is None else await asyncio.to_thread(self._keep, saved)

    def _remember(self, run: Run) -> None:
        self._ended[run.id] = run
        while sum(each.size for each in self._ended.values()) > ALL_BUFFERS:
            del self._ended[next(iter(self._ended))]


async def _follow(run: Run, reply: Reply, headers: Headers) -> None:
    """Carry its events to the caller that asked for it; when that leaves, the response goes on."""
    flowing = asyncio.Event()
    flowing.set()
    reply.start(200, [(b"content-type", EVENT_STREAM), *STREAM_HEADERS, *headers])

    async def pump() -> None:
        async for data in run.events(-1):
            await flowing.wait()
            reply.write(data)
        reply.finish()
        reply.release()

    reply.on_gone = reply.release
    reply.on_pause, reply.on_resume = flowing.clear, flowing.set
    pumping = asyncio.create_task(pump())
    try:
        await reply.carry()
    finally:
        reply.on_gone = reply.on_pause = reply.on_resume = None
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)
