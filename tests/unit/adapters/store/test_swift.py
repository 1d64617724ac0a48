"""The catalogs for verbs: they read what the catalogs on the ORM read, and leave everything else to them."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.adapters.store.swift import SwiftEngineCatalog, SwiftModelCatalog
from blazar.domain.errors import EngineNotFound, StoreTrouble
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.parcels import Origin
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "blazar.db")
    yield database
    database.close()


def _never() -> Database:
    raise AssertionError("the whole catalog was opened")


def test_models_are_read_as_the_whole_catalog_reads_them(database: Database) -> None:
    """Field by field, in its order; a name that is not there is None."""
    whole, swift = SqliteModelCatalog(database), SwiftModelCatalog(database.path, _never)
    inside = str(database.path.parent / "models" / "x.gguf")
    whole.add_model(a_model("b", files=(inside,), sizes=(3,)))
    origin = Origin("hf:o/r:Q4_0", "ab" * 32, "MIT", 5.0, ("x", "", "y"))
    whole.add_model(a_model("c", draft=inside, origin=origin))
    whole.add_model(a_model("a", weights=Weights.DIFFUSION, components=(("vae", inside),), folder=""))
    assert swift.list_models() == whole.list_models()
    assert [model.name for model in swift.list_models()] == ["a", "b", "c"]
    assert swift.find_model("b") == whole.find_model("b")
    assert swift.find_model("d") is None


def test_engines_are_read_as_the_whole_catalog_reads_them(database: Database) -> None:
    """Field by field: the active one of a kind first, then the newest."""
    whole, swift = SqliteEngineCatalog(database), SwiftEngineCatalog(database.path, _never)
    inside = str(database.path.parent / "engines" / "b1" / "llama-server")
    whole.add_engine(an_engine("b1", server_path=inside, installed_at=1.0))
    whole.add_engine(an_engine("b3", installed_at=3.0))
    whole.add_engine(replace(an_engine("b2", installed_at=2.0), pinned=True, architectures=("x",), digest="d"))
    whole.add_engine(an_engine("m", kind=EngineKind.MISTRALRS, provenance=Provenance.LOCAL))
    assert swift.list_engines() == whole.list_engines()
    assert swift.find_engine("b2") == whole.find_engine("b2")
    assert swift.find_engine("nope") is None


def test_what_the_daemon_wrote_just_now_is_seen(database: Database) -> None:
    """Every question reads anew (D29)."""
    whole, swift = SqliteModelCatalog(database), SwiftModelCatalog(database.path, _never)
    assert swift.list_models() == []
    whole.add_model(a_model("a"))
    assert [model.name for model in swift.list_models()] == ["a"]


def test_writing_is_the_whole_catalog_s(database: Database) -> None:
    """Each method of the ports; refusals come through."""
    models = SwiftModelCatalog(database.path, lambda: database)
    models.add_model(a_model("a"))
    assert models.find_model("a") is not None
    assert isinstance(models.revision(), int)
    models.replace_model(a_model("a", draft="/d.gguf"))
    assert models.find_model("a") == a_model("a", draft="/d.gguf")
    assert models.remove_model("a") is True
    assert models.remove_model("a") is False
    engines = SwiftEngineCatalog(database.path, lambda: database)
    engines.add_engine(an_engine("b1"))
    engines.add_engine(an_engine("b2"))
    engines.set_active(EngineKind.LLAMACPP, "b2", 5.0)
    assert engines.amend_engine("b2", lambda row: replace(row, pinned=True)).pinned
    assert engines.heal_paths() == []
    engines.remove_engine("b1")
    assert [row.tag for row in engines.list_engines()] == ["b2"]
    with pytest.raises(EngineNotFound):
        engines.remove_engine("b1")


@pytest.mark.parametrize("found", ["none", "older", "newer", "no database"])
def test_a_file_of_another_kind_is_the_whole_catalog_s(found: str, tmp_path: Path) -> None:
    """It makes it, brings it up to date, or says what is wrong with it; nothing is guessed."""
    path, opened = tmp_path / "blazar.db", []
    if found == "no database":
        path.write_text("x" * 5000)
    elif found != "none":
        with closing(sqlite3.connect(path)) as store:
            store.execute(f"PRAGMA user_version = {4 if found == 'older' else 99}")

    def opening() -> Database:
        opened.append(Database(path))
        return opened[-1]

    swift = SwiftModelCatalog(path, opening)
    if found == "none":
        assert swift.list_models() == []
        assert swift.find_model("a") is None
        assert len(opened) == 1  # the file is there since
    else:
        with pytest.raises(StoreTrouble):
            swift.list_models()
        with pytest.raises(StoreTrouble):
            swift.find_model("a")
        assert opened == []
    for one in opened:
        one.close()


def test_no_orm_is_imported() -> None:
    """That is what it is for."""
    code = "import sys, blazar.adapters.store.swift; print({'sqlmodel', 'sqlalchemy', 'pydantic'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
