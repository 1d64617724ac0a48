"""What keys used, in the catalog's `key_usage` table. Plain SQL on a connection of its own: see `Database.aside`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from sqlite3 import Connection

from blazar.adapters.store.database import Database
from blazar.application.ports.ledger import DayUsage, UsageLedger

_COLUMNS = "key, day, requests, prompt_tokens, completion_tokens"
# A number only grows within its day: of two daemons' rows, or of two writes that changed places, the larger is the later one.
_PUT = f"""
INSERT INTO key_usage ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key, day) DO UPDATE SET
  requests = max(requests, excluded.requests), prompt_tokens = max(prompt_tokens, excluded.prompt_tokens),
  completion_tokens = max(completion_tokens, excluded.completion_tokens)
"""  # noqa: S608 - columns


class SqliteLedger(UsageLedger):
    """Usable from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, days: Sequence[DayUsage]) -> None:
        with self._writing() as store:
            store.executemany(_PUT, days)

    def of_day(self, day: str) -> Sequence[DayUsage]:
        return self._rows(f"SELECT {_COLUMNS} FROM key_usage WHERE day = ? ORDER BY key", day)  # noqa: S608 - columns

    def of_key(self, key: str, days: int) -> Sequence[DayUsage]:
        ask = f"SELECT {_COLUMNS} FROM key_usage WHERE key = ? ORDER BY day DESC LIMIT ?"  # noqa: S608 - columns
        return self._rows(ask, key, days)

    def forget_before(self, day: str) -> None:
        with self._writing() as store:
            store.execute("DELETE FROM key_usage WHERE day < ?", (day,))

    def _rows(self, ask: str, *values: object) -> list[DayUsage]:
        with self._database.aside() as store:
            return [DayUsage(*row) for row in store.execute(ask, values)]

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._database.aside() as store, store:  # the second commits, or rolls back what was raised
            store.execute("BEGIN IMMEDIATE")
            yield store
