"""What is kept of a response, and how it is paged."""

from blazar.domain.wire.responses_kept import (
    KeptResponse,
    lost,
    packed,
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
