"""Usage is written down in batches, recalled at the start, and survives what happens to the disk."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from blazar.application.access.accounts import Accounts
from blazar.application.access.record_usage import (
    GATHER_SECS,
    KEPT_DAYS,
    LONGEST_PAUSE_SECS,
    MOST_AT_ONCE,
    RecordUsage,
)
from blazar.application.ports.ledger import DayUsage
from blazar.domain.keys import Key
from blazar.domain.quota import DAY, Account, day_name, day_number
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.ledger import MemoryLedger

TODAY = day_name(day_number(EPOCH))


class Parts(NamedTuple):
    usage: RecordUsage
    accounts: Accounts
    ledger: MemoryLedger
    clock: FakeClock

    @property
    def account(self) -> Account:
        return self.accounts.open(Key("a", "k"))

    def use(self, tokens: int = 1) -> None:
        """One request with so many tokens of prompt."""
        wall = self.clock.wall()
        self.account.count(wall)
        self.account.spend(self.clock.now(), wall, (tokens, 0), chat=True)

    async def pass_by(self, seconds: float) -> None:
        """Time goes on, and the thread that writes is waited for."""
        await self.clock.advance(seconds)
        for _ in range(200):
            await asyncio.to_thread(lambda: None)
            await self.clock.settle()


def played(scene: Callable[[Parts], Awaitable[None]], ledger: MemoryLedger | None = None) -> MemoryLedger:
    """A scene with everything started, and ended afterwards."""

    async def main() -> MemoryLedger:
        clock, accounts, rows = FakeClock(), Accounts(), ledger or MemoryLedger()
        usage = RecordUsage(accounts, rows, clock)
        await usage.start()
        task = asyncio.create_task(usage.run())
        try:
            await scene(Parts(usage, accounts, rows, clock))
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await usage.aclose()
        return rows

    return asyncio.run(main())


def test_what_comes_together_is_written_together() -> None:
    """One transaction with whole days, some time after the first of it; nothing while nothing happens."""

    async def scene(parts: Parts) -> None:
        await parts.pass_by(600)
        assert parts.ledger.writes == []
        for _ in range(100):
            parts.use(3)
        await parts.pass_by(GATHER_SECS / 2)
        assert parts.ledger.writes == []
        await parts.pass_by(GATHER_SECS)
        assert parts.ledger.writes == [[DayUsage("a", TODAY, 100, 300, 0)]]
        parts.use()
        await parts.pass_by(GATHER_SECS)
        assert parts.ledger.writes[1:] == [[DayUsage("a", TODAY, 101, 301, 0)]]
        await parts.pass_by(600)
        assert len(parts.ledger.writes) == 2

    played(scene)


def test_the_end_writes_the_rest() -> None:
    """What the last answers cost is not lost by stopping."""

    async def scene(parts: Parts) -> None:
        parts.use(7)

    assert played(scene).writes == [[DayUsage("a", TODAY, 1, 7, 0)]]


def test_a_restart_goes_on_counting() -> None:
    """Limits of a day survive it, and whole days stay whole."""

    async def scene(parts: Parts) -> None:
        parts.use(5)

    ledger = played(scene)
    played(scene, ledger)
    assert ledger.rows["a", TODAY] == DayUsage("a", TODAY, 2, 10, 0)


def test_a_disk_that_fails_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is tried again, less and less often, said once, and what came meanwhile is in the first batch that succeeds."""

    async def scene(parts: Parts) -> None:
        parts.ledger.trouble = "the disk is full"
        parts.use(1)
        for _ in range(10):
            await parts.pass_by(LONGEST_PAUSE_SECS)
            parts.use(1)
        assert parts.ledger.rows == {}
        parts.ledger.trouble = ""
        await parts.pass_by(LONGEST_PAUSE_SECS)
        assert parts.ledger.rows["a", TODAY].requests == 11
        parts.use(1)
        await parts.pass_by(GATHER_SECS)
        assert parts.ledger.rows["a", TODAY].requests == 12

    with caplog.at_level(logging.WARNING, "blazar.usage"):
        played(scene)
    assert [record.getMessage() for record in caplog.records] == [
        "usage of keys is not written down for now: the disk is full"
    ]


