"""Structured output: one constraint, spelled by three dialects (ollama `format`, OpenAI `response_format`, a forced tool)."""

from typing import Any

from blazar.domain.errors import Malformed
from blazar.domain.teaching import field_wrong


def response_format_from(wanted: Any) -> dict[str, Any] | None:
    """Ollama's `format` as a `response_format`: `"json"`, a JSON schema, or nothing (absent, null, `""`)."""
    if wanted is None or wanted == "":
        return None
    if wanted == "json":
        return {"type": "json_object"}
    if isinstance(wanted, dict) and wanted:
        return json_schema_format(wanted, "format")
    raise Malformed(field_wrong("format", '"json" or a JSON schema'), "format")


def json_schema_format(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """A schema as a `response_format`."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def constraint_of(response_format: Any) -> str | None:
    """Which constraint a `response_format` sets, in the receipt's words: json_schema, json_object, or None."""
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    return kind if kind in ("json_schema", "json_object") else None


def forced_tool(name: str) -> dict[str, Any]:
    """The OpenAI tool_choice that forces one function."""
    return {"type": "function", "function": {"name": name}}


def schema_of(response_format: Any) -> dict[str, Any] | None:
    """The schema inside a `response_format`: OpenAI's place for it, or llama.cpp's."""
    if not isinstance(response_format, dict):
        return None
    inner = response_format.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else response_format.get("schema")
    return schema if isinstance(schema, dict) else None
