"""Which batch is worked on: one request at a time in the whole daemon, the oldest batch first, each for a while.

One at a time, so that a batch never makes two models push each other out, and never takes more than one place from people. One whose
request is to be asked again later lets the others go first.
"""

import asyncio
import logging
from collections import deque
from functools import partial
from typing import Final

from blazar.application.batches.ledger import Guard, Run
from blazar.application.batches.records import KINDS, batch_of
from blazar.application.batches.work import BatchWork
from blazar.domain.batches import ACTIVE, CANCELLABLE, Batch, State
from blazar.domain.errors import BlazarError

logger = logging.getLogger("blazar.batches")

STINT: Final = 300.0
"""Seconds until another batch has its turn; long, because changing over may mean loading a model."""
AFTER_TROUBLE: Final = 30.0
"""Seconds until a batch that our own disk stopped is tried again."""


class BatchRunner:
    """One per daemon; `run` lives as long as it does."""

    def __init__(self, work: BatchWork, guard: Guard) -> None:
        self._work, self._guard = work, guard
        self._runs: dict[str, Run] = {}
        self._queue: deque[str] = deque()
        self._wake = asyncio.Event()
        self._resumed = asyncio.Event()

    def admit(self, batch: Batch) -> None:
        """Work on it from now on. Its row and its papers are there."""
        if batch.id not in self._runs:
            self._runs[batch.id] = Run(batch)
            self._enqueue(batch.id)

    def current(self, batch: Batch) -> Batch:
        """The same batch as it is this moment, which its row tells only now and then."""
        run = self._runs.get(batch.id)
        return run.batch if run is not None else batch

    async def cancel(self, batch: Batch) -> None:
        """Ask no more of it; the request under way is answered. One that is over, or ending, stays as it is."""
        if batch.over:
            return
        await self._resumed.wait()
        run = self._runs.get(batch.id)
        if run is None or run.batch.state not in CANCELLABLE:
            return
        await self._work.ledger.enter(run, State.CANCELLING)
        self._enqueue(batch.id)

    async def run(self) -> None:
        """Go on with what an earlier daemon left, then with what comes."""
        while not await self._resume():
            await self._work.ledger.clock.sleep(AFTER_TROUBLE)
        self._resumed.set()
        while True:
            self._wake.clear()
            while (id_ := self._ready()) is not None:
                await self._one(id_)
            await self._until_news()

    def _ready(self) -> str | None:
        """The first that does not rest, out of the queue. One that was cancelled need not rest any more."""
        now = self._work.ledger.clock.now()
        for id_ in self._queue:
            run = self._runs.get(id_)
            if run is None or run.rests_until <= now or run.batch.state is not State.IN_PROGRESS:
                self._queue.remove(id_)
                return id_
        return None

    async def _until_news(self) -> None:
        """A new batch, a cancelled one, or the end of the first rest."""
        clock = self._work.ledger.clock
        rests = [self._runs[id_].rests_until for id_ in self._queue]
        timer = clock.call_later(max(0.0, min(rests) - clock.now()), self._wake.set) if rests else None
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _resume(self) -> bool:
        ledger = self._work.ledger
        try:
            for kind in KINDS.values():
                rows = await ledger.aside(partial(ledger.store.with_status, kind, ACTIVE))
                for row in rows:
                    self.admit(batch_of(row))
        except BlazarError as error:
            logger.warning("%s", error)
            return False
        for run in list(self._runs.values()):
            # Now and not at its turn: until then it would look as if nothing of it had been answered.
            await self._guard(run.batch.id, partial(self._work.recall, run))
        return True

    async def _one(self, id_: str) -> None:
        run = self._runs.get(id_)
        if run is None:
            return  # cancelled while it was worked on, and over since
        sound = False

        async def stint() -> None:
            nonlocal sound
            await self._stint(run)
            sound = True

        await self._guard(id_, stint)
        if not sound:
            # One batch that goes wrong must not be the end of all others: it rests until somebody cancels it, or a restart.
            run.done, run.position = None, 0
        elif run.batch.over:
            del self._runs[id_]
        else:
            self._enqueue(id_)

    async def _stint(self, run: Run) -> None:
        clock = self._work.ledger.clock
        try:
            await self._work.stint(run, clock.now() + STINT)
        except BlazarError as error:
            # Our disk. What memory knows of the journal may be wrong by now: it is read anew.
            logger.warning("%s: %s", run.batch.id, error)
            run.done, run.position = None, 0
            await clock.sleep(AFTER_TROUBLE)

    def _enqueue(self, id_: str) -> None:
        if id_ not in self._queue:
            self._queue.append(id_)
        self._wake.set()
