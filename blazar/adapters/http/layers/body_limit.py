"""How large a body may be (D12), by its announced length and by what really arrives, and how long it may take. URL and head are the server's.

JSON has one limit; a row of the route table that takes uploads has its own, which is looked up only beyond that.
"""

from collections.abc import Awaitable
from contextlib import suppress
from typing import NamedTuple

from blazar.adapters.http.asgi import ARRIVED, App, Message, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.layers.patience import Patience
from blazar.adapters.http.routes import upload_at
from blazar.domain import teaching
from blazar.domain.errors import Malformed, TooLarge, TooSlow

# A client that is still sending sees a reset instead of our answer when the socket is closed under it. So what is too
# much is read and dropped, up to this many times the limit of JSON more; beyond that the reset is the answer.
_DRAIN = 3


def body_limit(app: App, doors: Doors) -> App:
    """Refuse a body above the limit with 413, before or while it is read, and one that does not come with 408."""
    usual = doors.body_limit
    clock = doors.clock

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return app(scope, receive, send)
        headers = headers_of(scope)
        announced = headers.get(b"content-length")
        if announced is None:
            if b"transfer-encoding" not in headers and scope.get("http_version") in ("1.0", "1.1"):
                return app(scope, receive, send)
            bound, patience = Bound(limit_of(scope, usual), _DRAIN * usual), Patience(receive, clock)
            return _timed(_counted(app, scope, (patience, send), bound), scope, send, patience)
        if not announced.isdigit():
            return refuse(scope, send, Malformed(teaching.field_must("content-length", "bytes")))
        size = int(announced[:20]) if len(announced) <= 20 else 10**20
        if not size or (size <= usual and scope.get(ARRIVED)):
            return app(scope, receive, send)
        patience = Patience(receive, clock)
        fits = size <= usual or size <= limit_of(scope, usual)
        work = app(scope, patience, send) if fits else _too_large(scope, (patience, send), usual)
        return _timed(work, scope, send, patience)

    return layer


async def _timed(work: Awaitable[None], scope: Scope, send: Send, patience: Patience) -> None:
    """Answer for whoever lost patience in `work`. Nothing has been said then: everybody reads first."""
    try:
        await work
    except (TooSlow, ExceptionGroup):
        if not patience.lost:
            raise
        await refuse(scope, send, TooSlow(teaching.body_too_slow()))


class Bound(NamedTuple):
    """What a body may have, and how much more of it is read for nothing."""

    limit: int
    drained: int


def limit_of(scope: Scope, usual: int) -> int:
    """The limit of this request."""
    row = upload_at(scope["method"], scope["path"])
    return usual if row is None else row.upload


async def _too_large(scope: Scope, channel: tuple[Receive, Send], usual: int) -> None:
    receive, send = channel
    limit = limit_of(scope, usual)
    parts: list[Message] = []

    async def held(message: Message) -> None:
        parts.append(message)

    await refuse(scope, held, TooLarge(teaching.body_too_large(limit)))
    head, body = parts
    await send(head)
    await send({**body, "more_body": True})  # it is whole by its length: whoever listens while it sends has heard
    if b"expect" not in headers_of(scope):  # whoever waits for "100 Continue" has not begun to send
        with suppress(TooSlow):
            await _drain(receive, limit + _DRAIN * usual)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _counted(app: App, scope: Scope, channel: tuple[Receive, Send], bound: Bound) -> None:
    """A body of unknown length: count it while the app reads, and answer for the app when it has said nothing yet."""
    receive, send = channel
    limit = bound.limit
    seen = 0
    begun = False

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            if message.get("more_body", False):
                await _drain(receive, limit + bound.drained)
            raise TooLarge(teaching.body_too_large(limit))
        return message

    def watching(message: Message) -> Awaitable[None]:
        nonlocal begun
        begun = True
        return send(message)

    try:
        await app(scope, counting, watching)
    except (TooLarge, ExceptionGroup):  # from 0.23 on Quart reads the body in a task group, which wraps what it raises
        if seen <= limit:
            raise
        if not begun:
            await refuse(scope, send, TooLarge(teaching.body_too_large(limit)))


async def _drain(receive: Receive, most: int) -> None:
    dropped = 0
    while dropped <= most:
        message = await receive()
        dropped += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
