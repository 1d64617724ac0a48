"""Bringing a catalog file to the version that `tables` describes. Decides by `PRAGMA user_version`, in one transaction.

Version 3 is version 4 without `engines.kind` (D29), version 4 knew neither where a build came from nor models of several
files, version 5 not what was pulled from where; nothing older was ever written, and nothing newer is touched.
"""

from collections.abc import Callable

from sqlalchemy import Connection, inspect, text

from blazar.adapters.store.rows import VERSION
from blazar.adapters.store.tables import Row
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble


def found_version(connection: Connection) -> int:
    """What the file says it is; 0 for one that was never written."""
    return int(connection.execute(text("PRAGMA user_version")).scalar_one())


def migrate(connection: Connection, path: str) -> None:
    """Run every step that is missing. The caller holds the write transaction: all of it happens or nothing."""
    found = found_version(connection)
    if found > VERSION:
        raise StoreTrouble(teaching.catalog_from_the_future(path, found, VERSION))
    while found < VERSION:
        step = _STEPS.get(found)
        if step is None or (found == 0 and inspect(connection).get_table_names()):
            raise StoreTrouble(teaching.catalog_foreign(path, found))
        found = step(connection)
    connection.execute(text(f"PRAGMA user_version = {VERSION}"))


def _create(connection: Connection) -> int:
    Row.metadata.create_all(connection)
    return VERSION


def _name_engine_kinds(connection: Connection) -> int:
    """3 → 4: every engine of that time was llama.cpp (contract). Exactly one is active, which version 3 did not enforce."""
    for statement in (
        "ALTER TABLE engines ADD COLUMN kind VARCHAR NOT NULL DEFAULT 'llamacpp'",
        "UPDATE engines SET active = (tag = (SELECT tag FROM engines ORDER BY active DESC, installed_at DESC, tag LIMIT 1))",
        "CREATE UNIQUE INDEX engines_one_active ON engines (kind) WHERE active",
    ):
        connection.execute(text(statement))
    return 4


_ADDED = {
    "engines": (
        "release VARCHAR NOT NULL DEFAULT ''",
        "source VARCHAR NOT NULL DEFAULT ''",
        "digest VARCHAR NOT NULL DEFAULT ''",
        "pinned BOOLEAN NOT NULL DEFAULT 0",
        "architectures VARCHAR NOT NULL DEFAULT '[]'",
        "used_at FLOAT NOT NULL DEFAULT 0",
        "superseded_at FLOAT NOT NULL DEFAULT 0",
    ),
    "models": ("folder VARCHAR NOT NULL DEFAULT ''", "components VARCHAR NOT NULL DEFAULT '[]'"),
}


def _add_origins(connection: Connection) -> int:
    """4 → 5: where a build came from and what it is good for; the folder and the components of a model."""
    for table, columns in _ADDED.items():
        for column in columns:
            connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))
    return 5


def _add_pulls(connection: Connection) -> int:
    """5 → 6: where a model was pulled from, and the small one that guesses ahead for it."""
    for column in ("draft VARCHAR NOT NULL DEFAULT ''", "origin VARCHAR NOT NULL DEFAULT ''"):
        connection.execute(text(f"ALTER TABLE models ADD COLUMN {column}"))
    return 6


# What brings version n further, and to which it brings it.
_STEPS: dict[int, Callable[[Connection], int]] = {
    0: _create,
    3: _name_engine_kinds,
    4: _add_origins,
    5: _add_pulls,
}
