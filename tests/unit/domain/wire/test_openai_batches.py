"""OpenAI's batches and files on the wire."""

import json
from typing import Any

import pytest
from openai.types.batch_usage import BatchUsage

from blazar.domain.batches import Answered, Fate, Flaw, Line, Spent, State, Tally
from blazar.domain.errors import Malformed
from blazar.domain.wire.openai_batches import (
    LONGEST_LIFE,
    SHORTEST_LIFE,
    answered_line,
    batch_object,
    one_line,
    read_life,
    read_line,
    read_order,
    spent_in,
    unanswered_line,
)
from tests.support.batching import CHAT, a_batch, line

ORDER = {"input_file_id": "file-1", "endpoint": CHAT, "completion_window": "24h"}


def test_an_order_is_read() -> None:
    """With everything that may stand in it; null means absent."""
    more = {"metadata": {"a": "b"}, "output_expires_after": {"anchor": "created_at", "seconds": 3600}, "model": None}
    order = read_order({**ORDER, **more}, (CHAT,))
    assert (order.input_file_id, order.endpoint, order.window, order.seconds) == ("file-1", CHAT, "24h", 86_400)
    assert (order.metadata, order.output_lives, order.warnings) == ({"a": "b"}, 3600, ())
    assert read_order({**ORDER, "metadata": None}, (CHAT,)).metadata is None


def test_a_field_that_nobody_knows_is_named() -> None:
    """Never ignored in silence."""
    assert read_order({**ORDER, "priority": "high"}, (CHAT,)).warnings == ("ignored; 'priority' has no effect here",)


@pytest.mark.parametrize(("window", "seconds"), [("24h", 86_400), ("1m", 60), ("7d", 604_800)])
def test_windows(window: str, seconds: int) -> None:
    """OpenAI's own, and as an extension others."""
    assert read_order({**ORDER, "completion_window": window}, (CHAT,)).seconds == seconds


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"input_file_id": None}, "input_file_id"),
        ({"input_file_id": 3}, "input_file_id"),
        ({"endpoint": ""}, "endpoint"),
        ({"endpoint": "/v1/nope"}, "endpoint"),
        ({"completion_window": None}, "completion_window"),
        ({"completion_window": "soon"}, "completion_window"),
        ({"completion_window": "0h"}, "completion_window"),
        ({"completion_window": "²h"}, "completion_window"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": {"a" * 65: ""}}, "metadata"),
        ({"metadata": {"a": "x" * 513}}, "metadata"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"output_expires_after": 3}, "output_expires_after"),
        ({"output_expires_after": {"anchor": "now", "seconds": 3600}}, "output_expires_after.anchor"),
        ({"output_expires_after": {"anchor": "created_at"}}, "output_expires_after.seconds"),
    ],
)
def test_an_order_that_makes_no_sense_names_its_field(change: dict[str, Any], field: str) -> None:
    """Before anything is made of it."""
    with pytest.raises(Malformed) as refused:
        read_order({**ORDER, **change}, (CHAT,))
    assert refused.value.field == field


@pytest.mark.parametrize("seconds", [SHORTEST_LIFE - 1, LONGEST_LIFE + 1, True, "3600", 3600.5, None])
def test_lives_outside_their_bounds_are_refused(seconds: object) -> None:
    """An integral float is an integer."""
    with pytest.raises(Malformed):
        read_life({"anchor": "created_at", "seconds": seconds}, "expires_after")
    assert read_life({"seconds": 3600.0}, "expires_after") == 3600
    assert read_life(None, "expires_after") == 0


def raw(**changes: Any) -> bytes:
    return json.dumps({**line("a"), **changes}).encode()


