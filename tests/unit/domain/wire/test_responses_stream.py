"""Deltas into typed events, and the object that they add up to."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseError

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.responses import read_response
from blazar.domain.wire.responses_items import opened
from blazar.domain.wire.responses_stream import Moment, ResponseWriter, error_code
from blazar.domain.wire.tools import Call
from tests.support.typed_events import check_grammar, events

TOKEN = "ab" * 16
STOP, USAGE = Finish("stop"), Usage(11, 7, 3)


def writer(**body: Any) -> ResponseWriter:
    made = ResponseWriter(read_response({"model": "m", "input": "hi", **body}, "m"), "caller", TOKEN)
    made.moment = Moment(1000.9, lambda: 2.5)
    return made


def told(made: ResponseWriter, *deltas: Delta) -> list[dict[str, Any]]:
    return events(b"".join([*map(made.write, deltas), made.flush()]))


def kinds(found: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in found]


def test_a_text() -> None:
    """The documented order, and a whole object at the end."""
    found = told(writer(), Text("Hel"), Text('l"o'), STOP, USAGE)
    check_grammar(found)
    assert kinds(found) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert found[0]["response"]["status"] == found[1]["response"]["status"] == "in_progress"
    assert found[2]["item"] == {
        "id": f"msg_{TOKEN}0000",
        "type": "message",
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    assert [event["delta"] for event in found[4:6]] == ["Hel", 'l"o']
    assert {event["content_index"] for event in found[3:8]} == {0}
    response = found[-1]["response"]
    assert (response["id"], response["model"], response["status"]) == (f"resp_{TOKEN}", "caller", "completed")
    assert (response["created_at"], response["completed_at"]) == (1000, 1003)
    assert response["output"][0]["content"][0]["text"] == 'Hell"o'
    assert response["usage"] == {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }


def row(token: str) -> dict[str, Any]:
    other = {"id": 8, "token": "z", "logprob": -3.0, "bytes": [122]}
    return {"id": 7, "token": token, "logprob": -0.5, "bytes": [97], "top_logprobs": [other, other]}


@pytest.mark.parametrize(("top", "others"), [(0, []), (1, [{"token": "z", "logprob": -3.0, "bytes": [122]}])])
def test_probabilities_stand_beside_their_text(top: int, others: list[dict[str, Any]]) -> None:
    """In the piece, at its end and in the object; those of thoughts are nobody's. The same of a whole answer."""
    wanted = {"include": ["message.output_text.logprobs"], "top_logprobs": top}
    told_row = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": others}
    deltas = Reasoning("hm", [row("hm")]), Text("a", [row("a")]), Text("a", [row("a")])
    found = told(writer(**wanted), *deltas, STOP, USAGE)
    check_grammar(found)
    pieces = [event for event in found if event["type"] == "response.output_text.delta"]
    assert [event["logprobs"] for event in pieces] == [[told_row], [told_row]]
    done = next(event for event in found if event["type"] == "response.output_text.done")
    assert done["logprobs"] == [told_row, told_row]
    part = found[-1]["response"]["output"][1]["content"][0]
    assert part["logprobs"] == [told_row, told_row]
    whole = writer(**wanted)
    whole.take(Answer("aa", "hm", (), STOP, USAGE, [row("hm"), row("a"), row("a")]))
    assert whole.response()["output"][1]["content"][0] == part


def test_probabilities_nobody_asked_for_are_not_told() -> None:
    """A child that tells them anyway changes nothing."""
    found = told(writer(), Text("a", [row("a")]), STOP)
    assert all(event["logprobs"] == [] for event in found if "logprobs" in event)


