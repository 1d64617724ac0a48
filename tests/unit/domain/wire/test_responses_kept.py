"""What is kept of a response, and how it is paged."""

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.responses_kept import (
    KeptResponse,
    Paging,
    listing,
    lost,
    packed,
    page_of,
    paging_of,
    turns,
    unpacked,
)

ITEMS = [{"id": str(number)} for number in range(5)]


def test_what_was_written_down_is_read_again() -> None:
    """Text outside ASCII too; half a character is none."""
    kept = KeptResponse({"id": "r", "output": [{"text": "ü"}]}, [{"id": "i"}], "before")
    assert unpacked(packed(kept)) == kept
    assert unpacked(packed(KeptResponse({"a": "\ud800"}))).response == {"a": "?"}


def test_a_conversation_is_what_was_asked_and_answered_in_turn() -> None:
    """Oldest first; a chain comes newest first."""
    chain = [KeptResponse({"output": ["d"]}, ["c"]), KeptResponse({"output": ["b"]}, ["a"]), KeptResponse({})]  # type: ignore[list-item]
    assert turns(chain) == ["a", "b", "c", "d"]


def test_a_response_that_nobody_works_on_has_failed() -> None:
    """With a reason."""
    found = lost({"id": "r", "status": "queued", "error": None})
    assert found["status"] == "failed"
    assert "daemon was stopped" in found["error"]["message"]


def test_a_paging_is_read_from_a_query() -> None:
    """Newest first, twenty at a time, unless said or unless the listing has another order."""
    assert paging_of({}) == Paging(20, "", False)
    assert paging_of({}, ascending=True).ascending
    assert paging_of({"limit": "3", "after": "x", "order": "asc"}) == Paging(3, "x", True)


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "101"}, {"limit": "x"}, {"limit": "²"}, {"order": "up"}])
def test_a_paging_that_cannot_be_meant(query: dict[str, str]) -> None:
    """A 400 that names the field."""
    with pytest.raises(Malformed) as caught:
        paging_of(query)
    assert caught.value.field in query


def test_pages_follow_each_other() -> None:
    """In either order; behind what is not there, there is nothing."""
    first = page_of(ITEMS, Paging(2, "", ascending=True))
    assert ([row["id"] for row in first["data"]], first["has_more"]) == (["0", "1"], True)
    assert (first["first_id"], first["last_id"], first["object"]) == ("0", "1", "list")
    last = page_of(ITEMS, Paging(2, "1"))
    assert ([row["id"] for row in last["data"]], last["has_more"]) == (["0"], False)
    assert page_of(ITEMS, Paging(2, "9")) == listing([], more=False)
