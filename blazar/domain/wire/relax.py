"""A request whose schemas the engine refused, made acceptable: first every schema as a grammar can hold it, then the tools' opened.

What the answer must look like is never given up: if its own schema is refused twice, the caller gets the refusal (E1).
"""

from collections.abc import Iterator
from typing import Any

from blazar.domain import teaching
from blazar.domain.wire.request import shown
from blazar.domain.wire.schema import simplified


class Relaxing:
    """The two further attempts at one request. `format_field` is what the caller's dialect calls the wanted form."""

    def __init__(self, format_field: str) -> None:
        self._format_field = format_field
        self._attempts = 0
        self.eased = False
        """The wanted form itself is not enforced as it was written."""

    def next(self, body: dict[str, Any]) -> tuple[str, ...]:
        """Change the child's `body` in place; the warnings for it, none when there is nothing left to try."""
        self._attempts += 1
        if self._attempts == 1:
            warnings = self._simplify(body)
            if warnings:
                return warnings
            self._attempts += 1
        return _open_tools(body) if self._attempts == 2 else ()

    def _simplify(self, body: dict[str, Any]) -> tuple[str, ...]:
        warnings = []
        for holder, key, field in schemas_in(body, self._format_field):
            outcome = simplified(holder[key], lenient=field != self._format_field)
            if outcome.changed:
                holder[key] = outcome.schema
                self.eased = self.eased or field == self._format_field
                warnings.append(teaching.warn_rewritten(shown(field), teaching.schema_simplified(outcome.changed)))
        return tuple(warnings)


def schemas_in(body: dict[str, Any], format_field: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Where schemas lie in a child's request: the object that holds one, under which key, and its field."""
    for function in _functions(body):
        if isinstance(function.get("parameters"), dict):
            yield function, "parameters", f"tools.{function.get('name')}"
    wanted = body.get("response_format")
    if isinstance(wanted, dict):
        inner = wanted.get("json_schema")
        holder = inner if isinstance(inner, dict) else wanted
        if isinstance(holder.get("schema"), dict):
            yield holder, "schema", format_field
    if isinstance(body.get("json_schema"), dict):
        yield body, "json_schema", format_field


def _open_tools(body: dict[str, Any]) -> tuple[str, ...]:
    warnings = []
    for function in _functions(body):
        if function.get("parameters") not in (None, {"type": "object"}):
            function["parameters"] = {"type": "object"}
            field = shown(f"tools.{function.get('name')}")
            warnings.append(teaching.warn_rewritten(field, teaching.schema_not_enforced()))
    return tuple(warnings)


def _functions(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict):
            yield function
