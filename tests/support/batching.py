"""Everything around batches with nothing real in it: files, papers and rows in memory, answers that a test scripts."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from blazar.application.batches.ledger import Ledger
from blazar.application.batches.manage import ManageBatches
from blazar.application.batches.runner import BatchRunner
from blazar.application.batches.work import BatchWork
from blazar.application.files.shelf import FileNote, FileShelf
from blazar.application.ports.clock import Clock
from blazar.composition.tasks import guarded
from blazar.domain.batches import Batch
from blazar.domain.kinds import Dialect
from tests.fakes.answering import ScriptedAnswering
from tests.fakes.batch_papers import MemoryPapers
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import CountingEntropy
from tests.fakes.kept_files import MemoryKeptFiles
from tests.fakes.saved import MemorySaved

T = TypeVar("T")
CHAT = "/v1/chat/completions"


async def at_once(work: Callable[[], T]) -> T:
    """Blocking work of fakes, which do not block."""
    return work()


class Batches:
    """One installation; `restart` is a killed daemon's successor on the same disk."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.store, self.kept = MemorySaved(), MemoryKeptFiles()
        self.papers = MemoryPapers(self.kept)
        self.entropy = CountingEntropy()
        self.shelf = FileShelf(self.store, self.kept, self.clock, self.entropy)
        self.answering = ScriptedAnswering()
        self.task: asyncio.Task[None] | None = None
        self._build()

    def _build(self) -> None:
        ledger = Ledger(self.store, self.clock, at_once)
        work = BatchWork(ledger, self.papers, self.answering, self.shelf)
        self.work, self.runner = work, BatchRunner(work, guarded)
        self.manage = ManageBatches(self.shelf, self.papers, self.runner, self.entropy, (CHAT,), at_once)

    def start(self) -> None:
        """The runner begins."""
        self.task = asyncio.create_task(self.runner.run())

    async def stop(self) -> None:
        """As at the daemon's end: whatever it does is given up."""
        if self.task is not None:
            assert not self.task.done(), self.task.exception()
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
            self.task = None

    async def restart(self) -> None:
        """Nothing but what was written survives."""
        await self.stop()
        self.answering = ScriptedAnswering()
        self._build()
        self.start()

    def upload(self, data: bytes, owner: str = "", purpose: str = "batch") -> FileNote:
        """A file that a client sent."""
        intake = self.kept.begin()
        intake.write(data)
        return self.shelf.keep(intake, owner, "in.jsonl", purpose, 0)

    async def make(self, *lines: dict[str, Any], owner: str = "", **more: Any) -> Batch:
        """An OpenAI batch of these lines."""
        note = self.upload(b"".join(json.dumps(one).encode() + b"\n" for one in lines), owner)
        order = {"input_file_id": note.id, "endpoint": CHAT, "completion_window": "24h", **more}
        return (await self.manage.make(owner, order)).batch

    async def make_messages(self, *ids: str, owner: str = "") -> Batch:
        """A message batch of requests with these ids."""
        requests = [{"custom_id": id_, "params": {"model": "m", "max_tokens": 1, "messages": []}} for id_ in ids]
        return (await self.manage.make_messages(owner, {"requests": requests})).batch

    async def now(self, batch: Batch) -> Batch:
        """As it is this moment."""
        return await self.manage.find(batch.dialect, batch.id, batch.owner)

    def results(self, id_: str) -> list[Any]:
        """The lines of a kept file."""
        return [json.loads(line) for line in self.kept.files[id_].splitlines()]


def line(custom_id: str, **more: Any) -> dict[str, Any]:
    """A line of an input file."""
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": {"model": "m", "messages": []}, **more}


def run(test: Callable[[Batches], Any]) -> None:
    """Run an async test on a fresh installation whose runner works, and end it."""

    async def main() -> None:
        batches = Batches()
        batches.start()
        try:
            await test(batches)
        finally:
            await batches.stop()

    asyncio.run(main())


def a_batch(**changes: Any) -> Batch:
    """One that was just made."""
    facts: dict[str, Any] = {"owner": "", "dialect": Dialect.OPENAI, "endpoint": CHAT}
    return Batch(**{"id": "batch_1", **facts, "created_at": 1000.0, "expires_at": 2000.0, **changes})
