"""One constraint in three spellings."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.structured import (
    Asked,
    Held,
    apply_format,
    constraint_of,
    forced_tool,
    response_format_from,
    schema_of,
    wanted_schema,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_ollama_format() -> None:
    """`"json"` or a schema; empty is none."""
    assert response_format_from("json") == {"type": "json_object"}
    wanted = response_format_from(SCHEMA)
    assert wanted == {"type": "json_schema", "json_schema": {"name": "format", "strict": True, "schema": SCHEMA}}
    assert response_format_from(None) is response_format_from("") is None


def test_odd_tools_win_over_a_form_for_this_turn() -> None:
    """The form is left out, and the caller is told."""
    out: dict[str, Any] = {"messages": [], "tools": [{}]}
    warnings: list[str] = []
    assert apply_format(SCHEMA, out, warnings) == Held()
    assert (out, warnings) == ({"messages": [], "tools": [{}]}, [teaching.warn_ignored("format")])


def test_odd_a_schema_is_simplified_before_anybody_refused_it() -> None:
    """On the route of a raw prompt; a conversation carries it as it came."""
    hard = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 1e30}}}
    out: dict[str, Any] = {"prompt": "x"}
    warnings: list[str] = []
    assert apply_format(hard, out, warnings).schema == Asked("format", hard)
    assert out["json_schema"] == SCHEMA
    assert len(warnings) == 1
    conversation: dict[str, Any] = {"messages": []}
    apply_format(hard, conversation, [])
    assert conversation["response_format"]["json_schema"]["schema"] == hard


@pytest.mark.parametrize("wanted", ["xml", 1, [], {}, True])
def test_another_format_is_refused(wanted: Any) -> None:
    """By its field's name."""
    with pytest.raises(Malformed) as refused:
        response_format_from(wanted)
    assert refused.value.field == "format"


def test_the_receipts_words() -> None:
    """What kind of constraint a child's request sets (D19)."""
    assert constraint_of({"response_format": {"type": "json_schema"}}) == "json_schema"
    assert constraint_of({"response_format": {"type": "json_object"}}) == "json_object"
    assert constraint_of({"response_format": {"type": "json_object", "schema": SCHEMA}}) == "json_schema"
    assert constraint_of({"json_schema": SCHEMA}) == "json_schema"
    assert constraint_of({"grammar": "root ::= x"}) == "gbnf"
    assert constraint_of({"response_format": {"type": "gbnf", "grammar": "root ::= x"}}) == "gbnf"
    assert constraint_of({"response_format": {"type": "odd"}}) == ""
    assert constraint_of({"response_format": {"type": "text"}}) == ""
    assert constraint_of({"response_format": "x", "grammar": "", "json_schema": None}) == ""


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": 5}}},
            "response_format.json_schema.schema",
        ),
        ({"response_format": {"type": "json_object", "schema": 5}}, "response_format.schema"),
        ({"json_schema": 5, "response_format": {"type": "text"}}, "json_schema"),
    ],
)
def test_a_wanted_schema_is_found_where_it_stands(body: dict[str, Any], field: str) -> None:
    """With the field's name; whether it is a schema is judged elsewhere (E6)."""
    assert wanted_schema(body) == Asked(field, 5)


@pytest.mark.parametrize(
    "body", [{}, {"response_format": {"type": "text"}}, {"response_format": {"type": "json_object"}}]
)
def test_no_schema_is_none(body: dict[str, Any]) -> None:
    """Most requests."""
    assert wanted_schema(body) is None


@pytest.mark.parametrize(
    "given", ["json", {"type": "json_schema"}, {"type": "json_schema", "json_schema": {"name": "n"}}]
)
def test_a_format_that_names_no_schema_is_refused(given: Any) -> None:
    """Sent on, it would be answered with any JSON at all."""
    with pytest.raises(Malformed) as refused:
        wanted_schema({"response_format": given})
    assert (refused.value.field or "").startswith("response_format")


def test_the_schema_stands_in_two_places() -> None:
    """OpenAI's and llama.cpp's (E6)."""
    assert schema_of({"type": "json_schema", "json_schema": {"schema": SCHEMA}}) == SCHEMA
    assert schema_of({"type": "json_object", "schema": SCHEMA}) == SCHEMA
    assert schema_of({"type": "json_object"}) is schema_of("x") is None


def test_a_forced_tool() -> None:
    """OpenAI's object form."""
    assert forced_tool("f") == {"type": "function", "function": {"name": "f"}}


def test_a_keyword_that_is_null_is_absent_in_a_form_too() -> None:
    """What is judged and what is sent is the schema without it (A13)."""
    body: dict[str, Any] = {"messages": []}
    held = apply_format({"type": "object", "title": None}, body, [])
    assert held.schema == Asked("format", {"type": "object"})
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
