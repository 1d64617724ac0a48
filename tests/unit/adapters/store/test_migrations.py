"""Catalog files of every age, and files that are none."""

import sqlite3
from pathlib import Path

import pytest

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.domain.errors import StoreTrouble
from blazar.domain.kinds import EngineKind
from tests.fakes.catalog import a_model

TABLES = {"engines", "models", "profiles", "loras", "key_usage", "bench_history"}

# A catalog as version 3 left it: version 4 without engines.kind (D29).
VERSION_3 = """
CREATE TABLE engines (
    tag VARCHAR NOT NULL, provenance VARCHAR NOT NULL, server_path VARCHAR NOT NULL, command VARCHAR NOT NULL,
    version VARCHAR NOT NULL, active BOOLEAN NOT NULL, installed_at FLOAT NOT NULL, PRIMARY KEY (tag)
);
CREATE TABLE models (
    name VARCHAR NOT NULL, files VARCHAR NOT NULL, sizes VARCHAR NOT NULL, weights VARCHAR NOT NULL,
    arch VARCHAR NOT NULL, quant VARCHAR NOT NULL, parameters INTEGER NOT NULL, ctx_train INTEGER NOT NULL,
    embedding_length INTEGER NOT NULL, pooling INTEGER, template BOOLEAN NOT NULL, owned BOOLEAN NOT NULL,
    digest VARCHAR NOT NULL, imported_at FLOAT NOT NULL,
    PRIMARY KEY (name), CONSTRAINT models_name_without_replica CHECK (instr(name, '#') = 0)
);
CREATE TABLE profiles (
    model VARCHAR NOT NULL, engine VARCHAR NOT NULL, argv VARCHAR NOT NULL, compiled_at FLOAT NOT NULL,
    PRIMARY KEY (model, engine),
    FOREIGN KEY(model) REFERENCES models (name) ON DELETE CASCADE,
    FOREIGN KEY(engine) REFERENCES engines (tag) ON DELETE CASCADE
);
CREATE TABLE loras (
    name VARCHAR NOT NULL, model VARCHAR NOT NULL, path VARCHAR NOT NULL, scale FLOAT NOT NULL,
    digest VARCHAR NOT NULL, added_at FLOAT NOT NULL,
    PRIMARY KEY (name), FOREIGN KEY(model) REFERENCES models (name) ON DELETE CASCADE
);
CREATE INDEX ix_loras_model ON loras (model);
CREATE TABLE key_usage (
    key VARCHAR NOT NULL, day VARCHAR NOT NULL, requests INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, PRIMARY KEY (key, day)
);
CREATE TABLE bench_history (
    id INTEGER NOT NULL, engine VARCHAR NOT NULL, model VARCHAR NOT NULL, prompt_tokens_per_second FLOAT NOT NULL,
    decode_tokens_per_second FLOAT NOT NULL, measured_at FLOAT NOT NULL, PRIMARY KEY (id)
);
CREATE INDEX ix_bench_history_engine ON bench_history (engine);
INSERT INTO engines VALUES ('b5000', 'archive', 'engines/b5000/llama-server', '[]', 'b5000', 0, 1.0);
INSERT INTO engines VALUES ('b6000', 'archive', 'engines/b6000/llama-server', '[]', 'b6000', 1, 2.0);
INSERT INTO engines VALUES ('local', 'local', '/opt/llama-server', '[]', 'b7000', 0, 3.0);
INSERT INTO models VALUES ('tiny', '["models/tiny.gguf"]', '[240128]', 'gguf', 'llama', 'F16', 110000, 512, 64,
    NULL, 1, 1, 'abab', 5.0);
INSERT INTO key_usage VALUES ('key', '2026-01-31', 3, 100, 50);
PRAGMA user_version = 3;
"""


def _old(path: Path, script: str = VERSION_3) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def _shape(path: Path) -> dict[str, object]:
    """Columns (name → type, nullable, default, key), foreign keys and indexes of every table; the version."""
    connection = sqlite3.connect(path)
    shape: dict[str, object] = {"version": connection.execute("PRAGMA user_version").fetchone()}
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
        columns = {row[1]: row[2:] for row in connection.execute(f"PRAGMA table_info({table})")}
        keys = sorted(row[2:7] for row in connection.execute(f"PRAGMA foreign_key_list({table})"))
        indexes = sorted(row[1:] for row in connection.execute(f"PRAGMA index_list({table})"))
        shape[table] = (columns, keys, indexes)
    connection.close()
    return shape


def test_an_empty_file_gets_all_six_tables(tmp_path: Path) -> None:
    """At version 6, with nothing in them."""
    Database(tmp_path / "blazar.db").close()
    shape = _shape(tmp_path / "blazar.db")
    assert set(shape) == TABLES | {"version"}
    assert shape["version"] == (6,)


def test_version_3_becomes_the_newest_and_keeps_its_rows(tmp_path: Path) -> None:
    """Every engine of that time was llama.cpp; the active one stays active."""
    database = Database(_old(tmp_path / "blazar.db"))
    engines = SqliteEngineCatalog(database).list_engines()
    assert [(engine.tag, engine.kind, engine.active) for engine in engines] == [
        ("b6000", EngineKind.LLAMACPP, True),
        ("local", EngineKind.LLAMACPP, False),
        ("b5000", EngineKind.LLAMACPP, False),
    ]
    assert engines[0].server_path == str(tmp_path / "engines/b6000/llama-server")
    assert engines[1].server_path == "/opt/llama-server"
    assert [model.name for model in SqliteModelCatalog(database).list_models()] == ["tiny"]
    database.close()
    connection = sqlite3.connect(tmp_path / "blazar.db")
    assert connection.execute("SELECT * FROM key_usage").fetchall() == [("key", "2026-01-31", 3, 100, 50)]
    connection.close()


