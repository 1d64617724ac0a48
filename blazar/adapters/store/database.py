"""The catalog file: connections, transactions, and what SQLite's errors mean to a person. Knows no table.

Several processes use one file (D29): write transactions are taken at their beginning, because SQLite refuses to make a
reader a writer after another process wrote, and no waiting helps there. The ORM is loaded at the first session: a daemon that
finds its file at our version and only reads it (`swift`) has none in its memory.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from blazar.adapters.store.rows import VERSION
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble

if TYPE_CHECKING:
    from sqlmodel import Session

    from blazar.adapters.store.orm import Orm

BUSY_MS = 5_000
"""How long a writer waits for another process; our transactions take milliseconds."""

_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is not a database",
    sqlite3.SQLITE_BUSY: "another process is writing to it for too long",
    sqlite3.SQLITE_LOCKED: "another process is writing to it for too long",
    sqlite3.SQLITE_IOERR: "the disk does not read or write",
}


_PRIVATE = 0o600


class Database:
    """One open catalog file, at our version. Usable from any thread; `close` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._orm: Orm | None = None
        self._orm_lock = Lock()
        self._lock = Lock()
        self._own: sqlite3.Connection | None = None  # the one of `aside`
        self._own_lock = Lock()
        self._seen = (-1, -1)  # what the watch and the own connection said last
        self._revision = 0
        _keep_private(path)
        with self._translated():
            if _found_version(path) != VERSION:
                self._sessions().migrate()
            self._watch = _watch(path)

    @contextmanager
    def reading(self) -> "Iterator[Session]":
        """One snapshot."""
        with self._translated(), self._sessions().reading() as session:
            yield session

    @contextmanager
    def writing(self) -> "Iterator[Session]":
        """One transaction: committed at the end, rolled back by any exception."""
        with self._translated(), self._sessions().writing() as session:
            yield session

    @contextmanager
    def aside(self) -> Iterator[sqlite3.Connection]:
        """A connection for what is no news to anybody: its commits change no `revision`. One user at a time; begins nothing itself.

        A power failure may take its last transactions along, for it does not wait for the disk; a killed daemon loses none.
        """
        with self._translated(), self._own_lock:
            if self._own is None:
                own = _watch(self.path, patience=BUSY_MS / 1000)
                own.execute("PRAGMA synchronous = NORMAL")
                with self._lock:
                    self._own, self._seen = own, (-1, -1)
            yield self._own

    def revision(self) -> int:
        """Changes whenever anybody committed, in any process, except by `aside`. Never waits for anybody."""
        with self._translated(), self._lock:
            now = _version(self._watch)
            if now == self._seen[0]:
                return self._revision
            # A connection is told of what others commit, not of its own. While it is at work nobody can ask it: better
            # one change too many.
            own = -1
            if self._own is not None and self._own_lock.acquire(blocking=False):
                try:
                    own = _version(self._own)
                finally:
                    self._own_lock.release()
            if own != self._seen[1] or own == -1:
                self._revision += 1
            self._seen = (now, own)
            return self._revision

    def close(self) -> None:
        """Safe to call twice."""
        self._watch.close()
        with self._own_lock:
            if self._own is not None:
                self._own.close()
        if self._orm is not None:
            self._orm.dispose()

    def _sessions(self) -> "Orm":
        with self._orm_lock:
            if self._orm is None:
                from blazar.adapters.store.orm import Orm

                self._orm = Orm(self.path, BUSY_MS / 1000)
            return self._orm

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The one place where SQLite's errors become sentences."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _trouble(self, error: BaseException | None) -> StoreTrouble:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the extended code carries the primary one in its low byte
        return StoreTrouble(teaching.catalog_trouble(str(self.path), _CAUSES.get(code, str(error))))


def _keep_private(path: Path) -> None:
    """For its owner alone, with what SQLite keeps beside it: it knows who asked how much, and where models came from.

    A file that is there is never opened for it: closing it would let go of every lock that SQLite has on it in this process.
    """
    with suppress(OSError):  # what is wrong with it says whoever opens it
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
    for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        with suppress(OSError):
            if (mode := stat.S_IMODE(one.stat().st_mode)) & ~_PRIVATE:
                one.chmod(mode & _PRIVATE)


def _found_version(path: Path) -> int:
    """What the file says it is; 0 for one that was never written."""
    with closing(sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _watch(path: Path, patience: float = 5.0) -> sqlite3.Connection:
    """A connection that asks for `data_version`, which counts only what others commit: no transaction runs on the first of them."""
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    with ExitStack() as undo:
        undo.callback(connection.close)
        _use_wal(connection)
        undo.pop_all()
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Readers and a writer side by side. The mode is a property of the file and stays."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # Another process is opening the same new file and makes the switch, or the next opener will.
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
