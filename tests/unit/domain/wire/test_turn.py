"""What a writer knows of its request."""

from blazar.domain.wire.turn import Turn


def test_call_ids_differ_between_turns() -> None:
    """A conversation may hold many made-up ids; only the trace makes them unique."""
    assert Turn("m", id="plm-1-2").call_id(0) == "call_plm-1-2_0"
    assert Turn("m", id="plm-1-3").call_id(0) != Turn("m", id="plm-1-2").call_id(0)
    assert Turn("m").call_id(1) == "call_1"
