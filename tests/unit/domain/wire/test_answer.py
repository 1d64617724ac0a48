"""Buffered replies of a child."""

import json
from typing import Any

import pytest

from blazar.domain.wire.answer import Answer, answer_of
from blazar.domain.wire.delta import Failed, Finish, Usage
from blazar.domain.wire.tools import Call
from tests.contract.wire.chunks import call, decode


def read(value: Any) -> Answer | Failed:
    return answer_of(json.dumps(value).encode(), decode, "m")


def test_a_chat_reply() -> None:
    """Text, thinking, calls, reason and counts."""
    message = {
        "content": "a",
        "reasoning_content": "b",
        "tool_calls": [call(None, "c", "f", "{}"), call(None, "d", "f", "{}")],
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    reply = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    calls = (Call("c", "f", "{}"), Call("d", "f", "{}"))
    assert read(reply) == Answer("a", "b", calls, Finish("tool_calls"), Usage(3, 4, thought=1))


def test_a_completion_reply() -> None:
    """`text` instead of a message; no counts are zero counts."""
    assert read({"choices": [{"text": "a", "finish_reason": "length"}]}) == Answer(
        "a", "", (), Finish("length"), Usage(0, 0)
    )


def test_a_stop_sequence_is_named_where_the_engine_names_it() -> None:
    """From its verbose block."""
    answer = read({"choices": [{"text": "a", "finish_reason": "stop"}], "__verbose": {"stopping_word": "END"}})
    assert isinstance(answer, Answer)
    assert answer.finish == Finish("stop", "END")


@pytest.mark.parametrize("value", [{}, {"choices": []}, {"choices": None}])
def test_a_success_without_choices_is_a_failure(value: Any) -> None:
    """However good its status was."""
    failed = read(value)
    assert isinstance(failed, Failed)
    assert failed.status == 502


def test_empty_choices_beside_an_error_give_the_engines_words() -> None:
    """mistral.rs answers so."""
    assert read({"choices": [], "error": {"message": "batch failed"}}) == Failed(502, "batch failed")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff"])
def test_what_cannot_be_read_is_a_failure(raw: bytes) -> None:
    """Not an exception."""
    assert isinstance(answer_of(raw, decode, "m"), Failed)


def test_of_several_calls_one_may_be_wanted() -> None:
    """`parallel_tool_calls: false` is a promise that engines do not always keep; it was still a call that ended the answer."""
    message = {"content": None, "tool_calls": [call(None, "c", "f", "{}"), call(None, "d", "g", '{"a":1}')]}
    reply = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    answer = answer_of(reply, decode, "m", alone=True)
    assert isinstance(answer, Answer)
    assert (answer.calls, answer.finish) == ((Call("c", "f", "{}"),), Finish("tool_calls"))
