"""Anthropic's message batches on the wire."""

import json
from typing import Any

import pytest

from blazar.domain.batches import Answered, Fate, Line, State, Tally
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic_batches import (
    MOST_REQUESTS,
    answered_result,
    input_line,
    kept_line,
    message_batch_object,
    read_message_order,
    unanswered_result,
)
from tests.support.batching import a_batch


def test_an_order_is_read() -> None:
    """What is in `params` is nobody's business yet."""
    order = read_message_order({"requests": [{"custom_id": "a-1_B", "params": {"x": None}}], "beta": 1, "gone": None})
    assert order.lines == (Line("a-1_B", {"x": None}),)
    assert order.warnings == ("ignored; 'beta' has no effect here",)


@pytest.mark.parametrize(
    ("requests", "field"),
    [
        (None, "requests"),
        ([], "requests"),
        ({}, "requests"),
        ([1], "requests.0"),
        ([{"params": {}}], "requests.0.custom_id"),
        ([{"custom_id": "a b", "params": {}}], "requests.0.custom_id"),
        ([{"custom_id": "a" * 65, "params": {}}], "requests.0.custom_id"),
        ([{"custom_id": "a", "params": {}}, {"custom_id": "a", "params": {}}], "requests.1.custom_id"),
        ([{"custom_id": "a"}], "requests.0.params"),
        ([{}] * (MOST_REQUESTS + 1), "requests"),
    ],
)
def test_an_order_that_makes_no_sense_names_its_field(requests: Any, field: str) -> None:
    """Before anything is made of it."""
    with pytest.raises(Malformed) as refused:
        read_message_order({"requests": requests})
    assert refused.value.field == field


def test_a_request_comes_back_as_it_was_kept() -> None:
    """Whatever its texts hold; a line has no end in its middle."""
    line = Line("a", {"messages": [{"role": "user", "content": "é\n\ud800"}], "n": 1.5})
    kept = input_line(line)
    assert b"\n" not in kept
    assert kept_line(kept) == line


def test_results() -> None:
    """The four that the API has."""
    line = Line("a", {})
    good = json.loads(answered_result(line, Answered(200, b'{"type":"message"}', "t")))
    assert good == {"custom_id": "a", "result": {"type": "succeeded", "message": {"type": "message"}}}
    error = b'{"type":"error","error":{"type":"not_found_error","message":"m"},"request_id":"t"}'
    bad = json.loads(answered_result(line, Answered(404, error, "t")))
    assert bad["result"] == {"type": "errored", "error": json.loads(error)}
    assert json.loads(unanswered_result(line, Fate.EXPIRED))["result"] == {"type": "expired"}
    assert json.loads(unanswered_result(line, Fate.CANCELED))["result"] == {"type": "canceled"}


def messages(**changes: Any) -> dict[str, Any]:
    return message_batch_object(a_batch(dialect=Dialect.ANTHROPIC, tally=Tally(4, 1, 1, 1, 1), **changes), "http://h/r")


def test_a_batch_under_way_counts_all_as_processing() -> None:
    """As the API does until the whole batch has ended."""
    shown = messages(state=State.IN_PROGRESS)
    assert shown["processing_status"] == "in_progress"
    assert shown["request_counts"] == {"processing": 4, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    assert (shown["results_url"], shown["ended_at"], shown["cancel_initiated_at"]) == (None, None, None)


def test_a_batch_that_is_cancelled_says_since_when() -> None:
    """Until the request under way is answered."""
    shown = messages(state=State.CANCELLING, stamps={"cancelling_at": 0.0})
    assert (shown["processing_status"], shown["cancel_initiated_at"]) == ("canceling", "1970-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED, State.EXPIRED])
def test_a_batch_that_has_ended_has_results(state: State) -> None:
    """However it ended."""
    shown = messages(state=state, stamps={f"{state.value}_at": 60.0})
    assert (shown["processing_status"], shown["results_url"]) == ("ended", "http://h/r")
    assert shown["request_counts"] == {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 1, "expired": 1}
    assert shown["ended_at"] == "1970-01-01T00:01:00.000000Z"


def test_a_batch_whose_requests_are_gone_has_ended_without_results() -> None:
    """There is no address where nothing is."""
    shown = messages(state=State.FAILED, stamps={"failed_at": 60.0})
    assert (shown["processing_status"], shown["results_url"]) == ("ended", None)
