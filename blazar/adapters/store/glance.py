"""Which engine build is active, and what models there are, without the catalog: the ORM takes a third of a second to import, and thin verbs have none.

Reads rows and writes nothing, the database's version included: where it is not as expected, nothing is known.
"""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from blazar.adapters.store.anchor import Anchor
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.records import Engine

_ASK = (
    "SELECT tag, provenance, server_path, command, version, active, installed_at FROM engines "
    "WHERE kind = ? AND CASE ? WHEN '' THEN active ELSE tag = ? END LIMIT 1"
)


def build_of(database: Path, kind: EngineKind, tag: str = "") -> Engine | None:
    """The build of this kind that serves, or the one of that tag; None where there is no catalog, no build, or no reading it."""
    with (
        suppress(sqlite3.Error, ValueError),
        closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as store,
    ):
        row = store.execute(_ASK, (kind.value, tag, tag)).fetchone()
        if row is None:
            return None
        name, provenance, path, command, version, active, installed_at = row
        anchor = Anchor(database.parent)
        server = anchor.live(path)
        words = anchor.live_words(json.loads(command), server)
        return Engine(name, kind, Provenance(provenance), server, version, bool(active), installed_at, words)
    return None


def models_in(database: Path) -> dict[str, Weights] | None:
    """What each model of the catalog is made of, by name; none where there is no catalog yet, None where it cannot be read."""
    if not database.exists():
        return {}
    with (
        suppress(sqlite3.Error, ValueError),
        closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as store,
    ):
        return {str(name): Weights(weights) for name, weights in store.execute("SELECT name, weights FROM models")}
    return None
