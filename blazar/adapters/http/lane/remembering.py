"""The semantic cache on the way of a chat: its question becomes a vector, an answer to one like it is given again, else the answer is kept.

What may be shared, and how alike is alike, is the domain's. Loads nothing and waits for no slot: vectors come from an embedding model
that serves anyway and is free, and where there is none the request goes its way as if this were not there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job
from blazar.adapters.http.lane.joining import JOINED, PATHS
from blazar.adapters.http.lane.passing import PassingReply
from blazar.adapters.http.lane.relay import send_whole
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.voice import spoken
from blazar.adapters.http.lane.watch import Watch, switch
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.clock import Clock
from blazar.application.ports.upstream import ChildCall, Headers
from blazar.application.supervise.leasing import Lease, Leasing
from blazar.application.supervise.views import InstanceView, Supervising
from blazar.domain import teaching
from blazar.domain.admission.work import ORDINARY
from blazar.domain.errors import BlazarError, ChildDied
from blazar.domain.kinds import Task
from blazar.domain.semcache import (
    LARGEST_ANSWER,
    Entry,
    Kept,
    Partition,
    Question,
    SemanticCache,
    nearest,
    question_in,
    unit_vector,
)

logger = logging.getLogger("blazar.cache")

CACHE_HEADER: Final = b"x-blazar-cache"
SESSION_HEADER: Final = b"x-blazar-session"
NOTE: Final = "cache"
"""The note of a request's record, counted by its `outcome`."""
LARGEST_BODY: Final = 64 * 1024
WITHIN: Final = 2.0
"""Seconds that a vector may take. Nobody waits longer for the chance of an answer that may not be there."""
OFF_LOOP: Final = 20_000
"""Products that are summed up here; more, half a millisecond's worth, in a thread."""
_TOLD: Final = b"x-blazar-warning"

Answer = Callable[[LaneRequest, Reply], Awaitable[None]]
Pay = Callable[[RequestRecord], None]


class Vector(NamedTuple):
    """Of a question, and what made it."""

    numbers: Any
    embedder: tuple[str, str, str]


