"""The attempts after a refused grammar."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.relax import Relaxing


def a_body(parameters: Any, schema: Any = None, place: str = "json_schema") -> dict[str, Any]:
    body: dict[str, Any] = {
        "tools": [{"type": "function", "function": {"name": "f\r\nx", "parameters": parameters}}, 5, {}]
    }
    if schema is not None and place == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    elif schema is not None:
        body["response_format"] = {"type": "json_object", "schema": schema}
    return body


def test_first_simplified_then_opened_then_nothing() -> None:
    """Three answers, and the third is: tell the caller (C14)."""
    body = a_body({"type": "object", "properties": {"a": {"type": "any"}}})
    relaxing = Relaxing("response_format")
    first = relaxing.next(body)
    assert not relaxing.eased  # what the answer must look like was not touched
    assert len(first) == 1
    assert first[0].startswith("rewritten; 'tools.f")
    assert "\r" not in first[0]
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {"a": {}}}
    assert "not enforced" in relaxing.next(body)[0]
    assert body["tools"][0]["function"]["parameters"] == {"type": "object"}
    assert relaxing.next(body) == ()


def test_where_nothing_can_be_simplified_the_tools_are_opened_at_once() -> None:
    """Asking the same again would be refused the same."""
    assert "not enforced" in Relaxing("format").next(a_body({"type": "object", "title": "x"}))[0]


@pytest.mark.parametrize("place", ["json_schema", "json_object"])
def test_the_wanted_form_is_simplified_but_never_dropped(place: str) -> None:
    """It is the caller's promise about the answer (E1)."""
    body = a_body(None, {"maxLength": 10**6}, place)
    relaxing = Relaxing("format")
    assert relaxing.next(body) == (
        "rewritten; 'format' is enforced without maxLength, which this engine's grammar cannot express",
    )
    assert relaxing.next(body) == ()
    raw = {"json_schema": {"type": "any"}}
    assert Relaxing("format").next(raw)
    assert raw == {"json_schema": {}}


def test_an_endless_form_is_the_callers_error_and_an_endless_tool_is_any_value() -> None:
    """A tool is somebody else's declaration, the form is the caller's own (E5)."""
    loop = {"$ref": "#"}
    assert Relaxing("format").next(a_body(loop))
    with pytest.raises(Malformed):
        Relaxing("format").next(a_body(None, loop))


@pytest.mark.parametrize("body", [{}, {"tools": "x"}, {"tools": [{"function": {}}]}, {"response_format": "text"}])
def test_without_schemas_there_is_nothing_to_try(body: dict[str, Any]) -> None:
    """The engine's refusal stands."""
    assert Relaxing("format").next(body) == ()
