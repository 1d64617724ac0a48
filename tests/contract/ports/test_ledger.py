"""What every ledger of usage must do: the one in memory and the one in the catalog."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blazar.adapters.store.database import Database
from blazar.adapters.store.ledger import SqliteLedger
from blazar.application.ports.ledger import DayUsage, UsageLedger
from tests.fakes.ledger import MemoryLedger


def _memory(_folder: Path) -> Iterator[UsageLedger]:
    yield MemoryLedger()


def _sqlite(folder: Path) -> Iterator[UsageLedger]:
    database = Database(folder / "blazar.db")
    yield SqliteLedger(database)
    database.close()


@pytest.fixture(params=[_memory, _sqlite], ids=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UsageLedger]:
    build: Callable[[Path], Iterator[UsageLedger]] = request.param
    yield from build(tmp_path)


def used(key: str, day: str, requests: int = 1, prompt: int = 10, completion: int = 5) -> DayUsage:
    return DayUsage(key, day, requests, prompt, completion)


def test_days_are_whole_numbers(ledger: UsageLedger) -> None:
    """A later batch stands in the place of the earlier one; writing the same twice changes nothing."""
    ledger.write([used("a", "2026-01-31"), used("b", "2026-01-31", 2)])
    for _ in range(2):
        ledger.write([used("a", "2026-01-31", 3, 30, 15)])
    assert list(ledger.of_day("2026-01-31")) == [used("a", "2026-01-31", 3, 30, 15), used("b", "2026-01-31", 2)]


def test_a_number_is_never_lowered(ledger: UsageLedger) -> None:
    """Two batches may change places, and a clock may go back to a day that is written down."""
    ledger.write([used("a", "2026-01-31", 3, 10, 50)])
    ledger.write([used("a", "2026-01-31", 1, 20, 5)])
    assert list(ledger.of_day("2026-01-31")) == [used("a", "2026-01-31", 3, 20, 50)]


def test_the_days_of_a_key(ledger: UsageLedger) -> None:
    """Newest first, those that have a row, no more than asked for, and nobody else's."""
    days = ["2025-12-31", "2026-01-02", "2026-01-01"]
    ledger.write([used("a", day) for day in days] + [used("b", "2026-01-03")])
    assert [row.day for row in ledger.of_key("a", 30)] == ["2026-01-02", "2026-01-01", "2025-12-31"]
    assert [row.day for row in ledger.of_key("a", 1)] == ["2026-01-02"]
    assert list(ledger.of_key("nobody", 30)) == []


def test_old_days_go(ledger: UsageLedger) -> None:
    """Those before a day; the day itself stays."""
    ledger.write([used("a", day) for day in ("2024-12-31", "2025-01-01", "2026-01-01")])
    ledger.forget_before("2025-01-01")
    assert [row.day for row in ledger.of_key("a", 30)] == ["2026-01-01", "2025-01-01"]


def test_names_are_any_text(ledger: UsageLedger) -> None:
    """What a file calls its keys is its affair."""
    for name in ("a'; DROP TABLE key_usage; --", "schlüssel 🗝", " "):
        ledger.write([used(name, "2026-01-31")])
        assert list(ledger.of_key(name, 1)) == [used(name, "2026-01-31")]


def test_nothing_is_fine(ledger: UsageLedger) -> None:
    """An empty batch, an empty ledger."""
    ledger.write([])
    assert list(ledger.of_day("2026-01-31")) == []
    ledger.forget_before("2026-01-31")
