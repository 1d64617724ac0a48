"""Anthropic's events; recordings are under tests/contract/wire."""

import json
from typing import Any

from blazar.domain.wire.anthropic_stream import BlockWriter, WarmingWriter
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.turn import Turn
from tests.contract.wire.chunks import events, well_nested

TURN = Turn('m"x', id="plm-1")


def told(*deltas: Delta, turn: Turn = TURN) -> list[dict[str, Any]]:
    writer = BlockWriter(turn)
    return events(b"".join([writer.write(delta) for delta in deltas] + [writer.flush()]))


def test_the_whole_order() -> None:
    """Every event of a text answer, to the letter."""
    assert told(Text("a"), Text("b"), Finish("stop"), Usage(3, 4)) == [
        {
            "type": "message_start",
            "message": {
                "id": "msg_plm-1",
                "type": "message",
                "role": "assistant",
                "model": 'm"x',
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 0,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0,
                    "output_tokens": 0,
                },
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 4,
            },
        },
        {"type": "message_stop"},
    ]


def test_the_size_of_the_prompt_is_told_at_once() -> None:
    """Where the child has told it; the end tells what was counted."""
    said = told(Usage(9, 0), Text("a"), Finish("stop"), Usage(9, 4, 5))
    assert said[0]["message"]["usage"]["input_tokens"] == 9
    assert (said[-2]["usage"]["input_tokens"], said[-2]["usage"]["output_tokens"]) == (9, 4)
    assert BlockWriter(TURN).write(Usage(9, 0)) == b""  # a failure can still be a status (C12)


def test_a_prompt_that_is_only_read_is_answered_with_nothing() -> None:
    """`max_tokens: 0`: the message begins and ends, and what the engine said all the same is not told."""
    writer = WarmingWriter(TURN)
    deltas: list[Delta] = [Usage(9, 0), Reasoning("x"), Text("a"), ToolFragment(0, "c", "f", "{}"), Finish("stop")]
    said = events(b"".join([writer.write(delta) for delta in [*deltas, Usage(9, 1, 3)]] + [writer.flush()]))
    assert [event["type"] for event in said] == ["message_start", "message_delta", "message_stop"]
    assert said[0]["message"]["usage"]["input_tokens"] == said[1]["usage"]["input_tokens"] == 9
    assert (said[1]["delta"]["stop_reason"], said[1]["usage"]["output_tokens"]) == ("max_tokens", 0)
    assert events(WarmingWriter(TURN).write(Failed(500, "no")))[0]["type"] == "error"


def test_nothing_is_said_before_the_first_delta() -> None:
    """Until then a failure can still be a status (C12)."""
    writer = BlockWriter(TURN)
    assert writer.ping() == b""
    assert writer.write(Usage(1, 1)) == b""
    first = writer.write(Text("a"))
    assert first.startswith(b"event: message_start\n")
    assert events(writer.ping()) == [{"type": "ping"}]
    writer.write(Finish("stop"))
    writer.flush()
    assert writer.ping() == b""


def test_thinking_then_a_call() -> None:
    """The thinking block is signed and closed, the call has the next index (C4)."""
    blocks = well_nested(
        told(Reasoning("hm"), ToolFragment(0, "c1", "f", ""), ToolFragment(0, None, None, "{}"), Finish("tool_calls"))
    )
    assert [block["type"] for block in blocks] == ["thinking", "tool_use"]
    assert [piece["type"] for piece in blocks[0]["pieces"]] == ["thinking_delta", "signature_delta"]
    assert [piece["partial_json"] for piece in blocks[1]["pieces"]] == ["{}"]


def test_calls_in_a_row_stream() -> None:
    """The second opens when the first is complete; both arrive piece by piece."""
    writer = BlockWriter(TURN)
    writer.write(ToolFragment(0, "a", "f", '{"x":1}'))
    assert b'"index":1' in writer.write(ToolFragment(1, None, "g", ""))
    assert b"input_json_delta" in writer.write(ToolFragment(1, None, None, "{}"))


def test_calls_told_crosswise_wait_for_the_open_one() -> None:
    """One block at a time, nothing lost, three calls."""
    fragments = [
        ToolFragment(0, "a", "f", ""),
        ToolFragment(1, "b", "g", ""),
        ToolFragment(2, "c", "h", '{"z"'),
        ToolFragment(1, None, None, "{}"),
        ToolFragment(0, None, None, '{"x":1}'),
        ToolFragment(2, None, None, ":3}"),
    ]
    blocks = well_nested(told(*fragments, Finish("tool_calls")))
    assert [(block["id"], block["name"]) for block in blocks] == [("a", "f"), ("b", "g"), ("c", "h")]
    joined = ["".join(piece["partial_json"] for piece in block["pieces"]) for block in blocks]
    assert [json.loads(text) for text in joined] == [{"x": 1}, {}, {"z": 3}]


def test_a_call_without_an_id_gets_one_of_the_request() -> None:
    """Results must be able to name it."""
    (block,) = well_nested(told(ToolFragment(0, None, "f", "{}"), Finish("tool_calls")))
    assert block["id"] == "call_plm-1_0"


def test_an_empty_answer_is_still_a_message() -> None:
    """Start, end, no block."""
    assert well_nested(told(Finish("stop"), Usage(3, 0))) == []


def test_a_stop_sequence_is_named() -> None:
    """Where the engine named it."""
    assert told(Text("a"), Finish("stop", "END"))[-2]["delta"] == {
        "stop_reason": "stop_sequence",
        "stop_sequence": "END",
    }


def test_a_failure_is_one_error_event_and_the_last() -> None:
    """With its own type and the request's id; no message_stop follows (C11, D35)."""
    out = told(Text("a"), Failed(503, "later"), Text("ghost"), Finish("stop"))
    assert out[-1] == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "later"},
        "request_id": "plm-1",
    }
    assert len([item for item in out if item["type"] == "message_stop"]) == 0
    assert told(Failed(502, "x"))[0]["error"]["type"] == "api_error"


def test_without_a_finish_there_is_no_end() -> None:
    """A flush alone is no success."""
    assert told(Text("a"))[-1]["type"] == "content_block_delta"


def test_thinking_can_be_left_out() -> None:
    """Absent means disabled, whatever the model does (C7)."""
    blocks = well_nested(told(Reasoning("hm"), Text("a"), Finish("stop"), turn=TURN._replace(thinking=False)))
    assert [block["type"] for block in blocks] == ["text"]
