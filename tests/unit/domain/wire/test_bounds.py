"""How large a schema may be."""

import json
from typing import Any, NamedTuple

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.bounds import MOST_LEVELS, MOST_OPTIONAL, MOST_PARTS, check_bounds
from blazar.domain.wire.openai import LARGEST_SCANNED, normalise, plan


def chain(length: int, ending: str = "") -> dict[str, Any]:
    """Small in every place, and deep for whoever follows it."""
    defs = {f"r{at}": {"properties": {"x": {"$ref": f"#/$defs/r{at + 1}{ending}"}}} for at in range(length)}
    return {"$ref": "#/$defs/r0", "$defs": {**defs, f"r{length}": {"type": "string"}}}


class Peek(NamedTuple):
    model: str = "m"
    stream: bool | None = None
    stream_options: Any = None


def a_tool(schema: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]}


def a_form(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}


PLACES = [a_tool, a_form, lambda schema: {"json_schema": schema}]


@pytest.mark.parametrize("place", PLACES)
def test_a_long_chain_is_refused(place: Any) -> None:
    """Wherever it stands; half of it is taken."""
    check_bounds(place(chain(MOST_LEVELS // 6)))
    with pytest.raises(Malformed, match="too large"):
        check_bounds(place(chain(MOST_LEVELS // 2)))


def loose(count: int, required: int = 0) -> dict[str, Any]:
    """An object with so many properties, the first of which must be there."""
    names = [f"p{at}" for at in range(count)]
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names[:required]}


@pytest.mark.parametrize("place", PLACES)
def test_many_optional_properties_are_refused(place: Any) -> None:
    """Wherever they stand, and in several objects together; what is required costs nothing."""
    check_bounds(place(loose(MOST_OPTIONAL)))
    check_bounds(place(loose(2 * MOST_OPTIONAL, MOST_OPTIONAL)))
    several = {"anyOf": [loose(MOST_OPTIONAL * 3 // 4), {"items": loose(MOST_OPTIONAL * 3 // 4)}]}
    for schema in (loose(MOST_OPTIONAL + 1), several):
        with pytest.raises(Malformed, match="more optional properties"):
            check_bounds(place(schema))
    raw = json.dumps({"model": "m", "messages": [], **place(loose(MOST_OPTIONAL + 1))}).encode()
    assert plan(raw, Peek(), "m").parse


def test_the_order_of_the_definitions_changes_nothing() -> None:
    """An engine may begin with any of them."""
    long = chain(MOST_LEVELS // 2)
    long["$defs"] = dict(reversed(long["$defs"].items()))
    with pytest.raises(Malformed):
        check_bounds(a_tool(long))


def test_recursion_has_no_depth() -> None:
    """Each reference is followed once."""
    tree = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}
    check_bounds(a_form(tree))


def test_many_parts_are_refused() -> None:
    """However flat they lie."""
    flat = {"properties": {str(at): {"type": "null"} for at in range(MOST_PARTS)}}
    with pytest.raises(Malformed) as said:
        check_bounds(a_form(flat), "format")
    assert said.value.field == "format"


def test_what_is_no_schema_is_none_of_its_business() -> None:
    """References to nowhere, and what is no object."""
    check_bounds(a_tool({"$ref": "#/nowhere", "a": {"$ref": 5}}))
    check_bounds(a_tool("x"))
    check_bounds({})


@pytest.mark.parametrize("key", ["$ref", "\\u0024ref", "$re\\u0066", "\\u0024\\u0072\\u0065\\u0066"])
def test_no_spelling_of_a_long_chain_passes_unparsed(key: str) -> None:
    """Of a body that is small enough to be only scanned."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **a_tool(chain(MOST_LEVELS // 3 + 10))}
    raw = json.dumps(body, separators=(",", ":")).replace('"$ref"', f'"{key}"').encode()
    if key == "$ref":
        assert len(raw) < LARGEST_SCANNED
    assert plan(raw, Peek(), "m").parse
    with pytest.raises(Malformed):
        normalise(json.loads(raw), "m")


def test_a_few_references_pass_as_they_are() -> None:
    """Byte by byte (D15)."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **a_tool(chain(10))}
    raw = json.dumps(body).encode()
    assert plan(raw, Peek(), "m").body == raw


def test_paths_into_one_deep_place_pass_not_unparsed() -> None:
    """Each is followed by itself, so that few objects and a hundred references are many levels."""
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(80):
        deep = {"items": deep}
    paths = {str(at): {"$ref": "#" + "/items" * at} for at in range(60)}
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **a_tool({**deep, "properties": paths})}
    raw = json.dumps(body).encode()
    assert plan(raw, Peek(), "m").parse
    with pytest.raises(Malformed):
        normalise(json.loads(raw), "m")
