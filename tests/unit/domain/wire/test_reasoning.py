"""Thinking apart from answering."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.delta import Reasoning, Text
from blazar.domain.wire.reasoning import LONGEST_GUESS, ThinkSplitter, ask_to_think, read_think, split


def streamed(pieces: list[str], *, prefilled: bool = False) -> tuple[str, str]:
    splitter = ThinkSplitter(prefilled=prefilled)
    parts = [part for piece in pieces for part in splitter.feed(piece)] + splitter.flush()
    thought = "".join(part.text for part in parts if isinstance(part, Reasoning))
    return thought, "".join(part.text for part in parts if isinstance(part, Text))


def test_tags_may_be_cut_anywhere() -> None:
    """The tags of case D12, in its slices."""
    splitter = ThinkSplitter()
    assert splitter.feed("<th") == []
    assert splitter.feed("ink>a</thi") == [Reasoning("a")]
    assert splitter.feed("nk>b") == [Text("b")]
    assert splitter.flush() == []


@pytest.mark.parametrize("prefilled", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think>b",
        "  <think>\na < b </think>\n\nb </think> c",
        "plain",
        "<thin",
        "",
        "a <think>b</think>",
        "<think>never closed",
        "x</think>y",
    ],
)
def test_letters_one_by_one_say_what_the_whole_says(text: str, prefilled: bool) -> None:
    """Stream and whole text are split by the same rules."""
    assert streamed(list(text), prefilled=prefilled) == split(text, prefilled=prefilled)


@pytest.mark.parametrize(
    ("text", "prefilled", "expected"),
    [
        ("<think>a</think>\n\nb", False, ("a", "b")),
        ("plain <think>a</think>", False, ("", "plain <think>a</think>")),
        ("<think>cut off", False, ("cut off", "")),
        ("thought</think>answer", True, ("thought", "answer")),
        ("Paris", True, ("", "Paris")),
        ("<thing>", False, ("", "<thing>")),
        ("<think></think>b", False, ("", "b")),
    ],
)
def test_what_is_thinking(text: str, prefilled: bool, expected: tuple[str, str]) -> None:
    """A tag counts at the start; one that only the template opened and nobody closed made no thought (D13)."""
    assert split(text, prefilled=prefilled) == expected


def test_the_guess_is_bounded() -> None:
    """A long thought behind a pre-opened tag streams instead of piling up."""
    splitter = ThinkSplitter(prefilled=True)
    assert splitter.feed("x" * (LONGEST_GUESS - 1)) == []
    assert splitter.feed("yy") == [Reasoning("x" * (LONGEST_GUESS - 1) + "yy")]
    assert splitter.feed("z</think>b") == [Reasoning("z"), Text("b")]


def test_a_thought_streams_without_its_possible_tag() -> None:
    """What may be the beginning of the closing tag waits, the rest goes out."""
    splitter = ThinkSplitter()
    assert splitter.feed("<think>ab<") == [Reasoning("ab")]
    assert splitter.feed("c") == [Reasoning("<c")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (None, None)),
        (True, (True, None)),
        (False, (False, None)),
        ("low", (True, "low")),
        ("HIGH", (True, "high")),
    ],
)
def test_reading_the_wish(value: Any, expected: tuple[bool | None, str | None]) -> None:
    """A switch, or an effort that implies it."""
    assert read_think(value) == expected


@pytest.mark.parametrize("value", ["often", 1, [], {}])
def test_a_wish_that_is_none_is_refused(value: Any) -> None:
    """By its field's name."""
    with pytest.raises(Malformed) as refused:
        read_think(value)
    assert refused.value.field == "think"


def test_the_wish_reaches_the_template() -> None:
    """As template arguments and a budget; what the caller set there stays."""
    body: dict[str, Any] = {"chat_template_kwargs": {"tools_in_user": True}}
    ask_to_think(body, think=True, effort="low", budget=100)
    kwargs = {"tools_in_user": True, "enable_thinking": True, "reasoning_effort": "low"}
    assert body == {"chat_template_kwargs": kwargs, "thinking_budget_tokens": 100}
    off: dict[str, Any] = {}
    ask_to_think(off, think=False, effort="low", budget=100)
    assert off == {"chat_template_kwargs": {"enable_thinking": False}}
    silent: dict[str, Any] = {}
    ask_to_think(silent, think=None)
    assert silent == {}
