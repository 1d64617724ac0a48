"""Writes down what keys use, and recalls it: gathered for a moment, then one transaction, off the loop.

A daemon that is killed loses what was used since the last time; a disk that is full or locked loses nothing while the daemon lives.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from blazar.application.access.accounts import Accounts, days_of
from blazar.application.ports.clock import Clock
from blazar.application.ports.ledger import DayUsage, UsageLedger
from blazar.domain.errors import StoreTrouble
from blazar.domain.quota import Account, day_name, day_number

logger = logging.getLogger("blazar.usage")

GATHER_SECS: Final = 2.0
"""Between two writes, and so what a killed daemon loses at most."""
MOST_AT_ONCE: Final = 1000
"""Accounts of one transaction: their rows take the loop a few milliseconds, in which no token moves."""
LONGEST_PAUSE_SECS: Final = 60.0
"""Between two tries where writing fails."""
KEPT_DAYS: Final = 400
"""A year back, and the month that is compared with it."""
MOST_DAYS: Final = KEPT_DAYS
"""That anybody may ask for."""


class RecordUsage:
    """Has a life, and `run` beside it: what was used today is recalled before the first request, and written down after the last."""

    def __init__(self, accounts: Accounts, ledger: UsageLedger, clock: Clock) -> None:
        self._accounts, self._ledger, self._clock = accounts, ledger, clock
        self._due = asyncio.Event()
        self._pause = GATHER_SECS
        self._swept = 0  # the day on which what is too old was dropped

    async def start(self) -> None:
        """A ledger that cannot be read leaves limits of a day at their beginning, and says so."""
        wall = self._clock.wall()
        try:
            rows = await asyncio.to_thread(self._ledger.of_day, day_name(day_number(wall)))
        except StoreTrouble as error:
            logger.warning("usage of today is not known: %s", error)
        else:
            self._accounts.recall(rows, wall)
        self._accounts.on_touched = self._due.set

    async def run(self) -> None:
        """Write when there is something to write. Sleeps while nothing is."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._clock.sleep(self._pause)
            await self.flush()

    async def aclose(self) -> None:
        """Write the rest; `run` has been ended before."""
        self._accounts.on_touched = None
        await self.flush()

    async def flush(self) -> None:
        """Write down what changed since the last time. Where that fails, the next time makes up for it."""
        while accounts := self._accounts.news(MOST_AT_ONCE):
            if not await self._write_down(accounts):
                return

    async def _write_down(self, accounts: Sequence[Account]) -> bool:
        rows = [row for account in accounts for row in days_of(account)]
        for account in accounts:
            account.settled()
        written = False
        try:
            await asyncio.to_thread(self._write, rows, day_number(self._clock.wall()))
            written = True
            self._pause = GATHER_SECS
        except StoreTrouble as error:
            if self._pause == GATHER_SECS:
                logger.warning("usage of keys is not written down for now: %s", error)
            self._pause = min(LONGEST_PAUSE_SECS, 2 * self._pause)
        finally:
            if (
                not written
            ):  # also where we are ended meanwhile: the thread goes on, and the same numbers twice do no harm
                self._accounts.again(accounts)
        return written

    async def history(self, name: str, days: int = 30) -> list[DayUsage]:
        """What a key used on its last `days` days with any use, newest first, with what is not written down yet."""
        rows = await asyncio.to_thread(self._ledger.of_key, name, min(days, MOST_DAYS))
        account = self._accounts.find(name)
        return _merged(rows, days_of(account) if account is not None else ())[:days]

    def _write(self, rows: Sequence[DayUsage], today: int) -> None:
        self._ledger.write(rows)
        if self._swept != today:
            self._swept = today
            self._ledger.forget_before(day_name(today - KEPT_DAYS))


def _merged(written: Sequence[DayUsage], known: Sequence[DayUsage]) -> list[DayUsage]:
    days = {row.day: row for row in written} | {row.day: row for row in known}
    return [days[day] for day in sorted(days, reverse=True)]
