"""What the server talks to from its first moment: 503 until the gateway is there, 503 again once it is stopping (D2).

Answers the ASGI lifespan itself, because the parts are started and stopped by composition and come later than the socket.
Must import nothing heavy: the time from start to listening is spent before the rest is loaded.
"""

import json
from collections.abc import Awaitable
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send, answer
from blazar.adapters.http.errors import JSON, refuse
from blazar.domain import teaching
from blazar.domain.errors import Busy

HEALTH_PATHS: Final = frozenset({"/health", "/healthz"})


class Entrance:
    """An ASGI app whose inside is exchanged: starting, then the gateway, then stopping."""

    def __init__(self) -> None:
        self._inner: App = _unavailable("starting", teaching.starting())

    def open(self, app: App) -> None:
        """The gateway is ready; every request from now on is its."""
        self._inner = app

    def close(self) -> None:
        """Refuse new requests; those under way keep what they have (D4)."""
        self._inner = _unavailable("stopping", teaching.shutting_down())

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand on without a frame of our own: this is on the hot path."""
        if scope["type"] == "lifespan":
            return _lifespan(receive, send)
        return self._inner(scope, receive, send)


def _unavailable(status: str, sentence: str) -> App:
    health = json.dumps({"status": status}, separators=(",", ":")).encode()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - the ASGI signature
        if scope["type"] == "http" and scope["path"] in HEALTH_PATHS:
            await answer(send, 503, [JSON, (b"retry-after", b"1")], health)
        else:
            await refuse(scope, send, Busy(sentence))

    return app


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
