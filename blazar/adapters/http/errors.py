"""Which status an error has, which dialect a path speaks, and the bytes of a refusal (D10). Holds no sentences."""

import json
from math import ceil
from typing import Final, NamedTuple

from blazar.adapters.http.asgi import Scope, Send, answer, headers_of
from blazar.adapters.http.record import RECORD
from blazar.adapters.http.routes import ROUTES
from blazar.domain import errors
from blazar.domain.kinds import Dialect
from blazar.domain.wire.envelopes import envelope

# Looked up along the class's own order, so the nearest entry counts. A request that can never succeed is a 4xx, also
# where memory is short (DoesNotFit is not 507): the stock SDKs send every 5xx again, which here would only load twice.
STATUS: Final[dict[type[BaseException], int]] = {
    errors.Refusal: 400,
    errors.Malformed: 400,
    errors.Unserved: 400,
    errors.EngineBroken: 502,  # as the failed start that it spares
    errors.ArchitectureUnserved: 502,  # as the death of the child that it was learned from
    errors.DoesNotFit: 400,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooSlow: 408,
    errors.TooLarge: 413,
    errors.Busy: 503,
    errors.OverQuota: 429,
    errors.StoreTrouble: 500,  # our disk, not the caller's wish
    errors.NoRoom: 507,  # only pulls say so, and no client of theirs sends one again by itself
    errors.Fault: 500,
    errors.SpawnFailed: 502,
    errors.ChildDied: 502,
    errors.ChildSilent: 504,
    errors.AnswerBroken: 422,
    errors.RegistryTrouble: 502,
}

_OLLAMA_NAMES: Final = frozenset(
    [
        "blobs",
        "chat",
        "copy",
        "create",
        "delete",
        "embed",
        "embeddings",
        "generate",
        "ps",
        "pull",
        "push",
        "show",
        "tags",
        "version",
    ]
)


def _name_in(path: str) -> str:
    """What stands behind `/api/`."""
    return path[5:].partition("/")[0]


_OURS: Final = frozenset(_name_in(route.path) for route in ROUTES if route.path.startswith("/api/")) - _OLLAMA_NAMES
"""Names that ollama has no route of. Whatever nobody has is asked for by clients of newer ollamas, which read no other envelope."""
JSON: Final = (b"content-type", b"application/json")
_LATER: Final = frozenset({429, 503})
LONGEST_RETRY: Final = 60.0
"""Seconds. The stock SDKs take a longer `retry-after` for none and come back at once, unless they are told not to."""


class Problem(NamedTuple):
    """A refusal ready to be sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def status_of(error: errors.BlazarError) -> int:
    """The HTTP status of `error`."""
    if isinstance(error, errors.EngineSaid):
        # A child that calls its answer an error with a success status has broken the contract, which is our 502.
        return error.status if 400 <= error.status <= 599 else 502
    return next((STATUS[base] for base in type(error).__mro__ if base in STATUS), 500)


def dialect_of(path: str) -> Dialect:
    """Whose envelope an error on `path` wears. Quart forgives slashes before it, and clients add them to a base URL that ends in one."""
    path = "/" + path.lstrip("/")
    if path.startswith("/api/"):
        return Dialect.NATIVE if _name_in(path) in _OURS else Dialect.OLLAMA
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return Dialect.ANTHROPIC
    return Dialect.OPENAI if path.startswith("/v1/") else Dialect.NATIVE


def dialect_for(scope: Scope) -> Dialect:
    """`dialect_of` for a request: the shared model listing is Anthropic's when its client asks."""
    path: str = scope["path"]
    if path.lstrip("/").startswith("v1/models") and b"anthropic-version" in headers_of(scope):
        return Dialect.ANTHROPIC
    return dialect_of(path)


def problem(
    error: errors.BlazarError, dialect: Dialect, trace: str | None = None, *, status: int | None = None
) -> Problem:
    """`error` in `dialect`: status (of the error, unless given), headers and body."""
    status = status or status_of(error)
    field = error.field if isinstance(error, errors.Malformed | errors.EngineSaid | errors.ModelNotFound) else None
    shown = envelope(dialect, status, str(error), field, trace)
    if isinstance(error, errors.ChoiceOpen):
        shown.update(error.facts)
    headers = [JSON]
    if isinstance(error, errors.Busy | errors.OverQuota):
        headers.append((b"retry-after", str(max(1, ceil(error.retry_after))).encode()))
        if error.retry_after > LONGEST_RETRY:
            headers.append((b"x-should-retry", b"false"))
    elif isinstance(error, errors.EngineSaid) and status in _LATER:
        # A child that says "not now" without saying when is asked again soon: it answers in an instant.
        headers.append((b"retry-after", error.retry_after.encode() or b"1"))
    if isinstance(error, errors.Unauthorized):
        headers.append((b"www-authenticate", b"Bearer"))
        if dialect in (Dialect.OPENAI, Dialect.NATIVE):
            # ODD: the answer to a wrong key has no param: the specification prints that body byte by byte.
            shown["error"].pop("param", None)
    return Problem(status, headers, json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode())


async def refuse(scope: Scope, send: Send, error: errors.BlazarError) -> None:
    """Answer a request with `error`, in the dialect of its path."""
    if scope["type"] == "websocket":
        # Closing before accepting makes the server answer the handshake with 403.
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    record = scope.get(RECORD)
    if record is not None:
        record.refuse(error)
    shown = problem(error, dialect_for(scope), record.trace if record is not None else None)
    await answer(send, shown.status, shown.headers, shown.body)
