"""Answers that are kept: what a request goes on from is fetched before it, and its answer is written down before its last bytes leave.

A caller that has read the end can therefore ask for the response at once. Decides nothing about what is kept: the job knows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.lane.job import Keeps
from blazar.adapters.http.lane.passing import PassingReply
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.application.kept.keep_answer import LARGEST, KeepAnswer
from blazar.application.kept.read_files import ReadFiles
from blazar.application.kept.recall_response import RecallResponse
from blazar.application.ports.clock import Clock
from blazar.application.ports.upstream import Headers
from blazar.domain import teaching
from blazar.domain.wire.responses_items import Recalled, file_ids

Answer = Callable[[LaneRequest, Reply], Awaitable[None]]
"""The way of any other request: lease, ask, relay."""


class Backgrounds(Protocol):
    """Answers that nobody waits for."""

    async def begin(self, keeps: Keeps, request: LaneRequest, reply: Reply, answer: Answer) -> None:
        """Set one going and tell its caller so."""
        ...


class Keeper:
    """One per daemon."""

    def __init__(
        self, keep: KeepAnswer, recall: RecallResponse, files: ReadFiles, runs: Backgrounds, clock: Clock
    ) -> None:
        self._keep, self._recall, self._files, self._runs, self._clock = keep, recall, files, runs, clock

    async def serve(self, keeps: Keeps, request: LaneRequest, reply: Reply, answer: Answer) -> None:
        """Answer with `answer`, and keep what came of it."""
        owner = request.record.key
        if keeps.previous or keeps.references or keeps.files:
            await asyncio.to_thread(self._fetch, keeps, owner)
        if keeps.background:
            await self._runs.begin(keeps, request, reply, answer)
        elif not keeps.stores:
            await answer(request, reply)
        else:
            await self._answer_and_keep(keeps, request, reply, answer)

    def _fetch(self, keeps: Keeps, owner: str) -> None:
        history = self._recall.history(keeps.previous, owner) if keeps.previous else ()
        found = self._recall.items(keeps.references, owner)
        files = (*keeps.files, *file_ids((*history, *found.values())))
        keeps.recall(Recalled(history, found, self._files(dict.fromkeys(files), owner)))

    async def _answer_and_keep(self, keeps: Keeps, request: LaneRequest, reply: Reply, answer: Answer) -> None:
        if keeps.stream and self._keep.trouble:
            # A stream's head leaves long before its end is written down: what failed the last time is told for this one.
            keeps.warnings = (*keeps.warnings, teaching.warn_not_kept(teaching.disk_will_not()))
        kept = KeptReply(reply, keeps)
        await answer(request, kept)
        if not kept.holds:
            return
        warning = ""
        try:
            warning = await asyncio.to_thread(self._write, keeps, request.record.key, kept.sent)
        finally:
            kept.let_go(warning)

    def _write(self, keeps: Keeps, owner: str, sent: bytes | None) -> str:
        if sent is None:
            return teaching.warn_not_kept(teaching.too_large_to_keep(LARGEST))
        saved = keeps.saved(owner, sent, self._clock.wall())
        return "" if saved is None else self._keep(saved)


class KeptReply(PassingReply):
    """A reply whose last bytes wait until the answer is written down. Refusals pass."""

    def __init__(self, reply: Reply, keeps: Keeps) -> None:
        super().__init__(reply)
        self._keeps = keeps
        self._head: tuple[int, Headers] | None = None
        self._copy: list[bytes] = []
        self._size = 0
        self._held: list[bytes] = []
        self._finished = self._refused = False
        self.holds = False
        """The answer is whole, and waits."""

    @property
    def sent(self) -> bytes | None:
        """Everything that was written, where that is what is kept; None where it is too much."""
        return None if self._size > LARGEST else b"".join(self._copy)

    def start(self, status: int, headers: Headers) -> None:
        if status == 200:
            self._head = (status, headers)
        else:
            self._reply.start(status, headers)
            self._refused = True

    def write(self, data: bytes) -> None:
        if self._refused:
            self._reply.write(data)
            return
        if self._keeps.collects:
            self._size += len(data)
            if self._size <= LARGEST:
                self._copy.append(data)
            else:
                self._copy.clear()
        self.holds = self.holds or self._keeps.ends(data)
        if self.holds:
            self._held.append(data)
            return
        self._send_head()
        self._reply.write(data)

    def finish(self) -> None:
        # Where no bytes said that they were the last, the end itself waits.
        self.holds = self.holds or (self._keeps.collects and not self._refused)
        if self.holds:
            self._finished = True
        else:
            self._send_head()
            self._reply.finish()

    def let_go(self, warning: str) -> None:
        """It is written down, or the warning says that it is not; one that can no longer be sent is for the next caller."""
        self._send_head(warning)
        for data in self._held:
            self._reply.write(data)
        if self._finished:
            self._reply.finish()

    def _send_head(self, warning: str = "") -> None:
        if self._head is not None:
            (status, headers), self._head = self._head, None
            self._reply.start(status, [*headers, *warning_headers([warning])] if warning else headers)
