"""What must hold of any answer to any request, and which faults are the child's. Sends nothing."""

import json
import re
from typing import Any, Final

from blazar.adapters.http.errors import dialect_of
from blazar.domain.kinds import Dialect
from blazar.domain.wire.envelopes import ANTHROPIC_TYPES
from tests.fuzz.client import Reply
from tests.fuzz.mutations import Call

EXCUSED: Final = re.compile(
    r"Failed to parse messages|too large to process"  # an engine's, whose status is handed on (D10)
    r"|was evicted while this request was running"  # 503: by another caller, at once where that one said so (D4)
    r"|cannot be reached(?: through the proxy \S+ that \w+ names)? \("  # 502 for a registry that is not there: /api/fit may name a model of one
)
"""Sentences of faults that are not ours."""

NOT_NOW: Final = re.compile(
    r"^all_slots_busy: .* had no free slot within \d+m?s"
    r"|is still being loaded after \d+m?s, which is all that x-blazar-deadline-ms allows"
)
"""503 to a caller whose own deadline (`x-blazar-deadline-ms`) has passed (D17): what it asked for, in a valid state."""

INSIDE: Final = re.compile(rb"Traceback|something went wrong inside Blazar|NoneType|object at 0x[0-9a-f]|File \"/")
"""Words of a program and not of a sentence."""


def judged(call: Call, reply: Reply) -> str:
    """What is wrong with an answer; empty where nothing is."""
    if (found := INSIDE.search(reply.body)) is not None:
        return f"the answer tells {found[0]!r}"
    if reply.status >= 400:
        return _refusal(call, reply)
    if call.method == "HEAD" or call.leave or reply.status in (204, 304):
        return ""
    return _good(reply)


def _refusal(call: Call, reply: Reply) -> str:
    late = reply.status == 503 and "x-blazar-deadline-ms" in dict(call.headers)
    if call.method == "HEAD" or call.leave:
        # Who leaves reads no sentence: of a pull it is that the registry cannot be reached.
        far = reply.status == 502 and call.target.startswith("/api/pull")
        return "" if reply.status < 500 or late or far else f"status {reply.status}"
    dialect = _dialect(call)
    try:
        message = _message(dialect, reply, strict(reply.body))
    except ValueError as error:
        return f"status {reply.status} is no JSON: {error}"
    if message is None or reply.kind != "application/json":
        return f"status {reply.status} as {reply.kind!r} is no envelope of {dialect.value}"
    if reply.status >= 500 and not (late and NOT_NOW.search(message)) and not EXCUSED.search(message):
        return f"status {reply.status}: {message}"
    return "" if " " in message.strip() else f"no sentence: {message!r}"


def _dialect(call: Call) -> Dialect:
    path = call.target.partition("?")[0]
    shared = path.lstrip("/").startswith("v1/models") and "anthropic-version" in dict(call.headers)
    return Dialect.ANTHROPIC if shared else dialect_of(path)


def _message(dialect: Dialect, reply: Reply, said: Any) -> str | None:
    """What the envelope of a dialect tells; None where it is none (D10)."""
    error = said.get("error") if isinstance(said, dict) else None
    if dialect is Dialect.OLLAMA:
        return error if isinstance(error, str) and set(said) == {"error"} else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    if dialect is Dialect.ANTHROPIC:
        right = said.get("type") == "error" and error.get("type") == ANTHROPIC_TYPES.get(reply.status, "api_error")
        return error["message"] if right and said.get("request_id") else None
    right = error.get("type") == "blazar_error" and error.get("code") == reply.status
    return error["message"] if right else None


def _good(reply: Reply) -> str:
    """Numbers that JSON lacks, and pieces of a stream that are none."""
    try:
        if reply.kind == "application/json":
            strict(reply.body)
        elif reply.kind in ("application/x-ndjson", "application/x-jsonl"):
            for line in reply.body.splitlines():
                strict(line)
        elif reply.kind == "text/event-stream":
            for line in reply.body.splitlines():
                if line.startswith(b"data:") and line != b"data: [DONE]":
                    strict(line.removeprefix(b"data:"))
    except ValueError as error:
        return f"{reply.kind} is no JSON: {error}"
    return ""


def strict(data: bytes) -> Any:
    """JSON as other languages read it."""
    return json.loads(data.decode(), parse_constant=_no_number)


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")
