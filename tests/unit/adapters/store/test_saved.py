"""The file behind what clients had kept."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.store.saved import SqliteSaved
from blazar.application.ports.saved import Change, Keeping, Saved
from blazar.domain.errors import StoreTrouble
from blazar.domain.wire.paging import Page

A = Saved(Keeping.RESPONSE, "r", "", 1.0, body=b"secret")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteSaved]:
    store = SqliteSaved(tmp_path / "saved.db")
    yield store
    store.close()


def test_nothing_kept_leaves_no_file(store: SqliteSaved) -> None:
    """Reading creates nothing."""
    assert store.find(Keeping.RESPONSE, "r", "") is None
    assert not store.path.exists()


def test_it_is_private_and_outlives_the_process(store: SqliteSaved) -> None:
    """0600 from the start; another opening finds it."""
    store.add(A)
    assert store.path.stat().st_mode & 0o777 == 0o600
    store.close()
    store.close()
    assert store.find(Keeping.RESPONSE, "r", "") == A


def test_threads_share_it(store: SqliteSaved) -> None:
    """Adding, changing and reading at once lose nothing."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: store.add(Saved(Keeping.FILE, f"f{n}", "", 1.0)), range(40)))
        done = list(pool.map(lambda n: store.change(Keeping.FILE, f"f{n}", Change("x"), ("",)), [*range(40)] * 2))
    assert sum(done) == 40
    assert len(store.page(Keeping.FILE, "", Page(99))) == 40


def test_a_foreign_file_is_a_sentence(tmp_path: Path) -> None:
    """Neither a traceback nor a file overwritten."""
    path = tmp_path / "saved.db"
    path.write_bytes(b"no database at all, though long enough to have a header " * 9)
    with pytest.raises(StoreTrouble, match="move the file away"):
        SqliteSaved(path).add(A)
    assert path.read_bytes().startswith(b"no database")


def test_a_newer_file_is_left_alone(store: SqliteSaved) -> None:
    """It belongs to a newer program."""
    store.add(A)
    store.close()
    with closing(sqlite3.connect(store.path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreTrouble, match="newer Blazar"):
        store.find(Keeping.RESPONSE, "r", "")


def test_a_failed_change_leaves_what_was(store: SqliteSaved) -> None:
    """One transaction, all or nothing."""
    store.add(A)
    with pytest.raises(StoreTrouble):
        store.add(Saved(Keeping.RESPONSE, "r", "", 1.0, facts="{}", model=None))  # type: ignore[arg-type]
    assert store.find(Keeping.RESPONSE, "r", "") == A
