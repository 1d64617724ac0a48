"""Sessions and migrations on the catalog file: what of the store needs SQLAlchemy. Knows no table.

Importing this costs a third of a second and 20 MB: `database` does it at the first use, which a daemon that only serves never makes.
SQLite's own errors come out, as from its plain driver; what they mean to a person says `database`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from blazar.adapters.store.migrations import found_version, migrate
from blazar.adapters.store.rows import VERSION


class Orm:
    """One engine of SQLAlchemy. Usable from any thread; `dispose` it. `patience` in seconds, for other writers."""

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path
        self._engine = _engine(path, patience)
        self._writer = self._engine.execution_options(write=True)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One snapshot."""
        with _plain_errors(), Session(self._engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """One transaction: committed at the end, rolled back by any exception."""
        with _plain_errors(), Session(self._writer) as session, session.begin():
            yield session

    def migrate(self) -> None:
        """Bring the file to our version."""
        with _plain_errors():
            try:
                with self._engine.connect() as connection:
                    found = found_version(connection)
                if found != VERSION:
                    with self._writer.begin() as connection:
                        migrate(connection, str(self._path))
            finally:
                self.dispose()  # nothing is lost, and no connection stays that has not heard of the switch to WAL

    def dispose(self) -> None:
        """Close what is idle; the next use opens anew."""
        self._engine.dispose()


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise error.orig or error from error


def _engine(path: Path, patience: float) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": patience})

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine
