"""A lane with nothing real around it: a lease a test hands out, a child it answers for, a client that it lets leave."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blazar.adapters.http.lane.core import Lane
from blazar.adapters.http.lane.judge import SchemaJudge, Verdict
from blazar.adapters.http.lane.relay import Limits
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.record import RequestRecord
from blazar.adapters.http.schemas import JsonSchemas
from blazar.application.ports.upstream import Headers
from blazar.application.supervise.leasing import Ask, Lease, Leasing
from blazar.application.supervise.views import InstanceView, Supervising
from blazar.domain.admission.work import ORDINARY, Work
from blazar.domain.errors import BlazarError, Fault, ModelNotFound
from blazar.domain.kinds import Task, Weights
from blazar.domain.manners import LLAMACPP
from blazar.domain.records import Model
from blazar.domain.sentinel import Finding, Wanted
from blazar.domain.tab import Tab
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.structured import Asked
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import FakeExchange, FakeUpstream

if TYPE_CHECKING:
    from blazar.domain.quota import Account

SSE: Headers = ((b"content-type", b"text/event-stream"),)
JSON: Headers = ((b"content-type", b"application/json"),)
TRACE = "plm-1-1"


def a_model(name: str = "tiny") -> Model:
    """A row."""
    return Model(
        name, ("/m/x.gguf",), (1,), Weights.GGUF, "llama", "Q4_0", 1, 2048, 64, None, True, True, "0" * 64, 0.0
    )


class FakeLease(Lease):
    """Counts its releases."""

    def __init__(
        self, upstream: FakeUpstream, name: str, queue_seconds: float = 0.0, load_seconds: float = 0.0
    ) -> None:
        self.model = a_model(name)
        self.key, self.engine = name, "b1"
        self.upstream = upstream
        self.ctx, self.ctx_key = 2048, "ctx"
        self.called, self.manners = name, LLAMACPP
        self.blind, self.toolless, self.late, self.guesses = "", False, "", False
        self.thoughtless = False
        self.load_seconds, self.queue_seconds = load_seconds, queue_seconds
        self.released: list[tuple[float | None, bool]] = []
        self.abandoned: list[float | None] = []
        self.said_last = ""
        self.condemned = False
        self.handed_back: list[Work] = []

    def abandon(self, keep_alive: float | None = None) -> None:
        self.abandoned.append(keep_alive)

    def release(self, keep_alive: float | None = None, *, failed: bool = False) -> None:
        self.released.append((keep_alive, failed))

    def hand_back(self, work: Work) -> None:
        self.handed_back.append(work)
        self.release()

    def condemn(self) -> None:
        self.condemned = True

    async def explain(self, fault: Fault) -> Fault:
        await asyncio.sleep(0)
        return type(fault)(f"{fault}; {self.said_last}") if self.said_last else fault


class FakeLeasing(Leasing):
    """Grants at once, or with `busy` only when the test calls `grant` or `refuse`. Knows one model, `tiny`, also as `tiny:latest`."""

    def __init__(self, upstream: FakeUpstream) -> None:
        self.upstream = upstream
        self.busy = False
        self.asks: list[Ask] = []
        self.works: list[Work] = []
        self.leases: list[FakeLease] = []
        self.waiting: list[asyncio.Future[Lease]] = []
        self.cancelled = 0
        self.said_last = ""
        self.blind, self.toolless, self.late, self.guesses = "", False, "", False
        self.thoughtless = False
        self.called, self.manners = "tiny", LLAMACPP
        self.ctx_key = "ctx"

    def try_lease(self, model: str, task: Task = Task.CHAT, work: Work = ORDINARY) -> Lease | None:
        self.works.append(work)
        return None if self.busy or model not in ("tiny", "tiny:latest") else self._make()

    def check(self, ask: Ask) -> None:
        if ask.model not in ("tiny", "tiny:latest"):
            raise ModelNotFound(ask.model, ("tiny",))

    async def lease(self, ask: Ask) -> Lease:
        self.asks.append(ask)
        self.check(ask)
        if ask.charge is not None:
            ask.charge()
        if not self.busy:
            return self._make()
        future: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def grant(self) -> None:
        """Let the first in line in."""
        self.waiting.pop(0).set_result(self._make(queue_seconds=1.5))

    def refuse(self, error: BlazarError) -> None:
        """Turn the first in line away."""
        self.waiting.pop(0).set_exception(error)

    def _make(self, queue_seconds: float = 0.0) -> FakeLease:
        lease = FakeLease(self.upstream, "tiny", queue_seconds)
        lease.said_last, lease.blind, lease.toolless = self.said_last, self.blind, self.toolless
        lease.late, lease.guesses, lease.thoughtless = self.late, self.guesses, self.thoughtless
        lease.called, lease.manners, lease.ctx_key = self.called, self.manners, self.ctx_key
        self.leases.append(lease)
        return lease


class FakeSupervising(Supervising):
    """Remembers what was evicted."""

    def __init__(self) -> None:
        self.evicted: list[str] = []

    def views(self) -> list[InstanceView]:
        return []

    async def load(self, model: str, keep_alive: float | None = None) -> InstanceView:
        raise AssertionError(model)

    async def evict(self, ref: str, *, force: bool = False, cause: str = "asked") -> list[str]:
        self.evicted.append(ref)
        return [ref]

    def reset(self) -> list[str]:
        return []


class MemoryReply(Reply):
    """What the client got. `leave()` is its hanging up."""

    def __init__(self) -> None:
        self.gone = False
        self.on_gone: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.writes: list[bytes] = []
        self.finished = self.aborted = self.released = False
        self._wake: asyncio.Future[None] | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self.writes)

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]

    def start(self, status: int, headers: Headers) -> None:
        assert not self.status, "two heads"
        self.status, self.headers = status, list(headers)

    def write(self, data: bytes) -> None:
        assert self.status, "a body before its head"
        assert not self.finished, "bytes after the end"
        if not self.gone:
            self.writes.append(data)

    def finish(self) -> None:
        assert not self.finished, "two ends"
        self.finished = True

    def abort(self) -> None:
        self.aborted = True

    async def carry(self) -> None:
        if not self.released and not self.gone:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        self.released = False

    def release(self) -> None:
        self.released = True
        self._rouse()

    def leave(self) -> None:
        """The client hangs up."""
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()
        self._rouse()

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class WatchedJudge(SchemaJudge):
    """Says whether it is at work: it works in a thread, and no clock of a test knows of that."""

    judging = 0

    async def judge(self, asked: Asked | None, answers: Sequence[Answer], wanted: Wanted | None) -> Verdict:
        self.judging += 1
        try:
            return await super().judge(asked, answers, wanted)
        finally:
            self.judging -= 1

    async def look_back(self, seen: Seen, wanted: Wanted) -> tuple[Finding, ...]:
        self.judging += 1
        try:
            return await super().look_back(seen, wanted)
        finally:
            self.judging -= 1


class Rig:
    """Everything around one lane."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - immutable
        self.clock = FakeClock()
        self.upstream = FakeUpstream()
        self.leasing = FakeLeasing(self.upstream)
        self.supervising = FakeSupervising()
        self.lane = Lane(self.leasing, self.supervising, self.clock, JsonSchemas(), limits)
        self.judge = self.lane.judge = WatchedJudge(JsonSchemas())
        self.tasks: list[asyncio.Task[None]] = []
        self.records: list[RequestRecord] = []
        self.account: Account | None = None
        """Of the key that the next requests show."""

    async def post(self, path: str, body: Any, headers: Mapping[bytes, bytes] | None = None) -> MemoryReply:
        """Begin a request and let it get as far as it can."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        record = RequestRecord(TRACE, self.clock.now())
        record.tab = None if self.account is None else Tab(self.account)
        self.records.append(record)
        reply = MemoryReply()
        request = LaneRequest("POST", path, b"", headers or {}, raw, record)
        task = asyncio.create_task(self.lane.serve(request, reply))
        self.tasks.append(task)
        before = self._asked_for
        await self.clock.settle()
        async with asyncio.timeout(20):  # a large body or a schema is looked at in a thread
            while not task.done() and self._asked_for == before:
                await asyncio.sleep(0)
        await self.clock.settle()
        return reply

    @property
    def _asked_for(self) -> int:
        return len(self.leasing.asks) + len(self.leasing.leases)

    async def answer(self, data: bytes, status: int = 200) -> None:
        """Answer the newest exchange whole."""
        exchange = self.exchange
        exchange.head(status, JSON)
        exchange.body(data)
        exchange.end()
        await self.clock.settle()
        async with asyncio.timeout(20):
            while self.judge.judging:
                await asyncio.sleep(0)
        await self.clock.settle()

    @property
    def exchange(self) -> FakeExchange:
        return self.upstream.exchanges[-1]

    @property
    def asked(self) -> Any:
        """What the child was asked last."""
        return json.loads(self.exchange.call.body)

    @property
    def lease(self) -> FakeLease:
        return self.leasing.leases[-1]

    async def finished(self) -> None:
        """Every request has ended, every lease is back exactly once, no timer is left."""
        await self.clock.settle()
        async with asyncio.timeout(20):
            while self.judge.judging:
                await asyncio.sleep(0)
        await self.clock.settle()
        for task in self.tasks:
            assert task.done(), "a request hangs"
            task.result()
        for lease in self.leasing.leases:
            assert len(lease.released) == 1, "a lease must come back once"
        assert self.clock.pending == 0


def run(test: Callable[[Rig], Any], limits: Limits = Limits()) -> None:  # noqa: B008 - immutable
    """Run an async test on a fresh rig and check that it left nothing behind."""

    async def main() -> None:
        rig = Rig(limits)
        await test(rig)
        await rig.finished()

    asyncio.run(main())


def chunk(content: str | None = None, *, finish: str | None = None, model: str = "tiny", **more: Any) -> bytes:
    """One event of a chat stream, as llama-server writes it."""
    delta = {} if content is None else {"content": content}
    choice = {"finish_reason": finish, "index": 0, "delta": {**delta, **more}}
    whole = {"choices": [choice], "created": 1, "id": "c1", "model": model, "object": "chat.completion.chunk"}
    return b"data: " + json.dumps(whole, separators=(",", ":")).encode() + b"\n\n"


def usage_chunk(prompt: int = 11, completion: int = 7) -> bytes:
    """The trailing event with the counts."""
    counts = {"completion_tokens": completion, "prompt_tokens": prompt, "total_tokens": prompt + completion}
    whole = {
        "choices": [],
        "created": 1,
        "id": "c1",
        "model": "tiny",
        "object": "chat.completion.chunk",
        "usage": counts,
    }
    return b"data: " + json.dumps(whole, separators=(",", ":")).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def whole_chat(content: str = "hello", model: str = "tiny") -> bytes:
    """A buffered chat answer, as llama-server writes it."""
    message = {"role": "assistant", "content": content}
    return json.dumps(
        {
            "choices": [{"finish_reason": "stop", "index": 0, "message": message}],
            "created": 1,
            "model": model,
            "object": "chat.completion",
            "usage": {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18},
            "id": "c1",
        },
        separators=(",", ":"),
    ).encode()
