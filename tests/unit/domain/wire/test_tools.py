"""Tool calls from fragments."""

import json
from typing import Any

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.wire.delta import ToolFragment
from blazar.domain.wire.tools import Call, CallGatherer, CallTracker, arguments_object, cut_object, is_object
from tests.contract.wire.chunks import View, call


def track(*chunks: list[dict[str, Any]], last: bool = False, alone: bool = False) -> list[ToolFragment]:
    tracker = CallTracker(alone=alone)
    out: list[ToolFragment] = []
    for at, pieces in enumerate(chunks):
        out += tracker.take([View(piece) for piece in pieces], last=last and at == len(chunks) - 1)
    return out


def gathered(fragments: list[ToolFragment]) -> list[tuple[str, str]]:
    gatherer = CallGatherer()
    for fragment in fragments:
        gatherer.add(fragment)
    return [(each.name, each.arguments) for each in gatherer.calls()]


def test_the_usual_stream() -> None:
    """Id and name with the first fragment, arguments after."""
    told = track([call(0, "c1", "f", "")], [call(0, args='{"a":')], [call(0, args="1}")])
    assert told == [
        ToolFragment(0, "c1", "f", ""),
        ToolFragment(0, None, None, '{"a":'),
        ToolFragment(0, None, None, "1}"),
    ]


def test_no_index_continues_the_current_call() -> None:
    """A1."""
    told = track([call(None, "c1", "f", "{")], [call(None, args="}")], [call(None, "c2", "g", "{}")])
    assert gathered(told) == [("f", "{}"), ("g", "{}")]


def test_one_index_for_two_ids_is_two_calls() -> None:
    """A2."""
    told = track([call(0, "c1", "f", "{}"), call(0, "c2", "f", '{"b":1}')])
    assert [fragment.call for fragment in told] == [0, 1]


def test_neither_index_nor_id_a_new_name_begins_a_call() -> None:
    """Engines that number nothing at all."""
    told = track([call(None, None, "f", "{}")], [call(None, None, "f", '{"b":1}')], [call(None, None, "g", "{}")])
    assert gathered(told) == [("f", "{}"), ("f", '{"b":1}'), ("g", "{}")]


def test_id_and_name_on_every_fragment_are_one_call() -> None:
    """Engines that repeat them."""
    told = track([call(0, "c1", "f", '{"a"')], [call(0, "c1", "f", ":1}")], [call(0, "c1", "f", "")])
    assert told == [ToolFragment(0, "c1", "f", '{"a"'), ToolFragment(0, None, None, ":1}")]


def test_a_new_id_on_every_fragment_is_one_call() -> None:
    """Engines that make up an id each time, but tell the name once."""
    assert gathered(track([call(0, "x", "f", "{")], [call(0, "y", args="}")])) == [("f", "{}")]


def test_a_late_name_holds_the_arguments_back() -> None:
    """Every dialect opens a call by its name."""
    told = track([call(0, "c1", None, '{"a')], [call(0, None, "f", '":1')], [call(0, args="}")])
    assert told == [ToolFragment(0, "c1", "f", '{"a":1'), ToolFragment(0, None, None, "}")]


def test_indices_with_gaps_become_numbers_from_zero() -> None:
    """Clients use the index as a place in a list."""
    assert [fragment.call for fragment in track([call(3, "a", "f", "{}")], [call(7, "b", "g", "{}")])] == [0, 1]


def test_arguments_of_nothing_are_dropped() -> None:
    """There is no call that they could belong to."""
    assert track([call(0, args="{}")], [call(None, args="x")]) == []


def test_a_repeat_with_the_same_id_is_dropped() -> None:
    """A9, told again under its own id or index."""
    told = track(
        [call(0, "c1", "f", '{"a":')], [call(0, args="1}")], [call(0, "c1", "f", '{"a":1}')], [call(0, args='{"a": 1}')]
    )
    assert gathered(told) == [("f", '{"a":1}')]