def test_a_migrated_file_and_a_new_one_have_the_same_shape(tmp_path: Path) -> None:
    """Or later steps would have to know where a file came from."""
    Database(_old(tmp_path / "old.db")).close()
    Database(tmp_path / "new.db").close()
    assert _shape(tmp_path / "old.db") == _shape(tmp_path / "new.db")


@pytest.mark.parametrize(("active", "left"), [("1", "local"), ("0", "local")])
def test_a_version_3_file_with_two_or_no_active_engines_gets_one(tmp_path: Path, active: str, left: str) -> None:
    """The newest: nothing before version 4 enforced it."""
    database = Database(_old(tmp_path / "blazar.db", VERSION_3 + f"UPDATE engines SET active = {active};"))
    engines = SqliteEngineCatalog(database).list_engines()
    database.close()
    assert [engine.tag for engine in engines if engine.active] == [left]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """One transaction: here the index of version 4 has a name that is taken."""
    path = _old(tmp_path / "blazar.db", VERSION_3 + "CREATE TABLE engines_one_active (x);")
    before = _shape(path)
    with pytest.raises(StoreTrouble, match="already"):
        Database(path)
    assert _shape(path) == before


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("PRAGMA user_version = 7;", r"written by a newer Blazar \(version 7, this one knows 6\): update"),
        ("PRAGMA user_version = 2;", r"not one that Blazar wrote \(version 2\)"),
        ("PRAGMA user_version = -1;", "not one that Blazar wrote"),
        ("CREATE TABLE recipes (name);", r"not one that Blazar wrote \(version 0\)"),
    ],
    ids=["newer", "older", "negative", "foreign"],
)
def test_a_file_that_is_not_ours_to_read_is_left_alone(tmp_path: Path, script: str, sentence: str) -> None:
    """A sentence, and the same bytes afterwards."""
    path = _old(tmp_path / "blazar.db", script)
    before = path.read_bytes()
    with pytest.raises(StoreTrouble, match=sentence):
        Database(path)
    assert path.read_bytes() == before


VERSION_4 = (
    VERSION_3.replace(
        "version VARCHAR NOT NULL, active",
        "version VARCHAR NOT NULL, kind VARCHAR NOT NULL DEFAULT 'llamacpp', active",
    )
    .replace("'b5000', 0,", "'b5000', 'llamacpp', 0,")
    .replace("'b6000', 1,", "'b6000', 'llamacpp', 1,")
    .replace("'b7000', 0,", "'b7000', 'llamacpp', 0,")
    + "CREATE UNIQUE INDEX engines_one_active ON engines (kind) WHERE active; PRAGMA user_version = 4;"
)
VERSION_5 = (
    VERSION_4
    + "".join(
        f"ALTER TABLE {table} ADD COLUMN {column};"
        for table, columns in {
            "engines": (
                *("release VARCHAR NOT NULL DEFAULT ''", "source VARCHAR NOT NULL DEFAULT ''"),
                *("digest VARCHAR NOT NULL DEFAULT ''", "pinned BOOLEAN NOT NULL DEFAULT 0"),
                *("architectures VARCHAR NOT NULL DEFAULT '[]'", "used_at FLOAT NOT NULL DEFAULT 0"),
                "superseded_at FLOAT NOT NULL DEFAULT 0",
            ),
            "models": ("folder VARCHAR NOT NULL DEFAULT ''", "components VARCHAR NOT NULL DEFAULT '[]'"),
        }.items()
        for column in columns
    )
    + """UPDATE models SET components = '[["vae", "models/tiny.gguf"]]'; PRAGMA user_version = 5;"""
)


@pytest.mark.parametrize("script", [VERSION_4, VERSION_5], ids=["4", "5"])
def test_an_older_version_becomes_the_newest_and_keeps_its_rows(tmp_path: Path, script: str) -> None:
    """What it did not know is empty, which means unknown."""
    database = Database(_old(tmp_path / "old.db", script))
    engine = SqliteEngineCatalog(database).find_engine("b6000")
    model = SqliteModelCatalog(database).find_model("tiny")
    database.close()
    assert engine is not None
    assert model is not None
    assert (engine.active, engine.source, engine.pinned, engine.architectures) == (True, "", False, ())
    assert (model.folder, model.draft, model.origin) == ("", "", None)
    assert model.components == ((("vae", str(tmp_path / "models/tiny.gguf")),) if script is VERSION_5 else ())
    Database(tmp_path / "new.db").close()
    assert _shape(tmp_path / "old.db") == _shape(tmp_path / "new.db")


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    """Migration runs once."""
    for name in ("a", "b"):
        database = Database(tmp_path / "blazar.db")
        SqliteModelCatalog(database).add_model(a_model(name))
        database.close()
    database = Database(tmp_path / "blazar.db")
    assert [model.name for model in SqliteModelCatalog(database).list_models()] == ["a", "b"]
    database.close()
