"""Structured output: one constraint, spelled by three dialects (ollama `format`, OpenAI `response_format`, a forced tool)."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from blazar.domain.errors import Malformed
from blazar.domain.teaching import field_missing, field_must, schema_simplified, warn_ignored, warn_rewritten
from blazar.domain.wire.schema import simplified, without_nulls

ANY_OBJECT: Final[dict[str, Any]] = {"type": "object"}


class Asked(NamedTuple):
    """The schema that a caller wants its answer to have, and the field that holds it.

    `of_call`: it is a tool's that must be called, so the call's arguments are to have it. Other rules of a tool's schema hold then:
    what an engine cannot take of it is taken away (C14), it is no error of the caller's.
    """

    field: str
    schema: Any
    of_call: bool = False


def response_format_from(wanted: Any) -> dict[str, Any] | None:
    """Ollama's `format` as a `response_format`: `"json"`, a JSON schema, or nothing (absent, null, `""`)."""
    if wanted is None or wanted == "":
        return None
    if wanted == "json":
        return {"type": "json_object"}
    if isinstance(wanted, dict) and wanted:
        return json_schema_format(without_nulls(wanted), "format")
    raise Malformed(field_must("format", "format"), "format")


class Held(NamedTuple):
    """What became of a wanted form: the schema to be judged, and the constraint that the engine is told, in the receipt's words."""

    schema: Asked | None = None
    constraint: str = ""


def apply_format(given: Any, out: dict[str, Any], warnings: list[str]) -> Held:
    """Write ollama's `format` into a child's request."""
    wanted = response_format_from(given)
    if wanted is None:
        return Held()
    if out.get("tools"):
        # ODD: tools win over a form for this turn: a grammar for the whole answer forbids every tool call (E9).
        warnings.append(warn_ignored("format"))
        return Held()
    schema = schema_of(wanted)
    asked = None if schema is None else Asked("format", schema)
    if "messages" in out:
        out["response_format"] = wanted
        return Held(asked, constraint_of(out))
    # ODD: a schema is simplified before anybody refused it. On this route some builds drop a schema that is no grammar
    # and answer without it (E1): what is sent must be one that they can hold.
    outcome = simplified(schema or ANY_OBJECT, lenient=False)
    out["json_schema"] = outcome.schema
    if outcome.changed:
        warnings.append(warn_rewritten("format", schema_simplified(outcome.changed)))
        return Held(asked)
    return Held(asked, "json_object" if schema is None else "json_schema")


def json_schema_format(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """A schema as a `response_format`."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def constraint_of(body: Mapping[str, Any]) -> str:
    """Which constraint a child's request sets, in the receipt's words: json_schema, json_object, gbnf, or nothing (D19)."""
    if body.get("grammar"):
        return "gbnf"
    if body.get("json_schema") is not None:
        return "json_schema"
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind == "json_object":
        return "json_object" if schema_of(wanted) is None else "json_schema"
    return kind if kind in ("json_schema", "gbnf") else ""


def wanted_schema(body: Mapping[str, Any]) -> Asked | None:
    """The schema in an OpenAI request: OpenAI's place for it, or one of llama.cpp's two (E6)."""
    if body.get("json_schema") is not None:
        return Asked("json_schema", body["json_schema"])
    wanted = body.get("response_format")
    if wanted is None:
        return None
    if not isinstance(wanted, dict):
        raise Malformed(field_must("response_format", "object"), "response_format")
    inner = wanted.get("json_schema")
    if isinstance(inner, dict) and inner.get("schema") is not None:
        return Asked("response_format.json_schema.schema", inner["schema"])
    if wanted.get("schema") is not None:
        return Asked("response_format.schema", wanted["schema"])
    if wanted.get("type") == "json_schema":
        # Sent on like this, an engine answers with any JSON at all.
        field = "response_format.json_schema.schema"
        raise Malformed(field_missing(field), field)
    return None


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