def test_thoughts_are_an_item_of_their_own() -> None:
    """Told as text, in a part that opens and closes: a stock client ends a stream at a piece without one. Their share is told."""
    found = told(writer(), Reasoning("hmm"), Text("abc"), STOP, Usage(1, 10, thought=5))
    check_grammar(found)
    assert kinds(found)[2:8] == [
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
    ]
    assert [found[at]["part"] for at in (3, 6)] == [{"type": "reasoning_text", "text": text} for text in ("", "hmm")]
    thought, _ = found[-1]["response"]["output"]
    assert (thought["id"], thought["summary"]) == (f"rs_{TOKEN}0000", [])
    assert thought["content"] == [{"type": "reasoning_text", "text": "hmm"}]
    assert found[-1]["response"]["usage"]["output_tokens_details"] == {"reasoning_tokens": 5}


def test_thoughts_as_a_summary() -> None:
    """Where one was asked for, in a part that opens and closes; sealed where the caller keeps them itself."""
    made = writer(reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"])
    found = told(made, Reasoning("hmm"), Text("x"), STOP)
    check_grammar(found)
    assert kinds(found)[2:8] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    assert {event["summary_index"] for event in found[3:7]} == {0}
    thought = found[-1]["response"]["output"][0]
    assert thought["summary"] == [{"type": "summary_text", "text": "hmm"}]
    assert opened(thought["encrypted_content"]) == "hmm"


def test_thoughts_that_nobody_wants_are_dropped() -> None:
    """Effort `none`."""
    found = told(writer(reasoning={"effort": "none"}), Reasoning("hmm"), Text("x"), STOP)
    assert [item["type"] for item in found[-1]["response"]["output"]] == ["message"]


def test_a_call_streams_its_arguments() -> None:
    """With the child's id for the call and ours for the item."""
    found = told(writer(), ToolFragment(0, "c1", "f", '{"a"'), ToolFragment(0, None, None, ":1}"), Finish("tool_calls"))
    check_grammar(found)
    assert kinds(found)[2:7] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert found[2]["item"]["arguments"] == ""
    assert found[5]["arguments"] == '{"a":1}'
    (call,) = found[-1]["response"]["output"]
    assert call == {
        "id": f"fc_{TOKEN}0000",
        "type": "function_call",
        "status": "completed",
        "call_id": "c1",
        "name": "f",
        "arguments": '{"a":1}',
    }


def test_calls_told_crosswise_stand_one_after_the_other() -> None:
    """The second waits until the first is complete; one without an id gets one of its own."""
    found = told(
        writer(),
        ToolFragment(0, "c1", "f", '{"a":'),
        ToolFragment(1, None, "g", "{}"),
        ToolFragment(0, None, None, "1}"),
        Finish("tool_calls"),
    )
    check_grammar(found)
    first, second = found[-1]["response"]["output"]
    assert (first["name"], first["arguments"]) == ("f", '{"a":1}')
    assert (second["name"], second["arguments"]) == ("g", "{}")
    assert second["call_id"] not in ("", "c1")


def test_members_of_a_namespace_come_back_by_their_own_name() -> None:
    """With the namespace beside it (A30)."""
    space = {"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "f"}]}
    (call,) = told(writer(tools=[space]), ToolFragment(0, "c", "ns__f", "{}"), STOP)[-1]["response"]["output"]
    assert (call["name"], call["namespace"]) == ("f", "ns")


def test_a_custom_tool_gets_its_text_whole() -> None:
    """The child writes it as JSON, which is unpacked once it is complete."""
    made = writer(tools=[{"type": "custom", "name": "p"}])
    found = told(made, ToolFragment(0, "c", "p", '{"inp'), ToolFragment(0, None, None, 'ut":"a\\nb"}'), STOP)
    check_grammar(found)
    assert kinds(found)[2:6] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert found[2]["item"]["input"] == ""
    assert found[3]["delta"] == found[4]["input"] == "a\nb"
    (call,) = found[-1]["response"]["output"]
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "p", "a\nb")


@pytest.mark.parametrize(("reason", "why"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_an_answer_that_was_cut_is_incomplete(reason: str, why: str) -> None:
    """Its last item too."""
    found = told(writer(), Text("x"), Finish(reason))
    check_grammar(found)
    response = found[-1]["response"]
    assert found[-1]["type"] == "response.incomplete"
    assert response["incomplete_details"] == {"reason": why}
    assert (response["status"], response["output"][0]["status"]) == ("incomplete", "incomplete")


def test_an_answer_of_nothing_is_an_empty_message() -> None:
    """So that clients find what they look for."""
    found = told(writer(), STOP)
    check_grammar(found)
    assert found[-1]["response"]["output"][0]["content"][0]["text"] == ""


def test_a_failure_inside_is_the_last_event() -> None:
    """The response has failed, with what it said so far; nothing follows."""
    made = writer()
    found = told(made, Text("x"), Failed(502, "the engine went away"), Text("y"), STOP)
    assert found[-1]["type"] == "response.failed"
    assert found[-1]["response"]["error"] == {"code": "server_error", "message": "the engine went away"}
    assert found[-1]["response"]["output"][0]["content"][0]["text"] == "x"
    assert made.over


def test_a_failure_before_anything_is_an_error_event() -> None:
    """There is no response yet that could have failed; this is said only where a head had to leave early."""
    (found,) = told(writer(), Failed(502, "gone"))
    assert found == {"type": "error", "code": "server_error", "message": "gone", "param": None, "sequence_number": 0}


def test_a_response_in_the_background_is_queued_first() -> None:
    """Created once."""
    made = writer(background=True)
    found = events(made.queue() + made.queue() + made.write(Text("x")) + made.write(STOP) + made.flush())
    assert kinds(found)[:4] == ["created", "queued", "in_progress", "output_item.added"]
    assert [event["response"]["status"] for event in found[:3]] == ["queued", "queued", "in_progress"]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))


def test_odd_a_cancelled_response_ends_as_an_incomplete_one() -> None:
    """The dialect has no event for it; the status says so, and what was said stays."""
    made = writer(background=True)
    made.write(Text("x"))
    (*_, last) = events(made.cancel())
    assert (last["type"], last["response"]["status"]) == ("response.incomplete", "cancelled")
    assert last["response"]["output"][0]["status"] == "incomplete"
    assert last["response"]["incomplete_details"] is None
    assert made.cancel() == made.write(Text("y")) == made.flush() == b""


def test_a_buffered_answer_is_the_same_object() -> None:
    """Text, thoughts, calls and counts, by the same steps."""
    answer = Answer("abc", "hmm", (Call("c1", "f", "{}"), Call("", "g", '{"a":1}')), Finish("tool_calls"), USAGE)
    whole, streamed = writer(), writer()
    whole.take(answer)
    deltas = [Reasoning("h"), Reasoning("mm"), Text("abc"), ToolFragment(0, "c1", "f", "{}")]
    found = told(streamed, *deltas, ToolFragment(1, None, "g", '{"a":1}'), Finish("tool_calls"), USAGE)
    assert whole.response() == streamed.response() == found[-1]["response"]


_DELTAS = st.lists(
    st.one_of(
        st.text(min_size=1).map(Text),
        st.text(min_size=1).map(Reasoning),
        st.builds(
            ToolFragment,
            st.integers(0, 3),
            st.none() | st.just("c"),
            st.none() | st.sampled_from(["f", "p"]),
            st.sampled_from(["", "{", "}", "{}", '{"input":"x"}']),
        ),
    ),
    max_size=30,
)


@given(_DELTAS, st.booleans(), st.sampled_from(["stop", "length", "tool_calls"]))
def test_any_deltas_keep_the_grammar(deltas: list[Delta], summary: bool, reason: str) -> None:
    """Whatever order a child speaks in."""
    reasoning = {"summary": "auto"} if summary else None
    check_grammar(told(writer(reasoning=reasoning, tools=[{"type": "custom", "name": "p"}]), *deltas, Finish(reason)))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_prompt"),
        (404, "invalid_prompt"),
        (429, "rate_limit_exceeded"),
        (500, "server_error"),
        (503, "server_error"),
    ],
)
def test_a_failed_response_says_whose_fault_it_was(status: int, code: str) -> None:
    """In the words that its clients' types know."""
    assert error_code(status) == code
    assert code in get_args(ResponseError.model_fields["code"].annotation)
