"""What can be wrong with an answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.sentinel import (
    MOST_FINDINGS,
    Code,
    Finding,
    Tool,
    Wanted,
    findings,
    listed,
    nowhere,
    seen_in,
    stalled,
    wanted_of,
)
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Finish, Usage
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.tools import Call


def answer(text: str = "", *calls: tuple[str, str], thought: str = "", finish: str = "stop", tokens: int = 5) -> Seen:
    made = tuple(Call("c", name, arguments) for name, arguments in calls)
    return seen_in(Answer(text, thought, made, Finish(finish), Usage(3, tokens)))


def breaks(schema: Any, text: str, *, lenient: bool) -> str | None:
    """A schema is the one text that has it; a tool's is judged leniently."""
    del lenient
    return None if schema == text else "type at n"


def codes(seen: Seen, wanted: Wanted) -> list[str]:
    return [finding.code.value for finding in findings(seen, wanted, breaks)]


@pytest.mark.parametrize(
    ("seen", "wanted", "found"),
    [
        (answer("hi"), Wanted(), []),
        (answer("hi", finish="length"), Wanted(), ["truncation"]),
        (answer(""), Wanted(), ["empty_response"]),
        (answer(" \n"), Wanted(), ["empty_response"]),
        (answer("", thought="hm"), Wanted(), ["reasoning_no_answer"]),
        (answer("", thought="hm", finish="length"), Wanted(), ["truncation", "reasoning_no_answer"]),
        (answer("", ("f", "{}")), Wanted({"f": Tool()}), []),
        (answer("", ("f", "")), Wanted({"f": Tool()}), []),
        (answer("", ("f", "{")), Wanted({"f": Tool()}), ["tool_arg_json"]),
        (answer("", ("f", "[1]")), Wanted({"f": Tool()}), ["tool_arg_json"]),
        (answer("", ("f", '{"a":NaN}')), Wanted({"f": Tool()}), ["tool_arg_json"]),
        (answer("", ("f", "words")), Wanted({"f": Tool(free=True)}), []),
        (answer("", ("g", "{}")), Wanted({"f": Tool()}), ["tool_hallucinated_name"]),
        (answer("", ("f", "{}")), Wanted(), ["tool_hallucinated_name"]),
        (answer("", ("f", "{}")), Wanted({"f": Tool("{}")}), []),
        (answer("", ("f", '{"a":1}')), Wanted({"f": Tool("{}")}), ["tool_arg_schema"]),
        (answer("", ("f", "")), Wanted({"f": Tool('{"n":1}')}), ["tool_arg_schema"]),
        (answer("", ("f", "{}"), ("g", "{}")), Wanted({"f": Tool()}), ["tool_hallucinated_name"]),
        (answer("{}"), Wanted(form="json_object"), []),
        (answer("[]"), Wanted(form="json_object"), ["json_object"]),
        (answer("so: {}"), Wanted(form="json_object"), ["json_object"]),
        (answer("{}"), Wanted(form="json_schema", schema="{}"), []),
        (answer("{"), Wanted(form="json_schema", schema="{}"), ["json_schema"]),
        (answer(""), Wanted(form="json_schema", schema="{}"), ["empty_response", "json_schema"]),
        (answer("", ("f", "{}")), Wanted({"f": Tool()}, "json_schema", "{}"), []),
        (Seen(words=True, thought=False, finish="stop"), Wanted(form="json_object"), []),
    ],
)
def test_each_observation_has_its_code(seen: Seen, wanted: Wanted, found: list[str]) -> None:
    """A form is not asked of calls, schemas are not asked of what is no JSON, and text that nobody kept is not judged."""
    assert codes(seen, wanted) == found


@pytest.mark.parametrize(
    ("limit", "tokens", "violation"), [(0, 5, True), (5, 5, False), (9, 5, True), (9, 0, False), (1, 1, False)]
)
def test_what_the_callers_own_limit_cut_is_no_violation(limit: int, tokens: int, violation: bool) -> None:
    """It got what it asked for; an engine that stops below it has run out of window. A count of 0 says nothing."""
    found = findings(answer("", finish="length", tokens=tokens), Wanted(limit=limit))
    assert [(finding.code, finding.violation) for finding in found] == [
        (Code.TRUNCATION, violation),
        (Code.EMPTY_RESPONSE, violation),
    ]


def test_a_form_that_a_limit_cut_is_a_violation_all_the_same() -> None:
    """Half a JSON is of no use to who asked for one."""
    found = findings(answer("{", finish="length"), Wanted(form="json_object", limit=5))
    assert [(finding.code, finding.violation) for finding in found] == [
        (Code.TRUNCATION, False),
        (Code.JSON_OBJECT, True),
    ]


def test_a_call_that_goes_on_and_on_is_told_of_often_enough() -> None:
    """A record stays small."""
    assert len(findings(answer("", *[("g", "")] * 1000), Wanted())) == MOST_FINDINGS


def test_what_a_refusal_says() -> None:
    """Code and detail of each; the call by its number."""
    found = findings(answer("", ("f", "{"), ("g", ""), ("h", "{}")), Wanted({"f": Tool(), "h": Tool("x")}), breaks)
    assert listed(found) == [
        "[tool_arg_json] the arguments of call 1 are no JSON object",
        "[tool_hallucinated_name] call 2 is of a tool that the request does not offer",
        "[tool_arg_schema] the arguments of call 3 break the tool's schema (type at n)",
    ]
    assert [finding.brief for finding in found][2] == "the arguments of call 3 break the tool's schema"
    assert stalled(30.0) == Finding(Code.STALLED_STREAM, "nothing came in the middle of a stream (30 s)")


def test_what_a_body_wants() -> None:
    """Tools by name, custom ones free; the form as the request was understood; the first limit that is one."""
    tools = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
        {"type": "custom", "custom": {"name": "g"}},
        {"type": "function"},
        {"type": "web_search"},
        {"type": "function", "function": {"name": 7}},
        "odd",
    ]
    wanted = wanted_of({"tools": tools, "max_tokens": 9, "max_completion_tokens": None})
    assert wanted == Wanted({"f": Tool({"type": "object"}), "g": Tool(free=True)}, "", None, 9)
    assert wanted_of({"tools": "odd", "max_tokens": True, "n_predict": -1}) == Wanted()
    assert wanted_of({}, "json_schema", {}) == Wanted(form="json_schema", schema={})
    assert wanted_of({}, "json_object") == Wanted(form="json_object")
    assert wanted_of({}, "gbnf") == wanted_of({}, "json_schema") == Wanted()


@given(st.text(), st.text(), st.text(min_size=1), st.sampled_from(["stop", "length", "tool_calls"]))
def test_no_detail_repeats_the_answer(text: str, name: str, arguments: str, finish: str) -> None:
    """They stand in logs and stories."""
    mark = "\ue000"
    seen = answer(mark + text, (mark + name, mark + arguments), thought=mark, finish=finish)
    wanted = Wanted({mark + name: Tool({})}, "json_schema", {})
    told = [*findings(seen, wanted, nowhere), *findings(seen._replace(calls=()), wanted, breaks)]
    assert told
    assert mark not in json.dumps([finding.detail for finding in told], ensure_ascii=False)
