"""What keys used, in memory."""

from collections.abc import Sequence

from blazar.application.ports.ledger import DayUsage, UsageLedger
from blazar.domain.errors import StoreTrouble


class MemoryLedger(UsageLedger):
    """`trouble`, where it is set, is what the next calls raise; `writes` are the batches that arrived."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], DayUsage] = {}
        self.writes: list[Sequence[DayUsage]] = []
        self.trouble = ""

    def write(self, days: Sequence[DayUsage]) -> None:
        self._check()
        self.writes.append(list(days))
        for row in days:
            there = self.rows.get((row.key, row.day), row)
            self.rows[row.key, row.day] = DayUsage(row.key, row.day, *map(max, there[2:], row[2:]))

    def of_day(self, day: str) -> Sequence[DayUsage]:
        self._check()
        return sorted(row for row in self.rows.values() if row.day == day)

    def of_key(self, key: str, days: int) -> Sequence[DayUsage]:
        self._check()
        rows = [row for row in self.rows.values() if row.key == key]
        return sorted(rows, key=lambda row: row.day, reverse=True)[:days]

    def forget_before(self, day: str) -> None:
        self._check()
        self.rows = {place: row for place, row in self.rows.items() if row.day >= day}

    def _check(self) -> None:
        if self.trouble:
            raise StoreTrouble(self.trouble)
