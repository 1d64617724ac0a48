"""Chat completions of our own writing."""

import json
from typing import Any

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.chat_writer import ChatWriter, chat_reply
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.tools import Call
from blazar.domain.wire.turn import Turn

TURN = Turn("m", 7.5, "plm-1")


def events(*deltas: Delta, usage: bool = False, turn: Turn = TURN) -> list[Any]:
    """What a client reads."""
    writer = ChatWriter(turn, usage=usage)
    raw = b"".join([writer.write(delta) for delta in deltas]) + writer.flush() + writer.flush()
    parts = [part.removeprefix(b"data: ") for part in raw.split(b"\n\n") if part]
    return [part.decode() if part == b"[DONE]" else json.loads(part) for part in parts]


def test_the_shape_is_openais() -> None:
    """The role on the first event only, the finish on one of its own with an empty delta, then the mark (A6)."""
    told = events(Text("Hel"), Text("lo"), Finish("stop"), Usage(3, 2))
    assert [event["choices"][0]["delta"] for event in told[:-1]] == [
        {"role": "assistant", "content": None},
        {"content": "Hel"},
        {"content": "lo"},
        {},
    ]
    assert [event["choices"][0]["finish_reason"] for event in told[:-1]] == [None, None, None, "stop"]
    assert told[-1] == "[DONE]"
    assert {(event["id"], event["created"], event["model"], event["object"]) for event in told[:-1]} == {
        ("chatcmpl-plm-1", 7, "m", "chat.completion.chunk")
    }


def test_the_counts_come_where_they_were_asked_for() -> None:
    """In an event without choices, before the mark."""
    told = events(Text("a"), Finish("length"), Usage(3, 2, 1, thought=1), usage=True)
    assert (told[-2]["choices"], told[-2]["usage"]["total_tokens"]) == ([], 5)
    assert told[-2]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 1}


def test_calls_are_numbered_and_named_once() -> None:
    """An id that the engine gave stays; else one is made of the trace."""
    told = events(
        ToolFragment(0, None, "f", '{"a":1}'),
        ToolFragment(0, None, None, ""),
        ToolFragment(1, "x", "g", "{}"),
        Finish("tool_calls"),
    )
    calls = [event["choices"][0]["delta"]["tool_calls"][0] for event in told[1:4]]
    assert calls[0] == {
        "index": 0,
        "function": {"arguments": '{"a":1}', "name": "f"},
        "id": "call_plm-1_0",
        "type": "function",
    }
    assert calls[1] == {"index": 0, "function": {"arguments": ""}}
    assert (calls[2]["id"], calls[2]["index"]) == ("x", 1)


def test_thinking_is_left_out_where_none_is_wanted() -> None:
    """As in the other dialects."""
    thought = Reasoning("hm"), Text("a"), Finish("stop")
    assert {"reasoning_content": "hm"} in [event["choices"][0]["delta"] for event in events(*thought)[:-1]]
    silent = events(*thought, turn=TURN._replace(thinking=False))
    assert not any("reasoning_content" in event["choices"][0]["delta"] for event in silent[:-1])


def test_a_failure_ends_the_stream_without_the_mark() -> None:
    """One error event (D35), and nothing behind it."""
    told = events(Text("a"), Failed(502, "broke"), Text("b"), Finish("stop"))
    assert told[-1]["error"]["message"] == "broke"
    assert len(told) == 3


def test_a_stream_that_says_nothing_says_so() -> None:
    """The role, and why it ended; without a finish nothing at all."""
    assert [event["choices"][0]["delta"] for event in events(Finish("stop"))[:-1]] == [
        {"role": "assistant", "content": None},
        {},
    ]
    assert events() == []


def test_a_buffered_answer() -> None:
    """Calls with ids, content null where there is none, thoughts in their member."""
    answer = Answer("", "hm", (Call("", "f", "{}"), Call("x", "g", "{}")), Finish("tool_calls"), Usage(3, 2))
    said = chat_reply(TURN, answer)
    choice = said["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"], choice["message"]["reasoning_content"]) == (
        "tool_calls",
        None,
        "hm",
    )
    assert [call["id"] for call in choice["message"]["tool_calls"]] == ["call_plm-1_0", "x"]
    plain = chat_reply(TURN, Answer("hi", "", (), Finish("stop"), Usage(3, 2)))
    assert plain["choices"][0]["message"] == {"role": "assistant", "content": "hi"}
    assert plain["usage"]["total_tokens"] == 5