def test_a_line_is_read() -> None:
    """Its id and its body, which the endpoint judges."""
    assert read_line(raw(), CHAT) == Line("a", {"model": "m", "messages": []})


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (b"{", "invalid_json_line"),
        (b"[]", "invalid_json_line"),
        (b"\xff\xfe", "invalid_json_line"),
        (b"[" * 100_000, "invalid_json_line"),
        (raw(custom_id=None), "invalid_custom_id"),
        (raw(custom_id=""), "invalid_custom_id"),
        (raw(custom_id="x" * 513), "invalid_custom_id"),
        (raw(method="GET"), "invalid_method"),
        (raw(url="/v1/embeddings"), "mismatched_url"),
        (raw(body=None), "invalid_body"),
        (raw(body={"messages": []}), "missing_model"),
        (raw(headers={}), "unknown_field"),
    ],
)
def test_a_line_that_is_no_request_says_why(given: bytes, code: str) -> None:
    """The first thing that is wrong with it."""
    flaw = read_line(given, CHAT)
    assert isinstance(flaw, Flaw)
    assert flaw.code == code
    assert flaw.message


def test_an_answer_becomes_a_line_of_its_own_bytes() -> None:
    """The body is the one that the endpoint gave."""
    told = answered_line("batch_9", 4, Line("é", {}), Answered(200, b'{"x":1.50}', "plm-1-2"))
    assert told == (
        b'{"id":"batch_req_9_4","custom_id":"\\u00e9","response":{"status_code":200,"request_id":"plm-1-2",'
        b'"body":{"x":1.50}},"error":null}'
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [(b'{\n "a": 1\r\n}', b'{"a":1}'), (b"oops\nbad", b'"oops\\nbad"'), (b"", b'""'), (b'{"a":1}', b'{"a":1}')],
)
def test_a_result_is_never_two_lines(body: bytes, said: bytes) -> None:
    """However a child laid its answer out."""
    assert one_line(body) == said


@pytest.mark.parametrize(("fate", "code"), [(Fate.EXPIRED, "batch_expired"), (Fate.CANCELED, "batch_cancelled")])
def test_what_was_not_asked_says_so(fate: Fate, code: str) -> None:
    """No response, and the reason."""
    told = json.loads(unanswered_line("batch_9", 0, Line("a", {}), fate))
    assert (told["custom_id"], told["response"], told["error"]["code"]) == ("a", None, code)


def test_a_batch_as_it_is_shown() -> None:
    """Every field of the API is there, null where there is nothing."""
    shown = batch_object(
        a_batch(
            state=State.COMPLETED,
            tally=Tally(4, 1, 1, 1, 1),
            stamps={"in_progress_at": 5.9, "completed_at": 7.0},
            flaws=(Flaw("c", "m", "", 3),),
            output_file_id="file-o",
            spent=Spent(9, 3, 5, 2),
            model="m",
        )
    )
    assert shown["model"] == "m"
    assert BatchUsage.model_validate(shown["usage"]).model_dump() == {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 14,
    }
    assert (shown["in_progress_at"], shown["completed_at"], shown["failed_at"]) == (5, 7, None)
    assert shown["request_counts"] == {"total": 4, "completed": 1, "failed": 3}
    assert shown["errors"]["data"] == [{"code": "c", "message": "m", "param": None, "line": 3}]
    assert (shown["output_file_id"], shown["error_file_id"], shown["metadata"]) == ("file-o", None, None)
    assert "validating_at" not in shown


@pytest.mark.parametrize(
    ("body", "spent"),
    [
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}}, Spent(9, 0, 5)),
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 3}}, "timings": {}}, Spent(9, 3)),
        (
            {
                "usage": {
                    "input_tokens": 9,
                    "input_tokens_details": {"cached_tokens": 3},
                    "output_tokens": 5,
                    "output_tokens_details": {"reasoning_tokens": 2},
                }
            },
            Spent(9, 3, 5, 2),
        ),
        ({"content": 'said "usage": {"prompt_tokens": 1}'}, Spent()),
        ({"usage": None}, Spent()),
        ({"usage": {"prompt_tokens": "9", "completion_tokens": -1}}, Spent()),
        ({"error": {"message": "m"}}, Spent()),
    ],
)
def test_what_an_answer_cost_is_read_from_its_line(body: dict[str, Any], spent: Spent) -> None:
    """In the chat's words and in those of responses; a text that looks like counts is none."""
    assert spent_in(answered_line("batch_9", 0, Line("a", {}), Answered(200, json.dumps(body).encode(), "t"))) == spent
