"""Errors as each dialect's clients parse them, and the sentence inside a child's error (D10). One message everywhere."""

import json
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.kinds import Dialect

ANTHROPIC_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
LONGEST_CHILD_TEXT: Final = 2000
"""A child's error is a sentence; an HTML page or a stack trace is cut here."""


def envelope(
    dialect: Dialect, status: int, message: str, field: str | None = None, request_id: str | None = None
) -> dict[str, Any]:
    """The body of an error answer."""
    if dialect is Dialect.OLLAMA:
        return {"error": message}
    if dialect is Dialect.ANTHROPIC:
        kind = ANTHROPIC_TYPES.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    return {"error": {"message": message, "type": "blazar_error", "param": field, "code": status}}


def child_message(body: bytes, model: str) -> str:
    """What a child said went wrong, out of any of the shapes that engines use."""
    text = body.decode("utf-8", "replace").strip()
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return text[:LONGEST_CHILD_TEXT] or teaching.child_gave_no_reason(model)
    for key in ("error", "message", "detail"):
        if isinstance(said, dict) and said.get(key):
            said = said[key]
    if isinstance(said, str) and said:
        return said[:LONGEST_CHILD_TEXT]
    return text[:LONGEST_CHILD_TEXT] if said else teaching.child_gave_no_reason(model)
