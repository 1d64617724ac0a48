"""Completions with a suffix."""

import json
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Delta, Failed, Finish, Reasoning, Text, Usage
from blazar.domain.wire.infill import CompletionWriter, completion_reply, completion_request
from blazar.domain.wire.turn import Turn

TURN = Turn("caller/name", wall=1_800_000_000.5, id="plm-1f-7")


def ask(**more: Any) -> Any:
    return completion_request({"model": "m", "prompt": "a", "suffix": "b", **more}, "child")


def events(*deltas: Delta, usage: bool = False) -> list[Any]:
    writer = CompletionWriter(TURN, usage=usage)
    raw = b"".join(writer.write(delta) for delta in deltas) + writer.flush()
    assert writer.flush() == b""
    told = [event.removeprefix(b"data: ") for event in raw.split(b"\n\n") if event]
    return ["done" if event == b"[DONE]" else json.loads(event) for event in told]


def test_the_gap_stands_between_prompt_and_suffix() -> None:
    """Sampling goes along; what no child of this route knows stays out."""
    request = ask(
        temperature=0, max_tokens=4, stop=["x"], echo=False, best_of=1, stream_options={}, keep_alive=5, seed=None
    )
    expected = {"input_prefix": "a", "input_suffix": "b", "temperature": 0, "max_tokens": 4, "stop": ["x"]}
    assert request.body == {"model": "child", "stream": False, **expected}
    assert (request.path, request.keep_alive) == ("/infill", 5)


def test_a_form_that_the_route_knows_is_a_constraint() -> None:
    """A schema or a grammar; `response_format` is passed over and named."""
    assert ask(json_schema={"type": "object"}).constraint == "json_schema"
    assert ask(json_schema={"type": "object"}).schema == ("json_schema", {"type": "object"}, False)
    assert ask(grammar="root ::= x").constraint == "gbnf"
    request = ask(response_format={"type": "json_object"})
    assert (request.constraint, request.warnings) == ("", ("ignored; 'response_format' has no effect here",))


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ["a", "b"]}, "prompt"),
        ({"suffix": 1}, "suffix"),
        ({"logprobs": 1}, "logprobs"),
        ({"stream": 1}, "stream"),
    ],
)
def test_what_has_no_meaning_there_is_refused_by_name(more: dict[str, Any], field: str) -> None:
    """Rather than an answer to another question."""
    with pytest.raises(Malformed) as refused:
        ask(**more)
    assert refused.value.field == field


def test_a_reply_is_a_text_completion() -> None:
    """Under the caller's name, with the counts."""
    got = completion_reply(TURN, Answer("x", "", (), Finish("length"), Usage(5, 2, 1)))
    assert (got["id"], got["object"], got["created"], got["model"]) == (
        "cmpl-plm-1f-7",
        "text_completion",
        1_800_000_000,
        "caller/name",
    )
    assert got["choices"] == [{"index": 0, "text": "x", "logprobs": None, "finish_reason": "length"}]
    assert (got["usage"]["total_tokens"], got["usage"]["prompt_tokens_details"]) == (7, {"cached_tokens": 1})


def test_a_stream_is_text_then_reason_then_counts_then_done() -> None:
    """The counts only where they were asked for."""
    deltas: list[Delta] = [Text('q"'), Reasoning("never"), Finish("stop", "x"), Usage(5, 2)]
    first, last, end = events(*deltas)
    assert first["choices"] == [{"index": 0, "text": 'q"', "logprobs": None, "finish_reason": None}]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert end == "done"
    counts = events(*deltas, usage=True)[-2]
    assert (counts["choices"], counts["usage"]["total_tokens"]) == ([], 7)


def test_a_failure_is_the_last_word() -> None:
    """No end mark behind it (D35)."""
    text, error = events(Text("a"), Failed(502, "cut"), Text("b"), Finish("stop"))
    assert text["choices"][0]["text"] == "a"
    assert error["error"]["message"] == "cut"
    assert events() == []
