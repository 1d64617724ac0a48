"""What the layers and the lane share about a request."""

import pytest

from blazar.adapters.http.record import RECORD, RequestRecord, record_of


def test_a_fresh_record_knows_only_its_trace_and_time() -> None:
    """Everything else is filled in as the request goes; nothing else can be put on it."""
    record = RequestRecord("plm-1", 5.0)
    assert (record.trace, record.started, record.status, record.model) == ("plm-1", 5.0, 0, "")
    with pytest.raises(AttributeError):
        record.other = 1  # type: ignore[attr-defined]


def test_it_lies_in_the_scope() -> None:
    """Put there by the outermost layer; without it something is wired wrongly."""
    record = RequestRecord("plm-1", 5.0)
    assert record_of({RECORD: record}) is record
    with pytest.raises(KeyError):
        record_of({})
    with pytest.raises(AssertionError):
        record_of({RECORD: {}})


def test_the_depth_of_the_line_is_noted() -> None:
    """For the audit line."""
    record = RequestRecord("plm-1", 5.0)
    record.note_depth(3)
    assert record.queue_depth == 3
