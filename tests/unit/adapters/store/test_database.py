"""Connections, transactions between processes, and errors as sentences."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from blazar.adapters.store.catalog import SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.domain.errors import StoreTrouble
from tests.fakes.catalog import a_model
from tests.support.shared import ROOT

# Opens the catalog when told to, adds twenty models, says so.
WRITER = """
import sys
from pathlib import Path
from blazar.adapters.store.catalog import SqliteModelCatalog
from blazar.adapters.store.database import Database
from tests.fakes.catalog import a_model
print("ready", flush=True)
sys.stdin.readline()
database = Database(Path(sys.argv[1]))
catalog = SqliteModelCatalog(database)
for number in range(20):
    catalog.add_model(a_model(f"{sys.argv[2]}{number}"))
database.close()
"""


def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    """Also one that was made readable for all once; what SQLite keeps beside it follows."""
    path = tmp_path / "blazar.db"
    for _ in range(2):
        database = Database(path)
        catalog = SqliteModelCatalog(database)
        catalog.replace_model(a_model("m"))
        assert {one.name: one.stat().st_mode & 0o077 for one in tmp_path.iterdir()} == {
            one.name: 0 for one in tmp_path.glob("blazar.db*")
        }
        database.close()
        path.chmod(0o644)


def _writers(path: Path, *names: str) -> list[subprocess.Popen[str]]:
    """One process a name, all of them about to open `path`."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    return started


def _go(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")


def test_two_processes_write_to_one_new_file(tmp_path: Path) -> None:
    """Both create it, both migrate it, neither loses a row or is told that the file is busy."""
    path = tmp_path / "blazar.db"
    _go(_writers(path, "a", "b"))
    database = Database(path)
    assert len(SqliteModelCatalog(database).list_models()) == 40
    database.close()


def test_a_commit_of_another_process_changes_the_revision(tmp_path: Path) -> None:
    """The daemon notices what the command line did (D29); nothing else moves the number."""
    path = tmp_path / "blazar.db"
    database = Database(path)
    catalog = SqliteModelCatalog(database)
    before = catalog.revision()
    assert catalog.revision() == before
    _go(_writers(path, "a"))
    after = catalog.revision()
    assert after != before
    assert catalog.revision() == after
    assert len(catalog.list_models()) == 20
    database.close()


def test_the_file_is_in_wal_mode_with_foreign_keys(tmp_path: Path) -> None:
    """Readers do not wait for a writer; references hold."""
    database = Database(tmp_path / "blazar.db")
    with database.reading() as session:
        assert session.connection().execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert session.connection().execute(text("PRAGMA foreign_keys")).scalar_one() == 1
        assert session.connection().execute(text("PRAGMA busy_timeout")).scalar_one() == 5_000
    database.close()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    """Any exception rolls back."""
    database = Database(tmp_path / "blazar.db")

    def fail() -> None:
        with database.writing() as session:
            session.connection().execute(text("INSERT INTO key_usage VALUES ('k', 'd', 1, 2, 3)"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.reading() as session:
        assert session.connection().execute(text("SELECT count(*) FROM key_usage")).scalar_one() == 0
    database.close()


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """It sees what was committed before."""
    database = Database(tmp_path / "blazar.db")
    catalog = SqliteModelCatalog(database)
    catalog.add_model(a_model())
    with database.writing() as session:
        session.connection().execute(text("DELETE FROM models"))
        assert [model.name for model in catalog.list_models()] == ["tiny"]
    assert catalog.list_models() == []
    database.close()


def test_the_catalog_can_be_used_from_any_thread(tmp_path: Path) -> None:
    """Ten threads, one file, all rows."""
    database = Database(tmp_path / "blazar.db")
    catalog = SqliteModelCatalog(database)
    threads = [threading.Thread(target=catalog.add_model, args=(a_model(f"m{number}"),)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(catalog.list_models()) == 10
    assert catalog.revision() > 0
    database.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"this is not a database, but long enough to look at" * 40, "not a database"), (None, "cannot be opened")],
)
def test_a_file_that_cannot_be_used_is_said(tmp_path: Path, content: bytes | None, why: str) -> None:
    """With its path and the reason, as a refusal."""
    path = tmp_path / "blazar.db" if content else tmp_path / "no" / "folder" / "blazar.db"
    if content:
        path.write_bytes(content)
    with pytest.raises(StoreTrouble, match=f"{path} cannot be used: .*{why}"):
        Database(path)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "read-only"),
        (sqlite3.SQLITE_CORRUPT_INDEX, "damaged"),
        (sqlite3.SQLITE_IOERR_FSYNC, "the disk does not read or write"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "another process is writing"),
    ],
)
def test_each_error_of_sqlite_has_its_sentence(tmp_path: Path, code: int, why: str) -> None:
    """Extended codes count as their primary ones."""
    database = Database(tmp_path / "blazar.db")
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code

    def fail() -> None:
        with database.reading():
            raise error

    with pytest.raises(StoreTrouble, match=why):
        fail()
    database.close()


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """A file that may not grow (max_page_count) refuses the row and keeps the ones before."""
    database = Database(tmp_path / "blazar.db")
    catalog = SqliteModelCatalog(database)
    catalog.add_model(a_model("before"))
    with database.reading() as session:  # the pool hands the same connection out again
        session.connection().execute(text("PRAGMA max_page_count = 1"))
    with pytest.raises(StoreTrouble, match="the disk is full"):
        catalog.add_model(a_model("after", digest="x" * 500_000))
    assert [model.name for model in catalog.list_models()] == ["before"]
    database.close()


def test_closing_twice_is_closing(tmp_path: Path) -> None:
    """Shutdown may come from two sides."""
    database = Database(tmp_path / "blazar.db")
    database.close()
    database.close()


def test_a_file_of_our_version_is_opened_without_the_orm(tmp_path: Path) -> None:
    """A daemon that only serves never pays for it: a third of a second at its start, and a fifth of its memory."""
    path = tmp_path / "blazar.db"
    Database(path).close()
    code = (
        "import sys; from pathlib import Path; from blazar.adapters.store.database import Database;"
        "from blazar.adapters.store.ledger import SqliteLedger;"
        "opened = Database(Path(sys.argv[1])); opened.revision(); SqliteLedger(opened).of_day('2026-01-31'); opened.close();"
        "print(sorted({'sqlalchemy', 'sqlmodel'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
