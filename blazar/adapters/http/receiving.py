"""What doors for large bodies share: they stand before Quart, which reads ahead as fast as a client sends. Understands no body."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol, TypeVar

from blazar.adapters.http.asgi import App, Receive, Scope, Send
from blazar.adapters.http.routes import upload_at
from blazar.domain.errors import BlazarError

PIECE: Final = 2**20
"""Bytes gathered for one write: handing over to a thread costs as much as writing a hundred kilobytes."""

_Given = TypeVar("_Given")


class Door(Protocol):
    """Answers one request, errors included."""

    def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> Awaitable[None]: ...


def in_front(app: App, row: str, door: Door) -> App:
    """`app`, with `door` for uploads to this row of the route table."""

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand on without a frame of our own."""
        if scope["type"] == "http" and scope["method"] == "POST":
            found = upload_at("POST", scope["path"])
            if found is not None and found.key == row:
                return door(scope, receive, send)
        return app(scope, receive, send)

    return layer


def announced(headers: Mapping[bytes, bytes]) -> int:
    """Bytes that the client says it sends; 0 where it does not."""
    length = headers.get(b"content-length", b"")
    return int(length) if length.isdigit() else 0


async def before_reading(work: Callable[[], _Given], headers: Mapping[bytes, bytes], receive: Receive) -> _Given:
    """What must hold before a byte is taken, in a thread. Where it is refused, the body is read first, or the client hears a reset."""
    try:
        return await asyncio.to_thread(work)
    except BlazarError:
        if b"expect" not in headers:  # whoever waits for "100 Continue" has not begun to send
            await read_on(receive)
        raise


async def read_on(receive: Receive) -> None:
    """To the end of the body, for nothing: a client that is still sending sees a reset instead of our answer."""
    more = True
    while more:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)
