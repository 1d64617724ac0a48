"""Whose things a request may see."""

from blazar.adapters.http.openai.owner import owner_of
from blazar.adapters.http.record import RECORD, RequestRecord


def test_the_owner_is_the_key() -> None:
    """Nobody's name where there are no keys."""
    record = RequestRecord("plm-1-1", 0.0)
    assert owner_of({RECORD: record}) == ""
    record.key = "laptop"
    assert owner_of({RECORD: record}) == "laptop"
