"""Which engine build is active, and what models there are, without the catalog: the ORM takes a third of a second to import, and thin verbs have none.

Reads rows and writes nothing, the database's version included: where it is not as expected, nothing is known.
"""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from blazar.adapters.store.anchor import Anchor
from blazar.adapters.store.rows import VERSION, engine_of, model_of, read_all
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine, Model

_ASK = "SELECT * FROM engines WHERE kind = ? AND CASE ? WHEN '' THEN active ELSE tag = ? END LIMIT 1"


def build_of(database: Path, kind: EngineKind, tag: str = "") -> Engine | None:
    """The build of this kind that serves, or the one of that tag; None where there is no catalog, no build, or no reading it."""
    rows = rows_in(database, _ASK, kind.value, tag, tag)
    return next(iter(read_all(engine_of, rows or (), Anchor(database.parent))), None)


def engines_in(database: Path) -> list[Engine]:
    """Every build; none where there is no catalog, or it cannot be read."""
    return read_all(engine_of, rows_in(database, "SELECT * FROM engines") or (), Anchor(database.parent))


def models_in(database: Path) -> list[Model] | None:
    """The models of the catalog; none where there is no catalog yet, None where it cannot be read."""
    if not database.exists():
        return []
    rows = rows_in(database, "SELECT * FROM models")
    return None if rows is None else read_all(model_of, rows, Anchor(database.parent))


def rows_in(database: Path, query: str, *values: str) -> list[Any] | None:
    """What a query finds, each row with its columns by name; None where the file is not one of our version, or cannot be read."""
    if not database.is_file():
        return None
    address = f"{database.as_uri()}?mode=ro"
    try:
        return _asked(address, query, values)
    except sqlite3.Error as error:
        # A folder that cannot be written takes no index of a log, and where there is no log none is needed.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or _has_log(database):
            return None
    with suppress(sqlite3.Error):
        return _asked(f"{address}&immutable=1", query, values)
    return None


def _has_log(database: Path) -> bool:
    """Whether there may be rows that only the log has."""
    try:
        return database.with_name(f"{database.name}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _asked(address: str, query: str, values: tuple[str, ...]) -> list[Any] | None:
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as store:
        store.execute("BEGIN")  # the version and the rows of one moment
        if store.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return None
        found = store.execute(query, values)
        names = [column[0] for column in found.description]
        return [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in found]
