"""What a translated request asks of a child, and the small checks that every dialect's reader shares."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.structured import Asked
from blazar.domain.wire.turn import Shape

CHAT: Final = "/v1/chat/completions"
COMPLETIONS: Final = "/v1/completions"
INFILL: Final = "/infill"
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


def want_text(body: Mapping[str, Any], field: str, shown_as: str = "") -> str:
    """A string, empty when absent or null."""
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(teaching.field_must(shown_as or field, "string"), shown_as or field)
    return value


def want_bool(body: Mapping[str, Any], field: str, *, default: bool) -> bool:
    """A boolean, `default` when absent or null."""
    value = body.get(field)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Malformed(teaching.field_must(field, "boolean"), field)
    return value


def with_stream(body: dict[str, Any], *, stream: bool) -> dict[str, Any]:
    """Add the streaming switch; a stream always asks for its counts."""
    body["stream"] = stream
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body
