"""Calls in raw text, cut anywhere (case D6)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.wire.delta import Text, ToolFragment
from blazar.domain.wire.raw_calls import LONGEST, CallFinder

NAMES = ("w", "look")
D6 = '<tool_call>{"name":"w","arguments":{"code":"if (x) { y }"}}</tool_call>'


def found(text: str, sizes: list[int] | None = None, most: int = 0) -> tuple[str, list[tuple[str, Any]]]:
    """The text, and the calls; fed in pieces of these sizes, over and over, else letter by letter."""
    finder, out, at, turn = CallFinder(NAMES, most), [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)] if sizes else 1
        out += finder.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    out += finder.flush()
    calls = [piece for piece in out if isinstance(piece, ToolFragment)]
    assert [call.call for call in calls] == list(range(len(calls)))
    said = "".join(piece.text for piece in out if isinstance(piece, Text))
    return said, [(call.name or "", json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        ("", "", []),
        ("plain words", "plain words", []),
        (D6, "", [("w", {"code": "if (x) { y }"})]),
        ("Let me see. " + D6, "Let me see. ", [("w", {"code": "if (x) { y }"})]),
        ('<tool_call>\n{"name": "w", "arguments": {}}\n</tool_call>\n', "", [("w", {})]),
        ('<tool_call>{"name":"w"}</tool_call>', "", [("w", {})]),
        ('<tool_call>{"name":"w","parameters":{"a":1}}</tool_call>', "", [("w", {"a": 1})]),
        ('<tool_call>{"name":"w","arguments":"{\\"a\\":1}"}</tool_call>', "", [("w", {"a": 1})]),
        (
            f"{D6}\n{D6.replace('w', 'look', 1)}",
            "",
            [("w", {"code": "if (x) { y }"}), ("look", {"code": "if (x) { y }"})],
        ),
        (f"{D6}\n\nDone.", "\n\nDone.", [("w", {"code": "if (x) { y }"})]),
        ('<tool_call>{"name":"w","arguments":{"a":"\\"}{\\\\"}}', "", [("w", {"a": '"}{\\'})]),
        ('<tool_call>{"name":"w","arguments":{"a":[1,{"b":"]"}]}}x', "x", [("w", {"a": [1, {"b": "]"}]})]),
        ("a < b <tool", "a < b <tool", []),
        ("   ", "   ", []),
    ],
)
def test_what_is_found(text: str, said: str, calls: list[Any]) -> None:
    """Letter by letter and whole, the same."""
    assert found(text) == found(text, [len(text) or 1]) == (said, calls)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"unknown","arguments":{}}</tool_call>',
        '<tool_call>{"name":"w","arguments":[1]}</tool_call>',
        '<tool_call>{"name":"w","arguments":"no object"}</tool_call>',
        '<tool_call>{"name":7,"arguments":{}}</tool_call>',
        '<tool_call>{"name":"w","arguments":{"a":}}</tool_call>',
        "<tool_call>w(a=1)</tool_call>",
        "<tool_call>",
        "<tool_call>\n",
        "The tag <tool_call> begins a call.",
    ],
)
def test_what_is_no_call_stays_text_to_the_letter(text: str) -> None:
    """Nothing is guessed: what is found is run."""
    said, calls = found(text)
    assert calls == []
    assert said.replace("\n", "") == text.replace("\n", "")


def test_a_call_that_its_token_limit_cut_is_text() -> None:
    """Half of one is none."""
    for end in range(len("<tool_call>"), len(D6) - len("</tool_call>")):
        assert found(D6[:end])[1] == [], D6[:end]


def test_no_more_calls_than_were_promised() -> None:
    """`parallel_tool_calls: false`: the first one is told."""
    assert found(D6 * 3, most=1) == ("", [("w", {"code": "if (x) { y }"})])


def test_an_envelope_that_never_ends_is_given_up() -> None:
    """What is held has a bound."""
    finder = CallFinder(NAMES)
    begun = '<tool_call>{"name":"'
    out = finder.feed(begun)
    while not out:
        out = finder.feed("x" * 65536)
        assert len(finder._held) < LONGEST + 2 * 65536
    assert "".join(piece.text for piece in [*out, *finder.flush()] if isinstance(piece, Text)).startswith(begun)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["<tool_call>", "</tool_call>", "{", "}", '"', "\\", "\n", "<tool_", "x", D6]),
            st.text(max_size=8),
        ),
        max_size=12,
    ),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_slicing_changes_nothing(parts: list[str], sizes: list[int]) -> None:
    """Any text, in any pieces."""
    text = "".join(parts)
    whole, sliced = found(text, [len(text) or 1]), found(text, sizes)
    assert whole[1] == sliced[1]
    assert whole[0].split() == sliced[0].split()


@given(st.dictionaries(st.text(max_size=6), st.one_of(st.text(max_size=12), st.integers(), st.booleans()), max_size=4))
def test_arguments_come_through(arguments: dict[str, Any]) -> None:
    """Whatever is in them."""
    call = json.dumps({"name": "w", "arguments": arguments})
    assert found(f"<tool_call>\n{call}\n</tool_call>") == ("", [("w", arguments)])
