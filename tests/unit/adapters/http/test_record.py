"""What the layers and the lane share about a request."""

import pytest

from blazar.adapters.http.record import CLIENT_LEFT, LONGEST, RECORD, RequestRecord, record_of
from blazar.domain.errors import Busy, ChildDied, EngineSaid, Malformed, OverQuota, Refusal


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
    record.line_up(3, 6.0)
    assert (record.queue_depth, record.lined_up) == (3, 6.0)


def test_a_refusal_is_kept_in_our_own_words() -> None:
    """What an engine says may quote the prompt, and so may the log of one that died while it answered."""
    record = RequestRecord("plm-1", 5.0)
    record.refuse(Busy("no slot in time"))
    assert record.refusal == "no slot in time"
    record.refuse(EngineSaid(500, "cannot parse: my secret prompt"))
    assert "secret" not in record.refusal
    assert "500" in record.refusal
    record.refuse(ChildDied("it said last: my secret prompt"))
    assert "secret" not in record.refusal
    record.refuse(Malformed("x" * 10_000, "field"))
    assert len(record.refusal) == LONGEST


def test_a_limit_that_was_used_up_is_noted_by_its_name() -> None:
    """The counter of such refusals reads it."""
    record = RequestRecord("plm-1", 5.0)
    record.refuse(OverQuota("rpm", "too many", 3.0))
    assert record.notes == [(5.0, "over_quota", {"limit": "rpm"})]


def test_what_is_told_at_the_end() -> None:
    """Times since it came; a note's, too. Without a status its client had left."""
    record = RequestRecord("plm-1", 5.0)
    record.first_byte, record.queue_seconds, record.model, record.engine = 6.0, 0.5, "tiny", "b1"
    record.note(7.5, "sentinel", code="truncation")
    served = record.served("POST", "/api/chat", "ollama", "::1", 9.0)
    assert (served.seconds, served.first_byte_seconds, served.queue_seconds) == (4.0, 1.0, 0.5)
    assert (served.status, served.dialect, served.engine, served.peer) == (CLIENT_LEFT, "ollama", "b1", "::1")
    assert served.notes == [(2.5, "sentinel", {"code": "truncation"})]


def test_what_is_kept_of_a_request_holds_no_secret() -> None:
    """One that a client put in the place of a path, of a model, or of both: the log, the audit and the stories tell of all three."""
    secret = "plm_" + "5ecret" * 8
    record = RequestRecord("plm-1", 0.0)
    record.model = secret
    record.refuse(Refusal(f"no model '{secret}'"))
    served = record.served("GET", f"/v1/models/{secret}", "openai", "::1", 1.0)
    assert (served.path, served.model, served.refusal) == ("/v1/models/plm_…", "plm_…", "no model 'plm_…'")
