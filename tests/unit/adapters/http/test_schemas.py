"""Judging JSON Schemas."""

import subprocess
import sys
from typing import Any

import pytest

from blazar.adapters.http.schemas import JsonSchemas


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
