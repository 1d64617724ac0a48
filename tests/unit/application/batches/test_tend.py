"""What is done about kept things when nobody asks."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.store.saved import SqliteSaved
from blazar.application.batches.records import row_of
from blazar.application.batches.tend import EVERY, TendKept
from blazar.application.ports.saved import Keeping
from blazar.domain.batches import State
from blazar.domain.errors import StoreTrouble
from blazar.domain.kinds import Dialect
from tests.fakes.clock import FakeClock
from tests.support.batching import Batches, a_batch, at_once


def test_a_start_sweeps_what_a_crash_left() -> None:
    """Files and papers that no row knows; what a batch still needs stays."""
    batches = Batches()
    note = batches.upload(b"x")
    batches.kept.files |= {"file-orphan": b"", "msgbatch_1": b"results"}
    batches.kept.begin()
    batches.store.add(row_of(a_batch(id="msgbatch_1", dialect=Dialect.ANTHROPIC, state=State.COMPLETED)))
    batches.store.add(row_of(a_batch(id="batch_2")))
    for batch in ("batch_2", "batch_gone", "msgbatch_1"):
        batches.papers.write(batch, [b"{}"])
    asyncio.run(TendKept(batches.shelf, batches.papers, at_once).start())
    assert set(batches.kept.files) == {note.id, "msgbatch_1"}
    assert batches.kept.parts == []
    assert set(batches.papers.asked) == {"batch_2"}


def test_what_has_expired_goes_in_time() -> None:
    """Files and message batches with their results; batches under way stay whatever their age."""

    async def main() -> None:
        batches = Batches()
        clock = batches.clock
        assert isinstance(clock, FakeClock)
        note = batches.upload(b"x")
        old = a_batch(id="msgbatch_1", dialect=Dialect.ANTHROPIC, state=State.COMPLETED, created_at=clock.wall())
        batches.store.add(row_of(old))
        batches.store.add(row_of(replace(old, id="msgbatch_2", state=State.IN_PROGRESS)))
        batches.kept.files |= {"msgbatch_1": b"", "msgbatch_2": b""}
        task = asyncio.create_task(TendKept(batches.shelf, batches.papers, at_once).run())
        await clock.advance(EVERY)
        assert note.id in batches.kept.files
        await clock.advance(31 * 86_400)
        assert set(batches.kept.files) == {"msgbatch_2"}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_a_disk_that_will_not_stops_no_daemon(caplog: pytest.LogCaptureFixture) -> None:
    """Neither at the start nor later; the log says it."""

    async def refuse(_work: object) -> None:
        raise StoreTrouble("read-only")

    async def main() -> None:
        batches = Batches()
        clock = batches.clock
        assert isinstance(clock, FakeClock)
        tend = TendKept(batches.shelf, batches.papers, refuse)  # type: ignore[arg-type]
        await tend.start()
        task = asyncio.create_task(tend.run())
        await clock.advance(EVERY)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await tend.aclose()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.text.count("read-only") >= 2


def test_the_oldest_rows_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's batches expire never: what is over goes when there are too many."""
    batches = Batches()
    monkeypatch.setattr("blazar.application.batches.tend.BATCH_ROWS", 600)
    for number in range(6):
        state = State.IN_PROGRESS if number == 0 else State.COMPLETED
        batches.store.add(row_of(a_batch(id=f"batch_{number}", state=state)))
    TendKept(batches.shelf, batches.papers, at_once)._expire()
    left = [row.id for row in batches.store.with_status(Keeping.BATCH, list(State))]
    assert left[0] == "batch_0"
    assert left[-1] == "batch_5"
    assert len(left) < 5


def test_a_daemon_that_keeps_nothing_makes_no_store(tmp_path: Path) -> None:
    """Looking for what has expired is no reason to."""
    batches = Batches()
    store = SqliteSaved(tmp_path / "saved.db")
    shelf = replace(batches.shelf, store=store)
    tend = TendKept(shelf, batches.papers, at_once)
    tend._sweep()
    tend._expire()
    assert not (tmp_path / "saved.db").exists()
    store.close()
