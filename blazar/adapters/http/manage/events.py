"""GET /api/events: what happens to children, engines and the configuration, as server-sent events. Decides nothing about them.

A client that comes back says the last number it had (`Last-Event-ID`, or `after` where it cannot set headers) and gets what it
missed as far as that is known.
"""

import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quart import Blueprint, Response, request

from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.ports.telemetry import EventFeed, Told
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.stamps import rfc3339

KEEP_ALIVE_SECS: Final = 15.0
"""Between two comments while nothing happens: proxies give up after 30 to 60 s of silence."""
_COMMENT: Final = b": \n\n"
_MOST_DIGITS: Final = 15


def _verbatim() -> Callable[[str], str]:
    return str


@dataclass(frozen=True, slots=True)
class EventPages:
    """What this route listens to. `standing()` is what holds still although it was told before: who begins to listen hears it first.

    `scrub()` is what a text goes through for whoever asks for that (`scrub=true`): whoever shows it to people.
    """

    feed: EventFeed
    standing: Callable[[], Sequence[Told]] = tuple
    scrub: Callable[[], Callable[[str], str]] = _verbatim


def events_blueprint(parts: EventPages) -> Blueprint:
    """The one route."""

    async def stream() -> Response:
        after = _after(request.headers.get("last-event-id", "") or request.args.get("after", ""))
        scrub = parts.scrub() if _wishes(request.args.get("scrub", "")) else str
        scope: Any = request.scope  # Quart's type knows no keys but the specification's
        body: Any = b"" if request.method == "HEAD" else _written(parts, after, owner_of(scope), scrub)
        response = Response(body, content_type="text/event-stream")
        response.headers["cache-control"] = "no-store"
        response.headers["x-accel-buffering"] = "no"  # nginx would gather events until its buffer is full
        response.timeout = None
        return response

    return blueprint("events", {"stream": stream})


def _after(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise Malformed(teaching.field_must("after", "event"), "after")
    return int(text)


def _wishes(text: str) -> bool:
    if text not in ("", "true", "false"):
        raise Malformed(teaching.field_must("scrub", "boolean"), "scrub")
    return text == "true"


async def _written(parts: EventPages, after: int | None, key: str, scrub: Callable[[str], str]) -> AsyncIterator[bytes]:
    def written(told: Sequence[Told]) -> bytes:
        return b"".join(event_bytes(one, scrub) for one in told)

    listening = parts.feed.listen(after, key)
    # A number without an event: who is cut off before the first one knows where to go on.
    begin = b"id: %d\n\n" % listening.since if after is None and listening.since else b""
    # Who comes back has heard it, or gets it with what he missed.
    standing = parts.standing() if after is None else ()
    try:
        # The head leaves with the first bytes, and the client knows that it hears.
        yield _COMMENT + begin + written(standing)
        while (told := await listening.next(KEEP_ALIVE_SECS)) is not None:
            yield written(told) or _COMMENT
    finally:
        listening.close()


def event_bytes(told: Told, scrub: Callable[[str], str] = str) -> bytes:
    """One event. JSON without characters beyond ASCII: what a child printed may hold anything, and no line end gets through."""
    number = f"id: {told.id}\n" if told.id else ""
    data = {"at": rfc3339(told.at), "kind": told.kind, **told.facts}
    return f"{number}event: {told.kind}\ndata: {json.dumps(_plain(data, scrub), separators=(',', ':'))}\n\n".encode()


def _plain(fact: Any, scrub: Callable[[str], str]) -> Any:
    """A fact as JSON has it; what it has not becomes text, a number without end null."""
    if isinstance(fact, dict):
        return {str(name): _plain(value, scrub) for name, value in fact.items()}
    if isinstance(fact, list | tuple):
        return [_plain(value, scrub) for value in fact]
    if isinstance(fact, float):
        return fact if math.isfinite(fact) else None
    return fact if fact is None or isinstance(fact, bool | int) else scrub(str(fact))
