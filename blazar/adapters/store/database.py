"""The catalog file: connections, transactions, and what SQLite's errors mean to a person. Knows no table.

Several processes use one file (D29): write transactions are taken at their beginning, because SQLite refuses to make a
reader a writer after another process wrote, and no waiting helps there.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from blazar.adapters.store.migrations import found_version, migrate
from blazar.adapters.store.rows import VERSION
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble

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


class Database:
    """One open catalog file, at our version. Usable from any thread; `close` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = _engine(path)
        self._writer = self._engine.execution_options(write=True)
        self._lock = Lock()
        self._own: sqlite3.Connection | None = None  # the one of `aside`
        self._own_lock = Lock()
        self._seen = (-1, -1)  # what the watch and the own connection said last
        self._revision = 0
        try:
            with self._translated():
                self._migrate()
                self._watch = _watch(path)
        finally:
            self._engine.dispose()  # nothing is lost, and no connection stays that has not heard of the switch to WAL

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One snapshot."""
        with self._translated(), Session(self._engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """One transaction: committed at the end, rolled back by any exception."""
        with self._translated(), Session(self._writer) as session, session.begin():
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
        self._engine.dispose()

    def _migrate(self) -> None:
        with self._engine.connect() as connection:
            found = found_version(connection)
        if found != VERSION:
            with self._writer.begin() as connection:
                migrate(connection, str(self.path))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The one place where SQLite's errors become sentences."""
        try:
            yield
        except DBAPIError as error:
            raise self._trouble(error.orig) from error
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _trouble(self, error: BaseException | None) -> StoreTrouble:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the extended code carries the primary one in its low byte
        return StoreTrouble(teaching.catalog_trouble(str(self.path), _CAUSES.get(code, str(error))))


def _engine(path: Path) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": BUSY_MS / 1000})

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


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
