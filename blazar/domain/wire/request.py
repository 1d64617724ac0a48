"""What a translated request asks of a child, and the small checks that every dialect's reader shares."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.structured import Asked
from blazar.domain.wire.turn import Shape

CHAT: Final = "/v1/chat/completions"
COMPLETIONS: Final = "/v1/completions"
INFILL: Final = "/infill"
ENDLESS: Final = 2**31 - 1
"""Tokens of an answer without a bound: llama.cpp takes -1 for the bound that it was started with, if there is one."""
PROGRESS: Final = "return_progress"
"""Asks a stream to begin with the prompt's size; a server that does not know it passes over it."""
_UNSHOWN = re.compile(r"[^A-Za-z0-9_.\[\]-]")


class ChildRequest(NamedTuple):
    """A request in the child's words, and what the gateway itself must know of it.

    `warnings` are values of `x-blazar-warning` (D11). `keep_alive` is as it came (None: not given). `num_ctx` is the
    window that the caller named. `load_only`: nothing to answer, the model is to be loaded (or, when `keep_alive` means
    zero, unloaded). `schema` is what the answer shall look like, `constraint` what the engine is told to hold it to (D19).
    """

    path: str
    body: dict[str, Any]
    stream: bool
    warnings: tuple[str, ...] = ()
    thinking: bool = True
    keep_alive: Any = None
    num_ctx: int | None = None
    load_only: bool = False
    shape: Shape = Shape.CHAT
    schema: Asked | None = None
    constraint: str = ""


def shown(field: str) -> str:
    """A field's name, fit for a header: it is the caller's text and must not end a header line."""
    return _UNSHOWN.sub("?", field[:60])


def ignored(field: str) -> str:
    """The warning for a field that has no effect."""
    return teaching.warn_ignored(shown(field))


def want_list(body: Mapping[str, Any], field: str) -> list[Any]:
    """A list, empty when absent or null."""
    value = body.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(teaching.field_must(field, "list"), field)
    return value


def want_object(value: Any, field: str) -> dict[str, Any]:
    """An object; absent and null are an error too."""
    if not isinstance(value, dict):
        raise Malformed(teaching.field_must(field, "object"), field)
    return value


def opt_object(body: Mapping[str, Any], field: str, shown_as: str = "") -> dict[str, Any]:
    """An object, empty when absent or null, or `[]`, as PHP writes `{}`. `false` is a mistake that its caller should hear of."""
    value = body.get(field)
    return {} if value is None or value == [] else want_object(value, shown_as or field)


def want_text(body: Mapping[str, Any], field: str, shown_as: str = "") -> str:
    """A string, empty when absent or null."""
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(teaching.field_must(shown_as or field, "string"), shown_as or field)
    return value


def want_bool(body: Mapping[str, Any], field: str, shown_as: str = "", *, default: bool) -> bool:
    """A boolean, `default` when absent or null."""
    value = body.get(field)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Malformed(teaching.field_must(shown_as or field, "boolean"), shown_as or field)
    return value


def numbers(body: Mapping[str, Any], fields: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Those of `fields` that are given, each a number: an engine takes `true` for 1."""
    for field in fields:
        value = body.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise Malformed(teaching.field_must(field, "number"), field)
        if value is not None:
            yield field, value


def with_stream(body: dict[str, Any], *, stream: bool) -> dict[str, Any]:
    """Add the streaming switch; a stream always asks for its counts."""
    body["stream"] = stream
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body
