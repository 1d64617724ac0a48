"""Tool calls from fragments."""

from typing import Any

import pytest

from blazar.domain.wire.delta import ToolFragment
from blazar.domain.wire.tools import Call, CallGatherer, CallTracker, arguments_object, is_object
from tests.contract.wire.chunks import View, call


def track(*chunks: list[dict[str, Any]], last: bool = False) -> list[ToolFragment]:
    tracker = CallTracker()
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
