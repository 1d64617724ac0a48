"""Usage in the catalog: all or nothing, and no news to whoever watches the catalog."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.store.database import Database
from blazar.adapters.store.ledger import SqliteLedger
from blazar.application.ports.ledger import DayUsage
from blazar.domain.errors import StoreTrouble

SOMETHING = (
    "INSERT INTO bench_history (engine, model, prompt_tokens_per_second, decode_tokens_per_second, measured_at)"
    " VALUES ('e', 'm', 1, 1, 1)"
)
TODAY = DayUsage("a", "2026-01-31", 1, 2, 3)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "blazar.db")
    yield opened
    opened.close()


def commit_elsewhere(database: Database) -> None:
    """What another process might do."""
    with closing(sqlite3.connect(database.path)) as other, other:
        other.execute(SOMETHING)


def test_a_batch_is_written_whole_or_not_at_all(database: Database) -> None:
    """One row that the table refuses takes the others along."""
    ledger = SqliteLedger(database)
    with pytest.raises(StoreTrouble):
        ledger.write([TODAY, DayUsage("b", "2026-01-31", None, 0, 0)])  # type: ignore[arg-type]
    assert ledger.of_day("2026-01-31") == []
    ledger.write([TODAY])
    assert ledger.of_day("2026-01-31") == [TODAY]


def test_usage_is_no_news_of_the_catalog(database: Database) -> None:
    """Written every other second, it must not make the daemon look all models over; what others commit still does."""
    ledger = SqliteLedger(database)
    ledger.write([TODAY])
    before = database.revision()
    for number in range(5):
        ledger.write([TODAY._replace(requests=number)])
        assert database.revision() == before
    commit_elsewhere(database)
    after = database.revision()
    assert after != before
    ledger.write([TODAY])
    assert database.revision() == after
    with database.writing() as session:
        session.connection().exec_driver_sql(SOMETHING)
    assert database.revision() != after


def test_a_commit_before_and_one_beside_are_both_seen(database: Database) -> None:
    """Nothing that others commit is lost between our own."""
    ledger = SqliteLedger(database)
    before = database.revision()
    commit_elsewhere(database)
    ledger.write([TODAY])  # the first use, between the commit and the look
    after = database.revision()
    assert after != before
    commit_elsewhere(database)
    ledger.write([TODAY])
    assert database.revision() != after


def test_nobody_waits_for_a_ledger_that_is_at_work(database: Database) -> None:
    """The event loop asks for the revision: while a batch is being written it hears of a change too many, at once."""
    ledger = SqliteLedger(database)
    ledger.write([TODAY])
    before = database.revision()
    commit_elsewhere(database)
    held, free = threading.Event(), threading.Event()

    def work() -> None:
        with database.aside():
            held.set()
            assert free.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert held.wait(10)
    try:
        assert database.revision() != before
    finally:
        free.set()
        thread.join(10)
    settled = database.revision()
    assert database.revision() == settled


def test_after_the_end_it_is_a_sentence(database: Database) -> None:
    """Whoever comes too late hears what is wrong, not a traceback."""
    ledger = SqliteLedger(database)
    ledger.write([TODAY])
    database.close()
    with pytest.raises(StoreTrouble):
        ledger.write([TODAY])
