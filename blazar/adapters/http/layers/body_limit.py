"""How large a JSON body may be (D12), by its announced length and by what really arrives. URL and header sizes are the server's."""

from collections.abc import Awaitable

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.domain import teaching
from blazar.domain.errors import Malformed, TooLarge

# A client that is still sending sees a reset instead of our answer when the socket is closed under it. So what is too
# much is read and dropped, up to this many times the limit; beyond that the reset is the answer.
_DRAIN = 4


def body_limit(app: App, doors: Doors) -> App:
    """Refuse a body above the limit with 413, before or while it is read."""
    limit = doors.body_limit

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return app(scope, receive, send)
        headers = headers_of(scope)
        announced = headers.get(b"content-length")
        if announced is None:
            if b"transfer-encoding" in headers or scope.get("http_version") not in ("1.0", "1.1"):
                return _counted(app, scope, (receive, send), limit)
            return app(scope, receive, send)
        if not announced.isdigit():
            return refuse(scope, send, Malformed(teaching.field_must("content-length", "bytes")))
        if int(announced[:20]) <= limit and len(announced) <= 20:
            return app(scope, receive, send)
        return _too_large(scope, (receive, send), limit)

    return layer


async def _too_large(scope: Scope, channel: tuple[Receive, Send], limit: int) -> None:
    receive, send = channel
    if b"expect" not in headers_of(scope):  # whoever waits for "100 Continue" has not begun to send
        await _drain(receive, _DRAIN * limit)
    await refuse(scope, send, TooLarge(teaching.body_too_large(limit)))


async def _counted(app: App, scope: Scope, channel: tuple[Receive, Send], limit: int) -> None:
    """A body of unknown length: count it while the app reads, and answer for the app when it has said nothing yet."""
    receive, send = channel
    seen = 0
    begun = False

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            if message.get("more_body", False):
                await _drain(receive, _DRAIN * limit)
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
