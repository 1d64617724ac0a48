"""Judging JSON Schemas."""

import subprocess
import sys
from typing import Any

import pytest

from blazar.adapters.http.schemas import JsonSchemas, is_quick


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"},
        {"$ref": "http://127.0.0.1:1/never-fetched"},
        {"$schema": "urn:unknown", "type": "string"},
    ],
)
def test_schemas_have_no_flaw(schema: Any) -> None:
    """References are not followed, so nothing is fetched."""
    assert JsonSchemas().flaw(schema) is None


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("json", "not an object"),
        (None, "not an object"),
        ([], "not an object"),
        ({"$schema": []}, "$schema is not a text"),
        ({"type": "nonsense"}, "type: 'nonsense'"),
        ({"properties": {"a": {"minimum": "x"}}}, "properties/a/minimum"),
        ({"required": "a"}, "required"),
    ],
)
def test_a_flaw_says_where(schema: Any, says: str) -> None:
    """The place and the reason."""
    flaw = JsonSchemas().flaw(schema)
    assert flaw is not None
    assert says in flaw


def test_a_flaw_is_short_and_depth_is_bounded() -> None:
    """The library quotes the value, which may be everything; a schema may nest without end."""
    assert len(JsonSchemas().flaw({"type": ["x" * 5000]}) or "") < 400
    deep: Any = {}
    for _ in range(5000):
        deep = {"items": deep}
    assert JsonSchemas().flaw(deep) == "its parts are nested too deeply"


def test_the_library_is_loaded_on_the_first_question() -> None:
    """Starting the daemon does not pay for it."""
    code = "import sys, blazar.adapters.http.schemas; print('jsonschema' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


N = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "text", "agrees"),
    [
        (N, '{"n": 1}', True),
        (N, '{"n": "x"}', False),
        (N, '{"n": 1, "m": 2}', False),
        (N, '{"n": 1', False),
        (N, "prose", False),
        (True, "null", True),
        ({"pattern": r"^\d{4}$"}, '"2024"', True),
        ({"pattern": r"^\d{4}$"}, '"24"', False),
        ({"pattern": "("}, '"x"', False),
        ({"$ref": "http://127.0.0.1:1/never-fetched"}, "{}", False),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "{}", False),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#"}}}}, "[[[]]]", True),
    ],
)
def test_a_text_has_its_schema_or_not(schema: Any, text: str, agrees: bool) -> None:
    """What cannot be judged is not agreed with; nothing is fetched (E2, E5)."""
    assert (JsonSchemas().breach(schema, text) is None) is agrees


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^a*a*b$", "(a|a)*", "a{1,}a{1,}", "(a{1,9}){9}", "a" * 2000, 7])
def test_odd_a_pattern_that_could_take_for_ever_is_taken_on_trust(pattern: Any) -> None:
    """For values and for names of properties: a match that backtracks would hold the whole process."""
    long = "a" * 40 + "!"
    assert not is_quick(pattern)
    assert JsonSchemas().breach({"pattern": pattern}, f'"{long}"') is None
    if isinstance(pattern, str):
        named = {"anyOf": [{"patternProperties": {pattern: False}, "additionalProperties": False}]}
        assert JsonSchemas().breach(named, f'{{"{long}": 1}}') is None


@pytest.mark.parametrize("pattern", [r"^\d{4}-\d{2}$", "^[a-z*+]+$", r"^\(x\)*$", "a|b", "^.*$"])
def test_what_programs_write_is_quick(pattern: str) -> None:
    """Signs inside of brackets and behind a backslash repeat nothing."""
    assert is_quick(pattern)


def test_odd_a_list_of_items_makes_a_schema_one_of_an_earlier_draft() -> None:
    """Items by place, as clients for draft 7 write them, are sound and judged by place; a schema that names its draft is of that one."""
    schema = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "minItems": 2}
    inside = {"type": "object", "properties": {"a": schema}}
    assert [JsonSchemas().flaw(one) for one in (schema, inside)] == [None, None]
    assert [JsonSchemas().breach(schema, text) is None for text in ('["a", 1]', "[1, 1]")] == [True, False]
    assert JsonSchemas().flaw({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}) is not None
    assert JsonSchemas().flaw({"type": "array", "items": [{"type": "word"}]}) is not None


@pytest.mark.parametrize(
    ("schema", "text", "place"),
    [
        ({"properties": {"n": {"type": "integer"}}}, '{"n":"secret"}', "type at properties/n"),
        ({"required": ["n"]}, "{}", "required"),
        ({"additionalProperties": False}, '{"secret":1}', "additionalProperties"),
        ({"additionalProperties": {"type": "null"}}, '{"secret":1}', "type at additionalProperties"),
        ({}, "secret", "no JSON"),
        ({}, "[" * 100_000, "no JSON"),
        (False, "1", "false"),
        (True, "1", None),
    ],
)
def test_a_breach_says_where_in_the_schema(schema: Any, text: str, place: str | None) -> None:
    """And no word of what was answered: it stands in logs."""
    assert JsonSchemas().breach(schema, text) == place


@pytest.mark.parametrize(
    "schema", [{"type": "any"}, {"$ref": "#/nowhere"}, {"pattern": "("}, {"required": "n"}, 7, "x"]
)
def test_a_tools_odd_schema_accuses_nobody(schema: Any) -> None:
    """Somebody else declared it, and the engine was told what it can take of it."""
    assert JsonSchemas().breach(schema, '"x"', lenient=True) is None
