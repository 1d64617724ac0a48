"""Finding what was kept, alone and in a chain."""

from collections.abc import Collection

import pytest

from blazar.application.kept import recall_response
from blazar.application.kept.recall_response import RecallResponse
from blazar.application.ports.saved import Keeping, Saved
from blazar.domain.errors import Malformed, NotFound
from blazar.domain.wire.responses_items import item_id, response_id
from blazar.domain.wire.responses_kept import KeptResponse, packed
from tests.fakes.saved import MemorySaved

FIRST, SECOND, THIRD = (f"{number:032x}" for number in (1, 2, 3))


def keep(store: MemorySaved, token: str, previous: str = "", owner: str = "a", status: str = "completed") -> str:
    id_ = response_id(token)
    output = [{"id": item_id("message", token, 0), "text": f"answer {token[-1]}"}]
    response = {"id": id_, "status": status, "output": output}
    kept = KeptResponse(response, [{"id": item_id("message", token, 0x8000), "text": f"ask {token[-1]}"}], previous)
    store.add(Saved(Keeping.RESPONSE, id_, owner, 0.0, "m", status, "{}", packed(kept)))
    return id_


def recalling(store: MemorySaved, running: Collection[str] = ()) -> RecallResponse:
    return RecallResponse(store, lambda: running)


def test_a_conversation_is_followed_to_its_beginning() -> None:
    """Asked and answered in turn; what a response was made from leaves out its own answer."""
    store = MemorySaved()
    third = keep(store, THIRD, keep(store, SECOND, keep(store, FIRST)))
    texts = [item["text"] for item in recalling(store).history(third, "a")]
    assert texts == ["ask 1", "answer 1", "ask 2", "answer 2", "ask 3", "answer 3"]
    assert [item["text"] for item in recalling(store).input_of(third, "a")] == texts[:-1]


def test_somebody_elses_is_not_there() -> None:
    """Nor is a conversation with a hole in it (A29)."""
    store = MemorySaved()
    mine = keep(store, SECOND, keep(store, FIRST, owner="b"))
    recall = recalling(store)
    assert recall.find(mine, "a").response["id"] == mine
    for call in (lambda: recall.find(mine, "b"), lambda: recall.history(mine, "a"), lambda: recall.remove(mine, "b")):
        with pytest.raises(NotFound, match="is kept here"):
            call()


def test_items_are_found_by_their_ids() -> None:
    """Of the answer and of the input; one that is not there is a 404 that names it."""
    store = MemorySaved()
    keep(store, FIRST)
    said, asked = item_id("message", FIRST, 0), item_id("message", FIRST, 0x8000)
    found = recalling(store).items([said, asked], "a")
    assert (found[said]["text"], found[asked]["text"]) == ("answer 1", "ask 1")
    for id_, owner in ((said, "b"), ("msg_1", "a"), (item_id("message", FIRST, 7), "a")):
        with pytest.raises(NotFound):
            recalling(store).items([id_], owner)


def test_a_response_that_nobody_works_on_has_failed() -> None:
    """The daemon that did is gone; it is written down so, once."""
    store = MemorySaved()
    id_ = keep(store, FIRST, status="in_progress")
    assert recalling(store, [id_]).find(id_, "a").response["status"] == "in_progress"
    assert recalling(store).find(id_, "a").response["status"] == "failed"
    kept = store.find(Keeping.RESPONSE, id_, "a")
    assert kept is not None
    assert kept.status == "failed"


def test_nobody_goes_on_from_what_is_not_finished() -> None:
    """A 400 that says to wait."""
    store = MemorySaved()
    id_ = keep(store, FIRST, status="in_progress")
    with pytest.raises(Malformed, match="still being worked on"):
        recalling(store, [id_]).history(id_, "a")


def test_a_chain_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leads back to itself would never."""
    monkeypatch.setattr(recall_response, "MOST_TURNS", 5)
    store = MemorySaved()
    id_ = keep(store, FIRST, response_id(FIRST))
    with pytest.raises(Malformed, match="more than 5 responses"):
        recalling(store).history(id_, "a")


def test_what_was_removed_is_gone() -> None:
    """Once."""
    store = MemorySaved()
    id_ = keep(store, FIRST)
    recalling(store).remove(id_, "a")
    with pytest.raises(NotFound):
        recalling(store).find(id_, "a")
