"""What is special about the catalogs on SQLite: how paths are stored, and that no error leaves a kind without a build."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.domain.errors import EngineNotFound, StoreTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.parcels import Origin
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


def test_a_row_is_replaced_in_one_step(database: Database) -> None:
    """No reader finds none in between; where there is none yet, it is there afterwards. The draft's path is relative, too."""
    catalog, draft = SqliteModelCatalog(database), str(database.path.parent / "models" / "d.gguf")
    catalog.replace_model(a_model("m"))
    revision = catalog.revision()
    newer = a_model(
        "m", draft=draft, origin=Origin("hf:o/r:Q4_0", "ab" * 32, "MIT", 5.0, ("x",), "https://a", "hf:d/d:Q8_0")
    )
    catalog.replace_model(newer)
    assert catalog.list_models() == [newer]
    assert catalog.revision() != revision
    assert _stored(database, "SELECT draft FROM models") == "models/d.gguf"


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


def test_no_writing_method_stores_where_the_data_folder_is(database: Database) -> None:
    """The invariant holds at birth, whoever writes the row and whatever the command says (contract)."""
    data = database.path.parent
    catalog = SqliteEngineCatalog(database)
    server = str(data / "engines" / "v" / "bin" / "python")
    row = an_engine("v", server_path=server, command=(server, str(data / "engines" / "v" / "start.py")))
    writers: dict[str, Callable[[], object]] = {
        "add_engine": lambda: catalog.add_engine(row),
        "set_active": lambda: catalog.set_active(row.kind, "v", 1.0),
        "amend_engine": lambda: catalog.amend_engine("v", lambda one: replace(one, server_path=server, pinned=True)),
        "heal_paths": catalog.heal_paths,
    }
    for write in writers.values():
        write()
        with database.reading() as session:
            (stored,) = session.connection().execute(text("SELECT * FROM engines")).all()
        assert str(data) not in repr(stored)
        found = catalog.find_engine("v")
        assert found is not None
        assert (found.server_path, found.words) == (server, row.words)
    methods = {name for name, value in vars(SqliteEngineCatalog).items() if callable(value) and name[0] != "_"}
    assert methods == {*writers, "find_engine", "list_engines", "remove_engine"}


def test_the_boot_walk_heals_stragglers(database: Database) -> None:
    """Rows with absolute paths, of this folder or of the one that it was moved from; the command with them."""
    data = database.path.parent
    catalog = SqliteEngineCatalog(database)
    program = data / "engines" / "b1" / "llama-server"
    program.parent.mkdir(parents=True)
    program.touch()
    for tag in ("b1", "b2", "local"):
        provenance = Provenance.LOCAL if tag == "local" else Provenance.ARCHIVE
        catalog.add_engine(an_engine(tag, server_path=f"/was/engines/{tag}/llama-server", provenance=provenance))
    strays = {"b1": "/was/here/engines/b1/llama-server", "b2": f"{data}/engines/b2/llama-server", "local": str(program)}
    with database.writing() as session:
        for tag, path in strays.items():
            session.connection().execute(
                text("UPDATE engines SET server_path = :path, command = :words WHERE tag = :tag"),
                {"path": path, "words": json.dumps([path, "serve"]), "tag": tag},
            )
    assert catalog.heal_paths() == ["b1", "b2"]
    assert catalog.heal_paths() == []
    assert _stored(database, "SELECT server_path FROM engines WHERE tag = 'b1'") == "engines/b1/llama-server"
    assert _stored(database, "SELECT server_path FROM engines WHERE tag = 'b2'") == "engines/b2/llama-server"
    assert _stored(database, "SELECT server_path FROM engines WHERE tag = 'local'") == str(program)
    found = catalog.find_engine("b1")
    assert found is not None
    assert found.words == (str(program), "serve")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "vllm"),
        ("provenance", "magic"),
        ("architectures", "no json"),
        ("architectures", "7"),
        ("command", "zzz"),
        ("command", "7"),
    ],
)
def test_an_engine_that_cannot_be_read_takes_no_other_along(database: Database, column: str, value: str) -> None:
    """A kind of a newer version, a change by hand: it is as good as none, is left alone, and may be written anew."""
    catalog = SqliteEngineCatalog(database)
    catalog.add_engine(an_engine("b1", active=True))
    catalog.add_engine(an_engine("b2", active=False))
    with database.writing() as session:
        session.connection().execute(
            text(f"UPDATE engines SET {column} = '{value}', server_path = '/x/engines/b1' WHERE tag = 'b1'")
        )
    assert ([row.tag for row in catalog.list_engines()], catalog.find_engine("b1")) == (["b2"], None)
    assert catalog.heal_paths() == []
    with pytest.raises(EngineNotFound):
        catalog.amend_engine("b1", lambda row: row)
    catalog.add_engine(an_engine("b3", active=False))
    catalog.set_active(EngineKind.LLAMACPP, "b3")
    assert _stored(database, "SELECT count(*) FROM engines") == 3
    catalog.add_engine(an_engine("b1", active=False))
    catalog.remove_engine("b3")
    assert {row.tag: row.active for row in catalog.list_engines()} in (
        {"b1": True, "b2": False},
        {"b1": False, "b2": True},
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("weights", "onnx"),
        ("files", "no json"),
        ("sizes", "7"),
        ("components", "[[1]]"),
        ("origin", "{}"),
        ("origin", "7"),
    ],
)
def test_a_model_that_cannot_be_read_takes_no_other_along(database: Database, column: str, value: str) -> None:
    """The others are listed; its name may be given anew, and its row removed."""
    catalog = SqliteModelCatalog(database)
    catalog.add_model(a_model("a"))
    catalog.add_model(a_model("b"))
    with database.writing() as session:
        session.connection().execute(text(f"UPDATE models SET {column} = '{value}' WHERE name = 'a'"))
    assert ([one.name for one in catalog.list_models()], catalog.find_model("a")) == (["b"], None)
    catalog.add_model(a_model("a"))
    assert [one.name for one in catalog.list_models()] == ["a", "b"]
