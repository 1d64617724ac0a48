"""The few ASGI words that layers, entrance and error answers share. Knows no web framework and no policy."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
HeaderPairs = Iterable[tuple[bytes, bytes]]

HEADERS: Final = "blazar.headers"
"""Where `headers_of` keeps its dict in the scope."""

ARRIVED: Final = "blazar.arrived"
"""In the scope where the whole body lies in our memory already: its client can be neither slow nor say more than it announced."""


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """The request's headers by lower-case name, scanned once per request. Of a repeated name the last counts."""
    headers: dict[bytes, bytes] | None = scope.get(HEADERS)
    if headers is None:
        headers = scope[HEADERS] = dict(scope["headers"])
    return headers


async def answer(send: Send, status: int, headers: HeaderPairs, body: bytes) -> None:
    """One whole response."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
