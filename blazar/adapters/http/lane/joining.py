"""Identical buffered chats that come while one of them is being answered wait for its answer, and get the same bytes (`singleflight`).

Decides what counts as identical, and whose leaving matters. Knows no children and no sentences; who is alone pays a look into a dict.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from blazar.adapters.http.lane.job import Job
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.watch import SENTINEL
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.clock import Clock
from blazar.application.ports.upstream import Headers

PATHS: Final = frozenset({"/v1/chat/completions", "/v1/messages", "/api/chat"})
WITHIN: Final = 5.0
"""Seconds that a request waits for another one's answer (setup document); then it goes its own way, as if it had just come."""
JOINED: Final = "joined"
"""The note of a record whose answer was another request's."""
_OWN: Final = frozenset({b"x-blazar-queue-ms"})
"""Headers of an answer that are about one request's way to it."""
_MATTER: Final = (b"x-blazar-", b"anthropic-")

Answer = Callable[[LaneRequest, Reply], Awaitable[None]]
Pay = Callable[[RequestRecord], None]
Alike = tuple[str, str, int, frozenset[str] | None, tuple[tuple[bytes, bytes], ...]]


def joinable(job: Job, path: str, reply: Reply) -> bool:
    """Whether the answer of one such request is the answer of another."""
    return not job.stream and path in PATHS and reply.shares and job.keeps is None and not job.load_only


class Flight(Reply):
    """One answer that is being made: where its leader writes it, and who else waits for it.

    It is given up only when everybody has left: a leader's leaving is nothing to its followers.
    """

    def __init__(self, request: LaneRequest, leader: Reply) -> None:
        self.body, self.record = request.body, request.record
        self._leader = leader
        self._followers: list[asyncio.Future[None]] = []
        self._released = asyncio.Event()
        self._parts: list[bytes] = []
        self._head: tuple[int, Headers] | None = None
        self._finished = self._aborted = False
        self.on_gone: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None
        leader.on_gone = self._left

    @property
    def gone(self) -> bool:  # type: ignore[override] # the port's is a variable
        return self._leader.gone and not self._followers

    @property
    def good(self) -> bool:
        """Whether it is an answer that others may have. What went wrong is the leader's alone: they try for themselves."""
        return self._finished and not self._aborted and self._head is not None and self._head[0] == 200

    def start(self, status: int, headers: Headers) -> None:
        self._head = (status, headers)

    def write(self, data: bytes) -> None:
        self._parts.append(data)

    def finish(self) -> None:
        self._finished = True

    def abort(self) -> None:
        self._aborted = True

    async def carry(self) -> None:
        await self._released.wait()
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    async def follow(self, reply: Reply, clock: Clock) -> None:
        """Wait until it is over, the time is up, or this client leaves."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._followers.append(waiting)
        timer = clock.call_later(WITHIN, lambda: _wake(waiting))
        reply.on_gone = lambda: _wake(waiting)
        try:
            await waiting
        finally:
            timer.cancel()
            reply.on_gone = None
            self._followers.remove(waiting)
            self._left()

    def over(self) -> None:
        """Nothing more is written."""
        self._leader.on_gone = None
        for waiting in self._followers:
            _wake(waiting)

    def hand_to(self, reply: Reply, *, leads: bool) -> None:
        """Everything that was written."""
        if self._head is not None:
            status, headers = self._head
            reply.start(status, headers if leads else [one for one in headers if one[0] not in _OWN])
        for data in self._parts:
            reply.write(data)
        if self._finished:
            reply.finish()
        if self._aborted:
            reply.abort()

    def _left(self) -> None:
        if self.gone:
            if self.on_gone is not None:
                self.on_gone()
            self._released.set()


class Joining:
    """The answers that are being made now. Used on the event loop only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._flights: dict[Alike, list[Flight]] = {}

    async def serve(self, request: LaneRequest, reply: Reply, answer: Answer, pay: Pay) -> None:
        """Answer with `answer`, or with what somebody else's gave. Each pays as if it had been answered alone: `pay` may refuse."""
        alike = _alike(request)
        flight = next((one for one in self._flights.get(alike, ()) if one.body == request.body), None)
        if flight is None:
            await self._lead(alike, request, reply, answer)
            return
        begun = self._clock.now()
        await flight.follow(reply, self._clock)
        request.record.queue_seconds = self._clock.now() - begun
        if reply.gone:
            return
        if flight.good:
            self._note(request.record, flight.record)
            pay(request.record)
            flight.hand_to(reply, leads=False)
        else:
            await answer(request, reply)

    async def _lead(self, alike: Alike, request: LaneRequest, reply: Reply, answer: Answer) -> None:
        flight = Flight(request, reply)
        self._flights.setdefault(alike, []).append(flight)
        try:
            await answer(request, flight)
        finally:
            held = self._flights[alike]
            held.remove(flight)
            if not held:
                del self._flights[alike]
            flight.over()
        flight.hand_to(reply, leads=True)

    def _note(self, record: RequestRecord, led: RequestRecord) -> None:
        """What it cost, and who made it."""
        record.prompt_tokens, record.completion_tokens = led.prompt_tokens, led.completion_tokens
        record.cached_tokens, record.child_status = led.cached_tokens, led.child_status
        record.instance, record.engine, record.warnings = led.instance, led.engine, led.warnings
        record.call_it(led.model)
        record.notes += [note for note in led.notes if note[1] == SENTINEL]
        record.note(self._clock.now(), JOINED, trace=led.trace)


def _alike(request: LaneRequest) -> Alike:
    """Everything but the body that a shared answer hangs on. The body's bytes are compared where its length is the same: nobody's is hashed who is alone."""
    matter = tuple(sorted(one for one in request.headers.items() if one[0].startswith(_MATTER)))
    return (request.path, request.record.key, len(request.body), request.key_models, matter)


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)
