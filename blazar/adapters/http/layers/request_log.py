"""The outermost layer: names the request, measures it, tells the meter, and is the one boundary where anything is caught.

It starts and ends every request's record; what happens between is none of its business. No other layer logs.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Final

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import dialect_of, refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.application.ports.telemetry import Served
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Fault

log = logging.getLogger(__name__)

TRACE_HEADER: Final = b"x-blazar-trace-id"
# Only our own form is echoed: a caller's arbitrary text must not get into logs and headers.
_TRACE = re.compile(rb"plm-[0-9a-f]{1,32}-[0-9]{1,20}")
PARENT_HEADER: Final = b"traceparent"

# What tells that an answer has begun, in both kinds of scope, and the status where the message has none.
_STARTS: Final = {
    "http.response.start": 0,
    "websocket.accept": 101,
    "websocket.close": 403,
    "websocket.http.response.start": 0,
}


def request_log(app: App, doors: Doors) -> App:
    """Wrap `app` in the request boundary."""
    boot = doors.entropy.token(4)  # tells two runs of the daemon apart in one log
    numbers = count(1)
    now, wall = doors.clock.now, doors.clock.wall

    async def layer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        headers = headers_of(scope)
        asked = headers.get(TRACE_HEADER)
        trace = asked.decode() if asked and _TRACE.fullmatch(asked) else f"plm-{boot}-{next(numbers)}"
        record = scope[RECORD] = RequestRecord(trace, now())
        record.parent = headers.get(PARENT_HEADER, b"")
        watch = _Watch(send, record, now)
        try:
            await app(scope, receive, watch)
        except BlazarError as error:
            if not watch.begun:
                await refuse(scope, watch, error)
        except Exception:  # the request boundary: the traceback is the log's, the user gets the trace
            log.exception("%s %s %s failed", trace, scope.get("method", scope["type"]), scope["path"])
            if not watch.begun:
                await refuse(scope, watch, Fault(teaching.internal(trace)))
        finally:
            doors.meter.on_ended(partial(_served, scope, record, now(), wall()))

    return layer


class _Watch:
    """`send` that stamps the head and notes status and first byte.

    Not a coroutine function: it hands the server's own awaitable on, so a streamed chunk costs one call more, no frame.
    """

    __slots__ = ("begun", "now", "record", "send")

    def __init__(self, send: Send, record: RequestRecord, now: Callable[[], float]) -> None:
        self.send, self.record, self.now = send, record, now
        self.begun = False

    def __call__(self, message: Message) -> Awaitable[None]:
        record = self.record
        if self.begun:
            if not record.first_byte:
                record.first_byte = self.now()
        elif (status := _STARTS.get(message["type"])) is not None:
            self.begun = True
            record.status = message.get("status") or status
            trace = record.trace.encode()
            stamps = ((TRACE_HEADER, trace), (b"x-request-id", trace), (b"request-id", trace))
            # A new message: a constant head or header list may be shared between requests.
            message = {**message, "headers": [*message.get("headers", ()), *stamps]}
        return self.send(message)


def _served(scope: Scope, record: RequestRecord, end: float, ended: float) -> Served:
    path: str = scope["path"]
    client = scope.get("client")
    dialect = record.dialect or dialect_of(path).value
    return record.served(scope.get("method", "WEBSOCKET"), path, dialect, client[0] if client else "", end, ended=ended)
