"""One constraint in three spellings."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.structured import constraint_of, forced_tool, response_format_from, schema_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_ollama_format() -> None:
    """`"json"` or a schema; empty is none."""
    assert response_format_from("json") == {"type": "json_object"}
    wanted = response_format_from(SCHEMA)
    assert wanted == {"type": "json_schema", "json_schema": {"name": "format", "strict": True, "schema": SCHEMA}}
    assert response_format_from(None) is response_format_from("") is None


@pytest.mark.parametrize("wanted", ["xml", 1, [], {}, True])
def test_another_format_is_refused(wanted: Any) -> None:
    """By its field's name."""
    with pytest.raises(Malformed) as refused:
        response_format_from(wanted)
    assert refused.value.field == "format"


def test_the_receipts_words() -> None:
    """What kind of constraint a response_format is."""
    assert constraint_of({"type": "json_schema"}) == "json_schema"
    assert constraint_of({"type": "json_object"}) == "json_object"
    assert constraint_of({"type": "text"}) is constraint_of(None) is None


def test_the_schema_stands_in_two_places() -> None:
    """OpenAI's and llama.cpp's (E6)."""
    assert schema_of({"type": "json_schema", "json_schema": {"schema": SCHEMA}}) == SCHEMA
    assert schema_of({"type": "json_object", "schema": SCHEMA}) == SCHEMA
    assert schema_of({"type": "json_object"}) is schema_of("x") is None


def test_a_forced_tool() -> None:
    """OpenAI's object form."""
    assert forced_tool("f") == {"type": "function", "function": {"name": "f"}}
