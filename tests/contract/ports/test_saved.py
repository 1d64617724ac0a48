"""What every store of kept things must do: the one in memory and the one on SQLite."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.store.saved import SqliteSaved
from blazar.application.ports.saved import Change, Keeping, Saved, SavedStore
from blazar.domain.wire.paging import Page
from tests.fakes.saved import MemorySaved

RESPONSE = Keeping.RESPONSE


def _memory(_folder: Path) -> Iterator[SavedStore]:
    yield MemorySaved()


def _sqlite(folder: Path) -> Iterator[SavedStore]:
    store = SqliteSaved(folder / "saved.db")
    yield store
    store.close()


@pytest.fixture(params=[_memory, _sqlite], ids=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SavedStore]:
    build: Callable[[Path], Iterator[SavedStore]] = request.param
    yield from build(tmp_path)


def kept(id_: str, *, owner: str = "a", body: bytes = b"{}", status: str = "done", expires_at: float = 0.0) -> Saved:
    return Saved(RESPONSE, id_, owner, 5.5, "m", status, '{"é":1}', body, expires_at)


def ids(rows: object) -> list[str]:
    assert isinstance(rows, list)
    return [row.id for row in rows]


def test_an_empty_store_answers(store: SavedStore) -> None:
    """Nothing kept is no error."""
    assert store.find(RESPONSE, "x", "") is None
    assert list(store.page(RESPONSE, "", Page())) == []
    assert list(store.with_status(RESPONSE, ("done",))) == []
    assert store.change(RESPONSE, "x", Change(status="s")) is False
    assert store.remove(RESPONSE, "x", "") is False
    assert list(store.trim(RESPONSE, 0, 0.0)) == []


def test_it_comes_back_as_it_went_in(store: SavedStore) -> None:
    """Every field, bytes as they are; a second one of that id takes its place."""
    store.add(kept("r", body=b"\x00\xff"))
    assert store.find(RESPONSE, "r", "a") == kept("r", body=b"\x00\xff")
    store.add(replace(kept("r"), status="new"))
    assert store.find(RESPONSE, "r", "a") == replace(kept("r"), status="new")


def test_what_is_anothers_is_not_there(store: SavedStore) -> None:
    """Neither to read nor to remove (A29); kinds are apart too."""
    store.add(kept("r"))
    assert store.find(RESPONSE, "r", "b") is None
    assert store.find(Keeping.BATCH, "r", "a") is None
    assert store.remove(RESPONSE, "r", "b") is False
    assert list(store.page(RESPONSE, "b", Page())) == []
    assert store.remove(RESPONSE, "r", "a") is True
    assert store.find(RESPONSE, "r", "a") is None


def test_pages_follow_each_other(store: SavedStore) -> None:
    """By age, both ways, without bodies; a mark that is gone or somebody else's ends the listing."""
    for number in range(5):
        store.add(kept(f"r{number}"))
    store.add(kept("other", owner="b"))
    assert ids(store.page(RESPONSE, "a", Page(2))) == ["r4", "r3"]
    assert ids(store.page(RESPONSE, "a", Page(2, "r3"))) == ["r2", "r1"]
    assert ids(store.page(RESPONSE, "a", Page(2, "r3", ascending=True))) == ["r4"]
    assert ids(store.page(RESPONSE, "a", Page(9, ascending=True))) == ["r0", "r1", "r2", "r3", "r4"]
    assert ids(store.page(RESPONSE, "a", Page(2, "gone"))) == []
    assert ids(store.page(RESPONSE, "a", Page(2, "other"))) == []
    assert {row.body for row in store.page(RESPONSE, "a", Page())} == {b""}


def test_a_change_may_expect_a_status(store: SavedStore) -> None:
    """Two that end the same thing: the first one wins."""
    store.add(kept("r", status="in_progress"))
    assert store.change(RESPONSE, "r", Change("done", '{"n":2}', b"whole"), ("in_progress",)) is True
    assert store.change(RESPONSE, "r", Change("cancelled"), ("in_progress",)) is False
    assert store.change(RESPONSE, "r", Change(), ("done",)) is True
    found = store.find(RESPONSE, "r", "a")
    assert found == replace(kept("r"), status="done", facts='{"n":2}', body=b"whole")


def test_what_was_under_way_is_found_again(store: SavedStore) -> None:
    """Of all owners, with bodies, oldest first."""
    store.add(kept("one", status="in_progress", body=b"1"))
    store.add(kept("two", owner="b", status="queued", body=b"2"))
    store.add(kept("three"))
    found = store.with_status(RESPONSE, ("queued", "in_progress"))
    assert [(row.id, row.body) for row in found] == [("one", b"1"), ("two", b"2")]


def test_the_oldest_go_first(store: SavedStore) -> None:
    """Down to so many bytes; what is spared stays, and counts; what has expired goes though there is room."""
    size = kept("x", body=b"x" * 100).size
    for number in range(4):
        store.add(kept(f"r{number}", body=b"x" * 100, status="busy" if number == 0 else "done"))
    assert sorted(store.trim(RESPONSE, 2 * size, 0.0, ("busy",))) == ["r1"]
    assert ids(store.page(RESPONSE, "a", Page())) == ["r3", "r2", "r0"]
    store.add(kept("late", expires_at=10.0))
    store.add(kept("later", expires_at=20.0))
    assert list(store.trim(RESPONSE, 10**9, 10.0)) == ["late"]
    assert store.change(RESPONSE, "later", Change(body=b"y" * 5000))
    assert "later" in store.trim(RESPONSE, 2000, 0.0)
