"""What each key used, day by day, kept across restarts. Rows are a day's whole numbers, never differences: a batch may be written twice."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class DayUsage(NamedTuple):
    """One key on one UTC day (`2026-01-31`)."""

    key: str
    day: str
    requests: int
    prompt_tokens: int
    completion_tokens: int


class UsageLedger(Protocol):
    """Every method may take as long as the disk does, and raise `StoreTrouble`: call them in a thread."""

    def write(self, days: Sequence[DayUsage]) -> None:
        """Put these in the place of what is there for the same key and day, all or none. A number is never lowered."""
        ...

    def of_day(self, day: str) -> Sequence[DayUsage]:
        """Every key that used anything on that day."""
        ...

    def of_key(self, key: str, days: int) -> Sequence[DayUsage]:
        """The last `days` days of one key that have a row, newest first."""
        ...

    def forget_before(self, day: str) -> None:
        """Drop what is older."""
        ...
