"""What is special about the catalogs on SQLite: how paths are stored, and that no error leaves a kind without a build."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.domain.errors import StoreTrouble
from blazar.domain.kinds import EngineKind, Provenance
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    (tmp_path / "data").mkdir()
    database = Database(tmp_path / "data" / "blazar.db")
    yield database
    database.close()


def _stored(database: Database, query: str) -> object:
    with database.reading() as session:
        return session.connection().execute(text(query)).scalar_one()


def test_paths_inside_the_data_folder_are_stored_relative(database: Database) -> None:
    """And read as absolute ones, in the command too (contract)."""
    data = database.path.parent
    server = str(data / "engines" / "b1" / "llama-server")
    catalog = SqliteEngineCatalog(database)
    catalog.add_engine(an_engine("b1", server_path=server, command=(server, "--quiet"), active=True))
    assert _stored(database, "SELECT server_path FROM engines") == "engines/b1/llama-server"
    assert str(data) not in str(_stored(database, "SELECT command FROM engines"))
    found = catalog.find_engine("b1")
    assert found is not None
    assert (found.server_path, found.words) == (server, (server, "--quiet"))


def test_paths_outside_the_data_folder_stay_absolute(database: Database) -> None:
    """Also one that only begins like it, or climbs out of it."""
    data = database.path.parent
    catalog = SqliteEngineCatalog(database)
    for tag, path in (
        ("local", "/opt/llama/llama-server"),
        ("sibling", f"{data}-other/llama-server"),
        ("climber", f"{data}/../elsewhere/llama-server"),
    ):
        catalog.add_engine(an_engine(tag, provenance=Provenance.LOCAL, server_path=path))
        stored = _stored(database, f"SELECT server_path FROM engines WHERE tag = '{tag}'")
        assert str(stored).startswith("/")
        assert not str(stored).startswith(f"{data}/")


def test_the_data_folder_can_be_moved(database: Database, tmp_path: Path) -> None:
    """Engines and owned models are found in the new place, referred files in the old one."""
    data = database.path.parent
    engine = an_engine("b1", server_path=str(data / "engines" / "b1" / "llama-server"))
    SqliteEngineCatalog(database).add_engine(engine)
    models = SqliteModelCatalog(database)
    models.add_model(a_model("own", files=(str(data / "models" / "own.gguf"),)))
    models.add_model(a_model("ref", files=("/elsewhere/ref.gguf",), owned=False))
    database.close()
    data.rename(tmp_path / "moved")
    moved = Database(tmp_path / "moved" / "blazar.db")
    found = SqliteEngineCatalog(moved).find_engine("b1")
    files = [model.files for model in SqliteModelCatalog(moved).list_models()]
    moved.close()
    assert found is not None
    assert found.server_path == str(tmp_path / "moved" / "engines" / "b1" / "llama-server")
    assert files == [(str(tmp_path / "moved" / "models" / "own.gguf"),), ("/elsewhere/ref.gguf",)]


@pytest.mark.parametrize("method", ["set_active", "remove_engine", "add_engine"])
def test_an_error_in_the_middle_leaves_the_active_build(database: Database, method: str) -> None:
    """Never zero active: the disk fails between taking the mark from one build and giving it to another."""
    catalog = SqliteEngineCatalog(database)
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("b2"))
    with database.writing() as session:
        session.connection().execute(
            text(
                "CREATE TRIGGER fail BEFORE UPDATE OF active ON engines WHEN NEW.active "
                "BEGIN SELECT RAISE(ABORT, 'the disk failed'); END"
            )
        )
    wish = {
        "set_active": lambda: catalog.set_active(EngineKind.LLAMACPP, "b2"),
        "remove_engine": lambda: catalog.remove_engine("b1"),
        "add_engine": lambda: catalog.add_engine(an_engine("b3", active=True)),
    }[method]
    with pytest.raises(StoreTrouble, match="the disk failed"):
        wish()
    assert [(engine.tag, engine.active) for engine in catalog.list_engines()] == [("b1", True), ("b2", False)]


def test_the_file_itself_refuses_two_active_builds(database: Database) -> None:
    """Another program cannot make two, either."""
    catalog = SqliteEngineCatalog(database)
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("b2"))
    connection = sqlite3.connect(database.path)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE engines SET active = 1")
    connection.close()


def test_replacing_an_engine_keeps_what_hangs_on_it(database: Database) -> None:
    """A row is updated, not deleted and inserted: profiles would go with it."""
    engines, models = SqliteEngineCatalog(database), SqliteModelCatalog(database)
    engines.add_engine(an_engine("b1"))
    models.add_model(a_model())
    with database.writing() as session:
        session.connection().execute(text("INSERT INTO profiles VALUES ('tiny', 'b1', '[]', 1.0)"))
    engines.add_engine(an_engine("b1", version="new"))
    assert _stored(database, "SELECT count(*) FROM profiles") == 1
    models.remove_model("tiny")
    assert _stored(database, "SELECT count(*) FROM profiles") == 0