def test_a_repeat_with_the_finish_is_dropped_once_for_each_call() -> None:
    """A9: two equal calls and their two repeats leave two calls."""
    one = [call(0, "a", "f", "{}")]
    two = [call(1, "b", "f", "{}")]
    again = [call(2, "c", "f", "{}"), call(3, "d", "f", "{}")]
    assert len(gathered(track(one, two, again, last=True))) == 2


def test_a_different_call_with_the_finish_is_kept() -> None:
    """Only what is equal is a repeat."""
    told = track([call(0, "a", "f", "{}")], [call(1, "b", "f", '{"x":1}')], last=True)
    assert gathered(told) == [("f", "{}"), ("f", '{"x":1}')]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a":{"b":[1]}}', {"a": {"b": [1]}}),
        ('{"code":"if (x) { y }"}', {"code": "if (x) { y }"}),
        ('"{\\"a\\":1}"', {"a": 1}),
        ("[1]", {"raw": "[1]"}),
        ("null", {"raw": "null"}),
        ('{"path":"/home/u', {"raw": '{"path":"/home/u'}),
        ("prose", {"raw": "prose"}),
        ("[" * 5000, {"raw": "[" * 5000}),
    ],
)
def test_arguments_are_an_object_and_never_guessed(text: str, expected: dict[str, Any]) -> None:
    """Whole JSON objects, however often quoted; anything else stands under `raw`."""
    assert arguments_object(text) == expected


def test_whole_objects_are_told_from_halves() -> None:
    """Only a complete object is one."""
    assert is_object("{}")
    assert not is_object('{"a"')
    assert not is_object("[]")


def test_gathering_keeps_ids_and_order() -> None:
    """The first fragment names the call."""
    gatherer = CallGatherer()
    for fragment in (
        ToolFragment(0, "a", "f", "{"),
        ToolFragment(1, None, "g", "{}"),
        ToolFragment(0, None, None, "}"),
    ):
        gatherer.add(fragment)
    assert gatherer.calls() == (Call("a", "f", "{}"), Call("", "g", "{}"))


def test_alone_means_the_first_call_and_no_other() -> None:
    """However the engine numbers them; what belongs to the first still arrives whole."""
    first, more, second = [call(0, "c1", "f", '{"a"')], [call(0, args=":1}")], [call(1, "c2", "g", "{}")]
    for chunks in ((first, more, second), ([*first, *more, *second],), (first, second, more)):
        assert gathered(track(*chunks, alone=True)) == [("f", '{"a":1}')]
    assert gathered(track([call(0, "c1", "f", "{}"), call(0, "c2", "f", '{"b":1}')], alone=True)) == [("f", "{}")]


@pytest.mark.parametrize(
    ("told", "whole"),
    [
        ('{"path": "/etc/pa', {}),
        ('{"path": "/etc", "mode": 7', {"path": "/etc", "mode": 7}),
        ('{"path": "/etc", "mo', {"path": "/etc"}),
        ('{"a": {"b": [1, "x', {"a": {"b": [1]}}),
        ('{"a": "}],{\\"", "b": tru', {"a": '}],{"'}),
        ("{", {}),
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1, 2", {"raw": "[1, 2"}),
        ("no json", {"raw": "no json"}),
        ("}{", {"raw": "}{"}),
    ],
)
def test_of_a_cut_call_the_whole_members_are_left(told: str, whole: dict[str, Any]) -> None:
    """Half a value is none; what is no object at all stays as it is."""
    assert cut_object(told) == whole


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.recursive(
            st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=6,
        ),
        max_size=3,
    ),
    st.floats(0, 1),
)
def test_a_cut_call_is_what_the_sdk_makes_of_it(value: dict[str, Any], share: float) -> None:
    """Anthropic's client accumulates a streamed call with this parser, so both ways of answering agree."""
    text = json.dumps(value, ensure_ascii=False)
    told = text[: max(1, round(len(text) * share))]
    assert cut_object(told) == jiter.from_json(told.encode(), partial_mode=True)


def test_a_deep_call_is_cut_in_no_time() -> None:
    """A model that opens brackets for ever costs one pass, not one for each bracket."""
    assert cut_object('{"a":' + "[" * 200_000) == {"raw": '{"a":' + "[" * 200_000}
