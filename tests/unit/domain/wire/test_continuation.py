"""Answers that go on from a turn of the request."""

from typing import Any

import pytest

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.continuation import NOTHING, Begun, begun, behind
from blazar.domain.wire.delta import Finish, Usage


def answer(text: str, reasoning: str = "") -> Answer:
    return Answer(text, reasoning, (), Finish("stop"), Usage(1, 22, thought=11))


def test_the_open_turn_is_the_last_one_of_the_assistant() -> None:
    """Its text and its thoughts."""
    last = {"role": "assistant", "content": "The answer is", "reasoning_content": "Hm."}
    assert begun([{"role": "user", "content": "q"}, last]) == Begun("The answer is", "Hm.")


@pytest.mark.parametrize(
    "messages",
    [
        None,
        [],
        [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}],
        [{"role": "assistant", "content": "a", "tool_calls": [{}]}],
        [{"role": "assistant", "content": None}],
        ["a"],
        "assistant",
    ],
)
def test_no_turn_is_open(messages: Any) -> None:
    """Whatever the messages are."""
    assert begun(messages) == NOTHING


def test_only_what_is_new_is_told() -> None:
    """Of the text and of the thoughts, and of the tokens that were thoughts."""
    told = behind(answer("The answer is 42.", "Hm. Yes."), Begun("", "Hm."))
    assert (told.text, told.reasoning) == ("The answer is 42.", " Yes.")
    assert told.usage == Usage(1, 22, thought=5)
    assert behind(answer("The answer is 42."), Begun("The answer is")).text == " 42."


def test_where_text_had_begun_nothing_is_thought_any_more() -> None:
    """What a template puts behind thoughts is none; thoughts that are new are told all the same."""
    told = behind(answer("The answer is 42.", "Hm.\n"), Begun("The answer is", "Hm."))
    assert (told.text, told.reasoning, told.usage.thought) == (" 42.", "", 0)
    assert behind(answer("The answer", "Hm. No."), Begun("The", "Hm.")).reasoning == " No."


def test_an_answer_of_its_own_stays_whole() -> None:
    """An engine that goes on from nothing has repeated nothing."""
    assert behind(answer("42."), Begun("The answer is")) == answer("42.")
    assert behind(answer("42.", "Hm."), NOTHING) == answer("42.", "Hm.")
