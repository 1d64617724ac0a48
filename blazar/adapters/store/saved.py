"""What clients had kept, in a SQLite file of its own. One table, read and written by the standard library's driver.

Not in the catalog: each answer that is kept would make the daemon look all models over. The file may be deleted at any time
that the daemon is not running; nothing else refers to it.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock

from blazar.application.ports.saved import Change, Keeping, Saved, SavedStore
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble
from blazar.domain.wire.paging import Page

VERSION = 1
BUSY_MS = 5_000

_TABLE = """
CREATE TABLE saved (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, created_at REAL NOT NULL,
  model TEXT NOT NULL, status TEXT NOT NULL, facts TEXT NOT NULL, body BLOB NOT NULL, expires_at REAL NOT NULL,
  size INTEGER NOT NULL, UNIQUE (kind, id)
)
"""
_INDEX = "CREATE INDEX saved_by_owner ON saved (kind, owner, seq)"
_LIGHT = "kind, id, owner, created_at, model, status, facts, x'', expires_at"
_WHOLE = "kind, id, owner, created_at, model, status, facts, body, expires_at"


class SqliteSaved(SavedStore):
    """Opened at the first use: a daemon that keeps nothing has no such file. Usable from any thread; `close` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = RLock()
        self._open: sqlite3.Connection | None = None

    def add(self, saved: Saved) -> None:
        row = (saved.kind, saved.id, saved.owner, saved.created_at, saved.model, saved.status, saved.facts, saved.body)
        with self._writing() as store:
            store.execute("DELETE FROM saved WHERE kind = ? AND id = ?", (saved.kind, saved.id))
            store.execute(
                f"INSERT INTO saved ({_WHOLE}, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - columns
                (*row, saved.expires_at, saved.size),
            )

    def find(self, kind: Keeping, id_: str, owner: str) -> Saved | None:
        rows = self._rows(f"SELECT {_WHOLE} FROM saved WHERE kind = ? AND id = ? AND owner = ?", kind, id_, owner)  # noqa: S608
        return rows[0] if rows else None

    def page(self, kind: Keeping, owner: str, page: Page) -> Sequence[Saved]:
        than, order = (">", "ASC") if page.ascending else ("<", "DESC")
        behind, words = "", [kind.value, owner]
        if page.after:
            behind = f"AND seq {than} (SELECT seq FROM saved WHERE kind = ? AND owner = ? AND id = ?)"  # noqa: S608
            words += [kind.value, owner, page.after]
        ask = f"SELECT {_LIGHT} FROM saved WHERE kind = ? AND owner = ? {behind} ORDER BY seq {order} LIMIT ?"  # noqa: S608
        return self._rows(ask, *words, page.limit)

    def change(self, kind: Keeping, id_: str, change: Change, expected: Collection[str] = ()) -> bool:
        wanted = [(name, value) for name, value in zip(Change._fields, change, strict=True) if value is not None]
        sets = ", ".join(f"{name} = ?" for name, _ in wanted)
        among = f" AND status IN ({', '.join('?' * len(expected))})" if expected else ""
        with self._writing() as store:
            if not wanted:
                ask = f"SELECT 1 FROM saved WHERE kind = ? AND id = ?{among}"  # noqa: S608 - question marks
                return store.execute(ask, (kind, id_, *expected)).fetchone() is not None
            done = store.execute(
                f"UPDATE saved SET {sets} WHERE kind = ? AND id = ?{among}",  # noqa: S608 - columns
                (*(value for _, value in wanted), kind, id_, *expected),
            )
            store.execute(
                "UPDATE saved SET size = length(body) + length(CAST(facts AS BLOB)) WHERE kind = ? AND id = ?",
                (kind, id_),
            )
            return done.rowcount > 0

    def remove(self, kind: Keeping, id_: str, owner: str) -> bool:
        with self._writing() as store:
            ask = "DELETE FROM saved WHERE kind = ? AND id = ? AND owner = ?"
            return store.execute(ask, (kind, id_, owner)).rowcount > 0

    def with_status(self, kind: Keeping, statuses: Collection[str]) -> Sequence[Saved]:
        marks = ", ".join("?" * len(statuses))
        ask = f"SELECT {_WHOLE} FROM saved WHERE kind = ? AND status IN ({marks}) ORDER BY seq"  # noqa: S608
        return self._rows(ask, kind, *statuses)

    def trim(self, kind: Keeping, most_bytes: int, now: float, spared: Collection[str] = ()) -> Sequence[str]:
        gone: list[str] = []
        with self._writing() as store:
            ask = "SELECT id, size, status, expires_at FROM saved WHERE kind = ? ORDER BY seq DESC"
            held = 0
            for id_, size, status, expires_at in store.execute(ask, (kind,)).fetchall():
                held += size
                if status not in spared and (held > most_bytes or 0 < expires_at <= now):
                    held -= size
                    gone.append(id_)
            store.executemany("DELETE FROM saved WHERE kind = ? AND id = ?", [(kind, id_) for id_ in gone])
        return gone

    def close(self) -> None:
        """Safe to call twice; the next use opens it again."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _rows(self, ask: str, *words: object) -> list[Saved]:
        with self._lock, self._translated():
            if self._open is None and not self.path.exists():
                return []
            found = self._connection().execute(ask, words).fetchall()
        return [Saved(Keeping(kind), *rest) for kind, *rest in found]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed at the end, rolled back by any exception."""
        with self._lock, self._translated():
            store = self._connection()
            store.execute("BEGIN IMMEDIATE")
            with store:
                yield store

    def _connection(self) -> sqlite3.Connection:
        if self._open is None:
            store = sqlite3.connect(self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
            with ExitStack() as undo:
                undo.callback(store.close)
                self._prepare(store)
                undo.pop_all()
            self._open = store
        return self._open

    def _prepare(self, store: sqlite3.Connection) -> None:
        self.path.chmod(0o600)  # answers are private
        store.execute("PRAGMA journal_mode = WAL")
        found = store.execute("PRAGMA user_version").fetchone()[0]
        if found > VERSION:
            raise StoreTrouble(teaching.catalog_from_the_future(str(self.path), found, VERSION))
        if found == 0:
            store.execute("BEGIN IMMEDIATE")
            store.execute(_TABLE)
            store.execute(_INDEX)
            store.execute(f"PRAGMA user_version = {VERSION}")
            store.execute("COMMIT")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreTrouble(teaching.saved_trouble(str(self.path), str(error))) from error
