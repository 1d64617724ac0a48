"""Batches under way, and their rows."""

import asyncio

import pytest

from blazar.application.batches.ledger import Ledger, Run, in_thread
from blazar.application.batches.records import batch_of, row_of
from blazar.application.ports.saved import Keeping
from blazar.domain.batches import State, Tally
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.saved import MemorySaved
from tests.support.batching import a_batch, at_once


def test_memory_and_row_change_together() -> None:
    """With the moment."""

    async def main() -> None:
        store, run = MemorySaved(), Run(a_batch())
        store.add(row_of(run.batch))
        ledger = Ledger(store, FakeClock(), at_once)
        await ledger.enter(run, State.IN_PROGRESS, tally=Tally(3))
        row = store.find(Keeping.BATCH, "batch_1", "")
        assert row is not None
        assert batch_of(row) == run.batch
        assert (run.batch.state, run.batch.tally.total) == (State.IN_PROGRESS, 3)
        assert run.batch.stamps == {"in_progress_at": EPOCH}

    asyncio.run(main())


def test_no_state_is_entered_that_does_not_follow() -> None:
    """A batch that is over stays so."""

    async def main() -> None:
        ledger = Ledger(MemorySaved(), FakeClock(), at_once)
        with pytest.raises(AssertionError):
            await ledger.enter(Run(a_batch(state=State.COMPLETED)), State.IN_PROGRESS)

    asyncio.run(main())


def test_the_last_row_written_is_the_latest_state() -> None:
    """Though the first write is still under way when the second change comes."""

    async def main() -> None:
        store, run = MemorySaved(), Run(a_batch())
        store.add(row_of(run.batch))
        gate = asyncio.Event()

        async def slow(work):
            await gate.wait()
            return work()

        ledger = Ledger(store, FakeClock(), slow)
        both = asyncio.gather(ledger.enter(run, State.IN_PROGRESS), ledger.enter(run, State.CANCELLING))
        gate.set()
        await both
        row = store.find(Keeping.BATCH, "batch_1", "")
        assert row is not None
        assert row.status == "cancelling"

    asyncio.run(main())


def test_blocking_work_leaves_the_loop() -> None:
    """In a thread, with its result."""
    assert asyncio.run(in_thread(lambda: 3)) == 3
