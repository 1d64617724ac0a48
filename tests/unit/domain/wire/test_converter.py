"""What llama.cpp's converter does not hold, and what it does once it is said in its signs."""

import re
from typing import Any

import pytest

from blazar.domain.wire.converter import converted, plain


def an_object(**member: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": member}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"^[A-Z]{2}\d{3}$", r"^[A-Z]{2}[0-9]{3}$"),
        (r"^\w+\s\S+$", r"^[A-Za-z0-9_]+[ \t\n\r][^ \t\n\r]+$"),
        (r"^[\w.\-]+@[a-z\.]+$", r"^[A-Za-z0-9_.\x2D]+@[a-z\x2E]+$"),
        (r"^a\-b\/c\+?$", r"^a-b/c\+?$"),
        (r"^(?:a|b)\\$", r"^(?:a|b)\\$"),
        (r"^ab.*$", r"^ab.*$"),
    ],
)
def test_a_pattern_is_said_in_known_signs(pattern: str, said: str) -> None:
    """Classes of digits, words and blanks as ranges; escapes that mean nothing are left out."""
    assert plain(pattern) == said


@pytest.mark.parametrize("pattern", [r"^[A-Z]{2}\d{3}$", r"^\w+\s\S+$", r"^[\w.\-]+@[a-z\.]+$", r"^a\-b\/c\+?$"])
@pytest.mark.parametrize("text", ["AB123", "AB12", "a b", "a.b-c@d.e", "a-b/c+", "a-b/c", "", "x y\n", "ab@d.e!"])
def test_what_a_pattern_takes_stays_the_same(pattern: str, text: str) -> None:
    """The pattern that is sent takes what the caller's takes, and nothing else."""
    said = plain(pattern)
    assert said is not None
    assert (re.fullmatch(said, text) is None) == (re.fullmatch(pattern, text) is None)


@pytest.mark.parametrize(
    "pattern",
    [
        "ab",
        "^ab",
        "ab$",
        r"^a\$",
        r"^(?=a)b$",
        r"^(?i)a$",
        r"^\bx$",
        r"^(a)\1$",
        r"^a+?b$",
        r"^(^a$)$",
        r"^[\D]$",
        r"^[]a]$",
        "^(a$",
        "^",
        "^" + "a" * 2000 + "$",
    ],
)
def test_a_pattern_that_it_takes_for_any_string_is_known(pattern: str) -> None:
    """Unanchored ones, those that look around, lazy ones, what is no expression at all."""
    assert plain(pattern) is None


def test_a_schema_without_such_patterns_stays_the_very_object() -> None:
    """Whoever sends it can see that its bytes need no change."""
    schema = an_object(type="string", pattern="^[0-9]+$", description="\\d")
    assert converted(schema) == (schema, ())
    assert converted(schema).schema is schema


def test_only_patterns_are_rewritten() -> None:
    """Not values that look like one, and not a property that is called so."""
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "pattern": r"^\d$", "default": r"^\d$"}}}
    assert converted(schema).schema == {
        "type": "object",
        "properties": {"pattern": {"type": "string", "pattern": "^[0-9]$", "default": r"^\d$"}},
    }
    assert schema["properties"]["pattern"]["pattern"] == r"^\d$"


@pytest.mark.parametrize(
    ("member", "overlooked"),
    [
        ({"type": "number", "minimum": 5}, ("minimum",)),
        ({"type": ["number", "null"], "maximum": 5}, ("maximum",)),
        ({"type": "integer", "multipleOf": 5}, ("multipleOf",)),
        ({"type": "array", "uniqueItems": True}, ("uniqueItems",)),
        ({"type": "array", "contains": {"const": 7}}, ("contains",)),
        ({"type": "string", "not": {"const": ""}}, ("not",)),
        ({"type": "string", "pattern": "ab"}, ("pattern",)),
        ({"type": "string", "pattern": "^a*$", "minLength": 2}, ("minLength",)),
        ({"$ref": "#/$defs/t", "minLength": 2}, ("minLength",)),
        ({"allOf": [{"type": "string"}, {"minLength": 2}]}, ("allOf",)),
        ({"type": "object", "properties": {"a": {}}, "required": ["a", "zz"]}, ("required",)),
        ({"type": "object", "required": ["zz"], "additionalProperties": {"type": "boolean"}}, ("required",)),
        ({"allOf": [{"properties": {"a": {}}}], "required": ["b"]}, ("required",)),
        ({"type": "array", "items": {"type": "number", "minimum": 1, "multipleOf": 2}}, ("multipleOf", "minimum")),
    ],
)
def test_what_it_reads_over_is_named(member: dict[str, Any], overlooked: tuple[str, ...]) -> None:
    """Each was asked of the engine, and the answer broke it."""
    assert converted(an_object(**member)).overlooked == overlooked


@pytest.mark.parametrize(
    "member",
    [
        {"type": "integer", "minimum": 5},
        {"type": ["integer", "null"], "minimum": 5},
        {"type": "string", "minLength": 2},
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": False},
        {"type": "string", "pattern": r"^\d{4}$"},
        {"type": "string", "format": "date"},
        {"$ref": "#/$defs/t", "description": "A part.", "default": None},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "A", "default": None},
        {"allOf": [{"$ref": "#/$defs/t"}, {"properties": {"b": {"type": "string"}}}]},
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "required": ["a", "b"]},
        {"type": "object", "required": [], "properties": {"required": {"type": "boolean"}}},
        {"enum": ["not", "if"], "default": {"not": 1}},
        {"type": "object", "properties": {"not": {"type": "string"}, "contains": {"type": "string"}}},
    ],
)
def test_what_it_holds_is_not(member: dict[str, Any]) -> None:
    """Nor words that only look like keywords."""
    assert converted(an_object(**member)).overlooked == ()


@pytest.mark.parametrize("schema", [True, False])
def test_a_schema_that_is_a_switch_is_not_held(schema: bool) -> None:
    """It answers as if none had been asked for."""
    assert converted(schema) == (schema, (str(schema).lower(),))


def test_a_schema_that_has_no_end_is_walked_to_a_bound() -> None:
    """Depth is a caller's to choose; the stack is ours."""
    schema: dict[str, Any] = {"type": "string", "pattern": r"^\d$"}
    for _ in range(500):
        schema = {"type": "array", "items": schema}
    assert converted(schema) == (schema, ())


@pytest.mark.parametrize(
    "schema", [True, None, [], {"properties": []}, {"anyOf": "x"}, {"pattern": 5}, {"items": [True]}]
)
def test_what_is_no_schema_breaks_nothing(schema: Any) -> None:
    """Whether it is one is asked before; this only must not fail."""
    assert converted(schema).schema is schema