@dataclass(slots=True)
class Remembering:
    """One per daemon. Used on the event loop only."""

    leasing: Leasing
    supervising: Supervising
    clock: Clock
    cache: SemanticCache = field(default_factory=SemanticCache)
    _embedder: str = field(default="", init=False)
    _warned: bool = field(default=False, init=False)

    def question(self, job: Job, request: LaneRequest, reply: Reply) -> Question | None:
        """What is asked, where an answer may be shared both ways and somebody wants that. Raises `Malformed` for a header that is no switch."""
        if request.path not in PATHS:
            return None
        wish = switch(request.headers, CACHE_HEADER)
        if not (self.cache.settings.enabled if wish is None else wish):
            return None
        given = job.schema is not None or job.constraint or job.tools or job.vision or job.keeps is not None
        if given or job.stream or job.load_only or job.keep_alive == 0 or not reply.shares:
            if wish:
                job.warnings = (*job.warnings, teaching.warn_cache_passed())
            return None
        if len(request.body) > LARGEST_BODY or SESSION_HEADER in request.headers:
            return None
        found = question_in(codec.body_object(request.body), _marks(request.headers))
        if found is not None and job.watch is None:
            job.watch = Watch(None, "", tells=False)  # what is odd is not kept, whoever wants to hear of it
        return found

    async def serve(
        self, question: Question, job: Job, request: LaneRequest, reply: Reply, ways: tuple[Answer, Pay]
    ) -> None:
        """Answer from the cache, for which the request pays as for any answer, or with `ways[0]`, and keep what came of it."""
        (answer, pay), record = ways, request.record
        vector = await self._vector_of(question.text)
        if reply.gone:
            return
        if vector is None:
            await answer(request, reply)
            return
        scope = request.key_models
        where = Partition(record.key, scope, job.model, request.path, question.frame, vector.embedder)
        found = await self._nearest(vector, where)
        if found is not None and not reply.gone:
            pay(record)
            entry, alike = found
            record.note(self.clock.now(), NOTE, outcome="hit", alike=round(alike, 4))
            send_whole(reply, entry.kept.body, [*entry.kept.headers, (CACHE_HEADER, b"hit")])
            return
        record.note(self.clock.now(), NOTE, outcome="miss")
        copied = CopiedReply(reply)
        await answer(request, copied)
        own = all(
            code != JOINED for _, code, _ in record.notes
        )  # of another request's only that one knows whether it is odd
        if own and (body := copied.whole) is not None and job.watch is not None and not job.watch.odd:
            self._keep(Entry(where, vector.numbers, Kept(body, copied.told, *self._child(record)), self.clock.now()))

    async def _nearest(self, vector: Vector, where: Partition) -> tuple[Entry, float] | None:
        """An answer to a question like it, whose child still serves; of another one nobody knows whether it would say the same."""
        entries = self.cache.candidates(where, self.clock.now())
        if not entries:
            return None
        threshold = self.cache.settings.threshold
        if len(entries) * len(vector.numbers) > OFF_LOOP:
            found = await asyncio.to_thread(nearest, vector.numbers, entries, threshold)
        else:
            found = nearest(vector.numbers, entries, threshold)
        if found is None:
            return None
        kept = found[0].kept
        if any(view.key == kept.instance and view.pid == kept.pid for view in self.supervising.views()):
            return found
        self.cache.drop(found[0])
        return None

    def _child(self, record: RequestRecord) -> tuple[str, int]:
        """Who answered, and its process."""
        view = next((view for view in self.supervising.views() if view.key == record.instance), None)
        return ("", 0) if view is None else (view.key, view.pid)

    def _keep(self, entry: Entry) -> None:
        if entry.kept.instance:
            self.cache.put(entry)

    async def _vector_of(self, text: str) -> Vector | None:
        """None where nobody can make one at once, or what is made is of no use."""
        lease = self._embedder_now()
        if lease is None:
            if not self._embedder and not self._warned and self.cache.settings.enabled:
                self._warned = True
                logger.warning("%s", teaching.cache_without_embedder())
            return None
        failed = False
        try:
            body = codec.encode({"input": text, "model": lease.called})
            call, _ = spoken(ChildCall(b"POST", b"/v1/embeddings", body, JSON_BODY), lease.manners, lease.ctx)
            said = await lease.upstream.fetch(call, WITHIN)
            failed = said.status >= 500
            numbers = unit_vector(_numbers_in(said.body)) if said.status < 300 else None
        except BlazarError as error:
            # One that is only slow is no failure of its own: we are the ones in a hurry.
            failed, numbers = isinstance(error, ChildDied), None
        finally:
            lease.release(failed=failed)
        if numbers is None:
            return None
        return Vector(numbers, (lease.key, lease.engine, lease.model.digest))

    def _embedder_now(self) -> Lease | None:
        """A place at the embedding model that made the last vector, or at the first one that has a place; never a wait, never a load."""
        lease = self._embedder and self.leasing.try_lease(self._embedder, Task.EMBED, ORDINARY)
        if lease:
            return self._fit(lease)
        for view in self.supervising.views():
            if (lease := self._of(view)) is not None:
                self._embedder = view.model
                return lease
        return None

    def _of(self, view: InstanceView) -> Lease | None:
        lease = self.leasing.try_lease(view.model, Task.EMBED, ORDINARY)
        return None if lease is None else self._fit(lease)

    @staticmethod
    def _fit(lease: Lease) -> Lease | None:
        """One that makes a vector for each token is of no use here."""
        if not lease.late:
            return lease
        lease.release()
        return None


class CopiedReply(PassingReply):
    """A reply that tells that its answer was looked for in vain, and has a copy of it where it is whole, good and not too large."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._parts: list[bytes] = []
        self._size = 0
        self._good = self._finished = False
        self.told: Headers = ()

    @property
    def whole(self) -> bytes | None:
        """All of a good answer that has left whole."""
        good = self._good and self._finished and 0 < self._size <= LARGEST_ANSWER and not self.gone
        return b"".join(self._parts) if good else None

    def start(self, status: int, headers: Headers) -> None:
        self._good = status == 200
        self.told = [header for header in headers if header[0] == _TOLD]
        super().start(status, [*headers, (CACHE_HEADER, b"miss")] if self._good else headers)

    def write(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= LARGEST_ANSWER:
            self._parts.append(data)
        super().write(data)

    def finish(self) -> None:
        self._finished = True
        super().finish()

    def abort(self) -> None:
        self._good = False
        super().abort()


def _marks(headers: Mapping[bytes, bytes]) -> list[bytes]:
    """Headers by which an answer may be another one."""
    return [name + b":" + value for name, value in sorted(headers.items()) if name.startswith(b"anthropic-")]


def _numbers_in(raw: bytes) -> Any:
    try:
        return codec.decode(raw)["data"][0]["embedding"]
    except (ValueError, TypeError, LookupError):
        return None
