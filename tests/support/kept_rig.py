"""The lane's rig with a keeper: what is kept lies in memory, and a test can ask as the owner of a key."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from blazar.adapters.http.lane.core import Lane
from blazar.adapters.http.lane.keeping import Keeper
from blazar.adapters.http.lane.reply import LaneRequest
from blazar.adapters.http.lane.runs import Runs
from blazar.adapters.http.record import RequestRecord
from blazar.adapters.http.schemas import JsonSchemas
from blazar.application.kept.completions import Completions
from blazar.application.kept.keep_answer import KeepAnswer
from blazar.application.kept.read_files import ReadFiles
from blazar.application.kept.recall_response import RecallResponse
from blazar.application.ports.saved import Saved
from blazar.domain.errors import StoreTrouble
from blazar.domain.tab import Tab
from tests.fakes.saved import MemorySaved
from tests.fakes.telemetry import MemoryMeter
from tests.support.batching import Batches
from tests.support.lane_rig import DONE, SSE, TRACE, MemoryReply, Rig, chunk, usage_chunk, whole_chat

RESPONSES = "/v1/responses"
CHAT = "/v1/chat/completions"


class Disk(MemorySaved):
    """A store that can be full."""

    full = False

    def add(self, saved: Saved) -> None:
        if self.full:
            raise StoreTrouble("no space left")
        super().add(saved)


class KeptRig(Rig):
    """Everything around one lane that keeps answers."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Disk()
        keep = KeepAnswer(self.store, self.clock)
        self.meter = MemoryMeter()
        self.runs = Runs(keep, self.clock, self.meter.on_served)
        self.recall = RecallResponse(self.store, self.runs.running)
        self.completions = Completions(self.store)
        self.files = Batches(self.clock)
        keeper = Keeper(keep, self.recall, ReadFiles(self.files.shelf), self.runs, self.clock)
        self.lane = Lane(self.leasing, self.supervising, self.clock, JsonSchemas(), keeper=keeper)

    async def ask(self, path: str, key: str = "", **body: Any) -> MemoryReply:
        """Begin a request as the owner of `key`, and wait until the child is asked or it is answered."""
        record = RequestRecord(TRACE, self.clock.now())
        record.key = key
        self.records.append(record)
        record.tab = None if self.account is None else Tab(self.account)
        reply = MemoryReply()
        raw = json.dumps({"model": "tiny", **body}).encode()
        before = len(self.upstream.exchanges)
        task = asyncio.create_task(self.lane.serve(LaneRequest("POST", path, b"", {}, raw, record), reply))
        self.tasks.append(task)
        await self.until(lambda: task.done() or len(self.upstream.exchanges) > before or self.leasing.waiting)
        return reply

    async def respond(self, key: str = "", said: str = "hello", **body: Any) -> MemoryReply:
        """Ask for a buffered response and have the child answer it."""
        reply = await self.ask(RESPONSES, key, **body)
        await self.answered(whole_chat(said))
        return reply

    async def answered(self, data: bytes) -> None:
        """The child answers whole, and the newest request ends."""
        self.exchange.head(200)
        self.exchange.body(data)
        self.exchange.end()
        await self.until(self.tasks[-1].done)

    def say(self, *texts: str) -> None:
        """The child goes on with a stream."""
        for text in texts:
            self.exchange.body(chunk(text))

    def begin(self) -> None:
        """The child begins a stream."""
        self.exchange.head(200, SSE)

    def end(self) -> None:
        """The child's stream is whole."""
        self.exchange.body(chunk(finish="stop") + usage_chunk() + DONE)
        self.exchange.end()

    async def until(self, holds: Callable[[], Any]) -> None:
        """Let threads and tasks work; bounded."""
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.001)


def run_kept(test: Callable[[KeptRig], Any]) -> None:
    """Run an async test on a fresh rig and check that it left nothing behind."""

    async def main() -> None:
        rig = KeptRig()
        await test(rig)
        await rig.until(lambda: not rig.runs.running())
        await rig.finished()
        await rig.runs.aclose()

    asyncio.run(main())
