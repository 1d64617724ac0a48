"""Schemas that no grammar can hold, and what is left of them (C14, C15, E4, E5)."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.schema import LARGEST_REPETITION, MOST_PARTS, Simplified, simplified, without_nulls


def of(schema: Any, *, lenient: bool = True) -> Simplified:
    return simplified(schema, lenient=lenient)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "maxLength": 2000}}, "required": ["a"]},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "properties": {"pattern": {"type": "string"}, "type": {"type": "integer"}}},
        {"enum": [True, {"type": "any"}, None]},
        {"const": {"maxLength": "x"}, "default": {"type": "any"}, "examples": [{"$ref": "nowhere"}]},
        {"type": "string", "pattern": "^[a-z]{1,2000}$"},
        {"type": "integer", "minimum": -(2**53), "exclusiveMaximum": 0.5},
        {"$defs": {"P": {"type": "integer"}}, "type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}},
        {"$defs": {"N": {"properties": {"c": {"items": {"$ref": "#/$defs/N"}}}}}, "$ref": "#/$defs/N"},
    ],
)
def test_what_a_grammar_can_hold_is_left_alone(schema: dict[str, Any]) -> None:
    """Names of properties and values are not keywords, whatever they are called."""
    assert of(schema, lenient=False) == (schema, ())


@pytest.mark.parametrize(
    ("given", "left", "changed"),
    [
        ({"type": "any"}, {}, ("type",)),
        ({"type": ["date", "string"]}, {"type": ["string"]}, ("type",)),
        ({"maxLength": 10.0}, {"maxLength": 10}, ("maxLength",)),
        ({"maxLength": 1_000_000}, {}, ("maxLength",)),
        ({"maxItems": -1}, {}, ("maxItems",)),
        ({"minItems": 5000}, {"minItems": LARGEST_REPETITION}, ("minItems",)),
        ({"minLength": True}, {}, ("minLength",)),
        ({"maximum": 1e30}, {}, ("maximum",)),
        ({"minimum": "0"}, {}, ("minimum",)),
        ({"properties": None}, {}, ("properties",)),
        ({"anyOf": {}}, {}, ("anyOf",)),
        ({"required": "a"}, {}, ("required",)),
        ({"items": True}, {"items": {}}, ("boolean schema",)),
        ({"properties": {"a": False}}, {"properties": {"a": {}}}, ("boolean schema",)),
        ({"items": [{"type": "x"}, {}]}, {"items": [{}, {}]}, ("type",)),
    ],
)
def test_what_it_cannot_hold_goes_and_is_named(given: Any, left: Any, changed: tuple[str, ...]) -> None:
    """What is left accepts more, never less."""
    assert of(given) == (left, changed)


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        (r"^\d{4}-\d{2}$", "^[0-9]{4}-[0-9]{2}$"),
        (r"^[\w.-]+@\S+$", r"^[A-Za-z0-9_.-]+@[^ \t\n\r]+$"),
        (r"^hello\!\/$", "^hello!/$"),
        (r"^(?:a\.b|\$)\n$", r"^(a\.b|\$)\n$"),
        ("^($", None),
        ("abc", None),
        (r"^a\b$", None),
        (r"^(a)\1$", None),
        (r"^[\D]$", None),
        (r"^(?=a)b$", None),
        (r"^\p{L}$", None),
        ("^a{1,3000}$", None),
        ("^a{99999999999}$", None),
        ("^" + "a" * 1000 + "$", None),
        (5, None),
    ],
)
def test_patterns_in_the_few_signs_that_every_build_knows(pattern: Any, left: str | None) -> None:
    """Classes become ranges; what has no such form goes whole, since half a pattern would be another one (C14)."""
    assert of({"pattern": pattern}).schema == ({} if left is None else {"pattern": left})


def test_the_root_and_escaped_paths_get_a_home_that_the_engine_can_reach() -> None:
    """Recursion is passed on, not expanded (E4)."""
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}, "x": {"$ref": "#/$defs/a~1b%20c"}}}
    out = of(tree | {"$defs": {"a/b c": {"type": "string"}}}, lenient=False)
    assert out.changed == ("$ref",)
    first, second = (out.schema["properties"][name]["$ref"] for name in ("next", "x"))
    assert out.schema["$defs"][second.rpartition("/")[2]] == {"type": "string"}
    home = out.schema["$defs"][first.rpartition("/")[2]]
    assert home["properties"]["next"]["$ref"] == first


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"},
        {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"anyOf": [{}, {"$ref": "#/$defs/A"}]}}, "$ref": "#/$defs/A"},
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
    ],
)
def test_a_reference_back_to_itself_is_an_error_or_any_value(schema: dict[str, Any]) -> None:
    """Followed, it would never end (E5)."""
    with pytest.raises(Malformed, match="leads back to itself"):
        of(schema, lenient=False)
    assert "$ref" in of(schema).changed


@pytest.mark.parametrize(
    "ref", ["#/$defs/x", "http://127.0.0.1/x", "file:///etc/passwd", "x", "", None, 5, "#/a/9999999"]
)
def test_a_reference_to_nowhere_is_never_followed(ref: Any) -> None:
    """Nothing is fetched: it is an error, or any value (E4, J9)."""
    schema = {"type": "object", "properties": {"a": {"$ref": ref}}, "a": [1]}
    with pytest.raises(Malformed, match="not in it"):
        of(schema, lenient=False)
    assert of(schema).schema["properties"] == {"a": {}}


def test_shared_branches_cost_no_more_than_their_number() -> None:
    """Forty levels of four references each are looked at once, not 4^40 times (E5)."""
    defs = {f"n{i}": {"anyOf": [{"$ref": f"#/$defs/n{i + 1}"}] * 4} for i in range(40)}
    schema = {"$defs": defs | {"n40": {"type": "string"}}, "$ref": "#/$defs/n0"}
    assert of(schema, lenient=False).changed == ()


def test_depth_and_size_are_bounded() -> None:
    """What lies beyond accepts anything; nothing recurses for ever (E5)."""
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"properties": {"x": deep}}
    assert of(deep).changed == ("nesting",)
    wide = {"properties": {str(number): {"type": "string"} for number in range(MOST_PARTS + 10)}}
    assert of(wide).changed == ("nesting",)
    homes = {"$defs": {"a~": {}}, "anyOf": [{"$ref": f"#/anyOf/{'0' * n}0~0"} for n in range(300)]}
    assert of(homes).changed == ("$ref",)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"type": "string", "description": None, "enum": None}, {"type": "string"}),
        ({"default": None, "const": None, "enum": [None, 1]}, {"default": None, "const": None, "enum": [None, 1]}),
        (
            {"properties": {"const": {"title": None}, "gone": None}, "required": ["const"]},
            {"properties": {"const": {}}, "required": ["const"]},
        ),
        (
            {"items": [{"pattern": None}], "anyOf": [{"$ref": "#", "x": None}]},
            {"items": [{}], "anyOf": [{"$ref": "#"}]},
        ),
    ],
)
def test_a_keyword_that_is_null_is_absent(given: dict[str, Any], left: dict[str, Any]) -> None:
    """Values that a schema only speaks of keep theirs, and names of the caller's own are no keywords."""
    assert without_nulls(given) == left


def test_a_schema_without_nulls_is_the_same_object() -> None:
    """Nothing to change is nothing copied."""
    schema = {"properties": {"a": {"type": "string", "enum": ["x"]}}, "anyOf": [{"const": None}]}
    assert without_nulls(schema) is schema
