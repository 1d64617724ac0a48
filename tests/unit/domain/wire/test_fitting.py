"""Schemas as an engine's grammar library takes them."""

import copy
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.grammars import AS_IT_IS, LLGUIDANCE, XGRAMMAR, Grammar
from blazar.domain.wire.fitting import fit


def tool(schema: dict[str, Any]) -> dict[str, Any]:
    """A request with one tool of that schema."""
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]}


def form(schema: dict[str, Any]) -> dict[str, Any]:
    """A request for an answer of that schema."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}


def fitted(schema: dict[str, Any], grammar: Grammar) -> tuple[Any, tuple[str, ...], bool]:
    """What remains of a form's schema, the warnings, whether it is held."""
    body = form(schema)
    done = fit(body, grammar, "text.format")
    return body["response_format"]["json_schema"]["schema"], done.warnings, done.held


SOUND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "day": {"type": "string", "pattern": r"^\d{4}$", "format": "date"},
        "not": {"type": "array", "items": {"$ref": "#/$defs/part"}, "maxItems": 3},
        "any": True,
    },
    "$defs": {"part": {"anyOf": [{"type": "null"}, {"const": 1}]}},
    "additionalProperties": False,
    "required": ["day"],
}


@pytest.mark.parametrize("grammar", [AS_IT_IS, LLGUIDANCE, XGRAMMAR])
def test_what_a_library_holds_reaches_it_untouched(grammar: Grammar) -> None:
    """Names of the caller's own that are spelled like keywords, too."""
    assert fitted(copy.deepcopy(SOUND), grammar) == (SOUND, (), True)


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        ({"type": "array", "uniqueItems": True}, {"type": "array"}),
        ({"type": "string", "format": "color"}, {"type": "string"}),
        ({"type": "string", "format": {}}, {"type": "string"}),
        ({"oneOf": [{"type": "string"}, {"const": "a"}]}, {"anyOf": [{"type": "string"}, {"const": "a"}]}),
        ({"type": "string", "pattern": "^(?!a).*$"}, {"type": "string"}),
        ({"type": "string", "pattern": r"^(a)\1$"}, {"type": "string"}),
        ({"type": "string", "pattern": r"\bword\b"}, {"type": "string"}),
        ({"type": "object", "minProperties": 1}, {"type": "object"}),
    ],
)
def test_what_a_library_refuses_a_request_for_goes_and_is_told(schema: dict[str, Any], left: dict[str, Any]) -> None:
    """The answer is then held to less than was asked for, so there is no receipt (D19)."""
    now, warnings, held = fitted(schema, LLGUIDANCE)
    assert (now, held) == (left, False)
    (warning,) = warnings
    assert "text.format" in warning


def test_what_a_library_reads_over_is_told_of_a_form_only() -> None:
    """A tool's schema is advice to the model; it loses nothing that is sent."""
    schema = {"type": "array", "uniqueItems": True}
    now, warnings, held = fitted(schema, XGRAMMAR)
    assert (now, len(warnings), held) == (schema, 1, False)
    assert fit(tool(schema), XGRAMMAR, "x").warnings == ()


def test_odd_a_whole_float_is_written_as_a_whole_number() -> None:
    """Nothing is lost by it, so nothing is told, and the form is held."""
    now, warnings, held = fitted({"type": "string", "minLength": 3.0}, XGRAMMAR)
    assert (now, warnings, held) == ({"type": "string", "minLength": 3}, (), True)
    assert isinstance(now["minLength"], int)


@pytest.mark.parametrize("grammar", [LLGUIDANCE, XGRAMMAR])
def test_an_endless_reference_never_reaches_a_library(grammar: Grammar) -> None:
    """In a tool it is any value (E5), in a wanted form the caller's error."""
    endless = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "properties": {"a": {"$ref": "#/$defs/A"}}}
    body = tool(copy.deepcopy(endless))
    done = fit(body, grammar, "x")
    assert body["tools"][0]["function"]["parameters"]["properties"] == {"a": {}}
    assert done.held
    assert "tools.f" in done.warnings[0]
    with pytest.raises(Malformed):
        fitted(endless, grammar)


@pytest.mark.parametrize("grammar", [LLGUIDANCE, XGRAMMAR])
def test_huge_bounds_are_no_trouble_to_these_libraries(grammar: Grammar) -> None:
    """They count; llama.cpp's grammars repeat (C15)."""
    schema = {"type": "array", "items": {"type": "string", "maxLength": 1_000_000}, "minItems": 50_000}
    assert fitted(copy.deepcopy(schema), grammar) == (schema, (), True)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "array", "minItems": 1}, {"type": "array", "minItems": 1, "items": {}}),
        ({"type": "object", "minProperties": 1}, {"type": "object", "minProperties": 1, "additionalProperties": {}}),
        ({"items": [{"type": "null"}], "minItems": 1}, {"prefixItems": [{"type": "null"}], "minItems": 1, "items": {}}),
        ({"type": "array", "items": False, "uniqueItems": False}, {"type": "array", "items": False}),
    ],
)
def test_what_silence_means_is_said_to_a_library_that_hears_nothing_in_it(schema: Any, sent: Any) -> None:
    """The same schema in other words: nothing is told, and the form is held."""
    assert fitted(schema, XGRAMMAR) == (sent, (), True)


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        ({"type": "integer", "maximum": 1e30}, {"type": "integer"}),
        ({"properties": {"a": False}}, {"properties": {"a": {}}}),
        ({"type": "string", "pattern": r"^\p{L}+$"}, {"type": "string"}),
    ],
)
def test_one_library_fails_where_another_does_not(schema: Any, left: Any) -> None:
    """So each has a row of its own."""
    assert fitted(copy.deepcopy(schema), LLGUIDANCE) == (schema, (), True)
    now, warnings, held = fitted(schema, XGRAMMAR)
    assert (now, len(warnings), held) == (left, 1, False)
