"""Kept chat completions, as their owner finds them."""

import json

import pytest

from blazar.application.kept import completions
from blazar.application.kept.completions import Completions, Filters
from blazar.application.ports.saved import Keeping, Saved
from blazar.domain.errors import NotFound
from blazar.domain.wire.paging import Page
from blazar.domain.wire.stored_chat import StoredChat, packed_chat
from tests.fakes.saved import MemorySaved

ASCENDING = Page(20, "", ascending=True)


def keep(store: MemorySaved, id_: str, owner: str = "", model: str = "m", **metadata: str) -> None:
    body = packed_chat(StoredChat({"id": id_, "metadata": metadata}, []))
    store.add(Saved(Keeping.COMPLETION, id_, owner, 0.0, model, "", json.dumps(metadata), body))


def ids(store: MemorySaved, paging: Page = ASCENDING, filters: Filters = Filters(), owner: str = "") -> list[str]:  # noqa: B008
    return [row["id"] for row in Completions(store).page(owner, paging, filters)[0]]


def test_a_page_goes_on_behind_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """In either order, however many rows are looked over at a time."""
    monkeypatch.setattr(completions, "_STEP", 2)
    store = MemorySaved()
    for number in range(5):
        keep(store, f"c{number}")
    assert Completions(store).page("", Page(2, "c1", ascending=True), Filters()) == (
        [{"id": "c2", "metadata": {}}, {"id": "c3", "metadata": {}}],
        True,
    )
    assert ids(store) == ["c0", "c1", "c2", "c3", "c4"]
    assert ids(store, Page(2, "c3")) == ["c2", "c1"]
    assert Completions(store).page("", Page(1, "c3", ascending=True), Filters())[1] is False


def test_completions_are_wanted_by_model_and_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is named must be attached."""
    monkeypatch.setattr(completions, "_STEP", 1)
    store = MemorySaved()
    keep(store, "a", topic="x", who="me")
    keep(store, "b", topic="x")
    keep(store, "c", model="n", topic="x")
    assert ids(store, filters=Filters(metadata={"topic": "x"})) == ["a", "b", "c"]
    assert ids(store, filters=Filters("m", {"topic": "x", "who": "me"})) == ["a"]
    assert ids(store, filters=Filters("n")) == ["c"]


def test_each_owner_sees_its_own() -> None:
    """In listings, and by id (A29)."""
    store = MemorySaved()
    keep(store, "a", owner="one")
    assert ids(store, owner="one") == ["a"]
    assert ids(store, owner="two") == []
    shelf = Completions(store)
    for call in (
        lambda: shelf.find("a", "two"),
        lambda: shelf.attach("a", "two", {}),
        lambda: shelf.remove("a", "two"),
    ):
        with pytest.raises(NotFound, match="no chat completion 'a'"):
            call()


def test_what_is_attached_can_be_exchanged() -> None:
    """In the listing's filter too."""
    store = MemorySaved()
    keep(store, "a", topic="x")
    assert Completions(store).attach("a", "", {"topic": "y"})["metadata"] == {"topic": "y"}
    assert Completions(store).find("a", "").completion["metadata"] == {"topic": "y"}
    assert ids(store, filters=Filters(metadata={"topic": "y"})) == ["a"]


def test_what_was_removed_is_gone() -> None:
    """Once."""
    store = MemorySaved()
    keep(store, "a")
    Completions(store).remove("a", "")
    with pytest.raises(NotFound):
        Completions(store).remove("a", "")
