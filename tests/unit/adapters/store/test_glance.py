"""The active build without the catalog."""

import sqlite3
import subprocess
import sys
from pathlib import Path

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.adapters.store.glance import build_of, models_in
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.parcels import Origin
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine


def test_it_is_the_one_that_the_catalog_says(tmp_path: Path) -> None:
    """Paths anchored, words with the server in its place; other kinds do not count."""
    path = tmp_path / "blazar.db"
    database = Database(path)
    catalog = SqliteEngineCatalog(database)
    inside = str(tmp_path / "engines" / "b1" / "llama-server")
    catalog.add_engine(an_engine("b1", server_path=inside))
    catalog.add_engine(an_engine("b2", server_path="/opt/llama-server", command=("/usr/bin/env", "/opt/llama-server")))
    catalog.add_engine(an_engine("other", kind=EngineKind.MISTRALRS))
    for tag in ("b1", "b2"):
        catalog.set_active(EngineKind.LLAMACPP, tag)
        found = build_of(path, EngineKind.LLAMACPP)
        stored = catalog.find_engine(tag)
        assert found is not None
        assert stored is not None
        assert (found.tag, found.server_path, found.words, found.active) == (
            tag,
            stored.server_path,
            stored.words,
            True,
        )
    pinned = build_of(path, EngineKind.LLAMACPP, "b1")
    assert pinned is not None
    assert (pinned.tag, pinned.active) == ("b1", False)
    assert build_of(path, EngineKind.LLAMACPP, "other") is None
    assert build_of(path, EngineKind.SGLANG) is None
    database.close()


def test_where_nothing_can_be_read_nothing_is_known(tmp_path: Path) -> None:
    """Without a database, in one of another make, in a file that is none; nothing comes into being."""
    assert build_of(tmp_path / "blazar.db", EngineKind.LLAMACPP) is None
    assert list(tmp_path.iterdir()) == []
    other = tmp_path / "other.db"
    sqlite3.connect(other).close()
    assert build_of(other, EngineKind.LLAMACPP) is None
    text = tmp_path / "text.db"
    text.write_text("x" * 5000)
    assert build_of(text, EngineKind.LLAMACPP) is None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """No index of the log can be made there: rows are read all the same, unless there is a log that may have others."""
    path = tmp_path / "blazar.db"
    database = Database(path)
    SqliteEngineCatalog(database).add_engine(an_engine("b1"))
    database.close()
    for left in tmp_path.glob("blazar.db-*"):
        left.unlink()
    index, log = tmp_path / "blazar.db-shm", tmp_path / "blazar.db-wal"
    index.symlink_to(tmp_path / "gone" / "index")  # root may write everywhere, and cannot make this either
    for before in (None, b""):
        if before is not None:
            log.write_bytes(before)
        found = build_of(path, EngineKind.LLAMACPP)
        assert found is not None
        assert found.tag == "b1"
    log.write_bytes(b"rows")
    assert build_of(path, EngineKind.LLAMACPP) is None


def test_models_as_the_catalog_has_them(tmp_path: Path) -> None:
    """With where they came from; no catalog has no models, and of one that cannot be read nothing is known."""
    path = tmp_path / "blazar.db"
    assert models_in(path) == []
    assert list(tmp_path.iterdir()) == []
    database = Database(path)
    catalog = SqliteModelCatalog(database)
    catalog.add_model(a_model("a:b", origin=Origin("hf:a/b:Q4_0", "f" * 64)))
    catalog.add_model(a_model("c", weights=Weights.MLX_QUANT))
    assert models_in(path) == catalog.list_models()
    database.close()
    text = tmp_path / "text.db"
    text.write_text("x" * 5000)
    assert models_in(text) is None


def test_no_orm_is_imported() -> None:
    """That is what it is for."""
    code = "import sys, blazar.adapters.store.glance; print('sqlmodel' in sys.modules, 'sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False False\n"