def test_a_ledger_that_cannot_be_read_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The daemon starts, with limits of the day at their beginning."""
    ledger = MemoryLedger()
    ledger.trouble = "it is damaged"

    async def scene(parts: Parts) -> None:
        parts.ledger.trouble = ""
        parts.use()

    with caplog.at_level(logging.WARNING, "blazar.usage"):
        played(scene, ledger)
    assert [record.getMessage() for record in caplog.records] == ["usage of today is not known: it is damaged"]
    assert ledger.rows["a", TODAY].requests == 1


def test_the_day_before_is_written_whole() -> None:
    """What was used in its last second is in the first batch of the next day."""

    async def scene(parts: Parts) -> None:
        left = DAY - parts.clock.wall() % DAY
        await parts.pass_by(left - 1)
        parts.use(3)
        await parts.clock.advance(1)
        parts.use(4)
        await parts.pass_by(GATHER_SECS)

    ledger = played(scene)
    tomorrow = day_name(day_number(EPOCH) + 1)
    assert ledger.rows["a", TODAY] == DayUsage("a", TODAY, 1, 3, 0)
    assert ledger.rows["a", tomorrow] == DayUsage("a", tomorrow, 1, 4, 0)


def test_what_is_too_old_goes() -> None:
    """With the first batch of a day."""
    ledger = MemoryLedger()
    days = [day_name(day_number(EPOCH) - back) for back in (KEPT_DAYS + 1, KEPT_DAYS, 1)]
    ledger.write([DayUsage("b", day, 1, 1, 1) for day in days])

    async def scene(parts: Parts) -> None:
        parts.use()
        await parts.pass_by(GATHER_SECS)
        assert [row.day for row in parts.ledger.of_key("b", 9)] == [days[2], days[1]]

    played(scene, ledger)


def test_the_history_of_a_key() -> None:
    """Newest first, with what is not written down yet; a key without any has none."""
    ledger = MemoryLedger()
    before = [DayUsage("a", day_name(day_number(EPOCH) - back), back, 1, 1) for back in range(1, 5)]
    ledger.write(before)

    async def scene(parts: Parts) -> None:
        parts.use(9)
        today = DayUsage("a", TODAY, 1, 9, 0)
        assert await parts.usage.history("a") == [today, *before]
        assert await parts.usage.history("a", 2) == [today, before[0]]
        await parts.pass_by(GATHER_SECS)
        assert await parts.usage.history("a", 1) == [today]
        assert await parts.usage.history("b") == []

    played(scene, ledger)


def test_a_crowd_is_written_in_portions() -> None:
    """None of which holds the loop up for long; every key is in one of them."""

    async def scene(parts: Parts) -> None:
        for number in range(2 * MOST_AT_ONCE + 1):
            parts.accounts.open(Key(f"k{number}", "s")).count(parts.clock.wall())
        await parts.pass_by(GATHER_SECS)
        assert [len(rows) for rows in parts.ledger.writes] == [MOST_AT_ONCE, MOST_AT_ONCE, 1]
        assert len(parts.ledger.rows) == 2 * MOST_AT_ONCE + 1

    played(scene)


def test_an_end_in_the_middle_of_a_batch_writes_it_again() -> None:
    """The thread that writes cannot be ended; whole days may be written twice."""

    async def main() -> MemoryLedger:
        held, ledger, clock, accounts = threading.Event(), MemoryLedger(), FakeClock(), Accounts()
        real = ledger.write
        ledger.write = lambda days: (held.wait(10), real(days))[1]  # type: ignore[method-assign]
        usage = RecordUsage(accounts, ledger, clock)
        await usage.start()
        accounts.open(Key("a", "k")).count(clock.wall())
        task = asyncio.create_task(usage.flush())
        await clock.settle()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        held.set()
        await usage.aclose()
        return ledger

    assert asyncio.run(main()).rows["a", TODAY].requests == 1
