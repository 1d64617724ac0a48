"""What of the store needs SQLAlchemy: sessions, migration, and errors as the plain driver has them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from blazar.adapters.store.orm import Orm
from blazar.adapters.store.rows import VERSION


def test_a_new_file_is_brought_to_our_version(tmp_path: Path) -> None:
    """And a second time nothing is left to do."""
    orm = Orm(tmp_path / "blazar.db", 1.0)
    for _ in range(2):
        orm.migrate()
    with closing(sqlite3.connect(tmp_path / "blazar.db")) as store:
        assert store.execute("PRAGMA user_version").fetchone() == (VERSION,)
    orm.dispose()


def test_a_transaction_holds_the_file_from_its_beginning(tmp_path: Path) -> None:
    """A second writer waits as long as it was told, and then is told so in SQLite's own words."""
    orm, other = Orm(tmp_path / "blazar.db", 1.0), Orm(tmp_path / "blazar.db", 0.0)
    orm.migrate()
    with orm.writing() as session:
        session.connection()
        with pytest.raises(sqlite3.OperationalError, match="locked"), other.writing() as second:
            second.connection()
    orm.dispose()
    other.dispose()


def test_errors_are_the_driver_s(tmp_path: Path) -> None:
    """Whoever says them knows no SQLAlchemy."""
    orm = Orm(tmp_path / "blazar.db", 1.0)
    with pytest.raises(sqlite3.OperationalError, match="no such table"), orm.reading() as session:
        session.connection().execute(text("SELECT * FROM nowhere"))
    orm.dispose()
