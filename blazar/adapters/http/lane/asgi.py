"""The lane's ASGI door: takes the hot paths before the web framework builds a request, and carries replies by `send`.

Decides how bytes leave (a stream's pieces at once, or joined behind a client that is slow), when a client is slow, and when it has gone. Knows nothing of
what is said.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send, headers_of
from blazar.adapters.http.lane.begun import Begun
from blazar.adapters.http.lane.core import Lane
from blazar.adapters.http.lane.reply import LaneRequest, Reply
from blazar.adapters.http.lane.rows import HOT_PATHS
from blazar.adapters.http.layers.authenticate import KEY_MODELS
from blazar.adapters.http.record import record_of
from blazar.application.ports.upstream import Headers

HIGH_WATER: Final = 256 * 1024
"""Bytes that wait for a slow client before reading from its child stops. With the server's own 64 KiB: what a stream may hold."""


class Hot:
    """`app`, with the lane in front of it."""

    def __init__(self, app: App, lane: Lane) -> None:
        self._app, self._lane = app, lane

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand on without a frame of our own."""
        if scope["type"] == "http" and scope["path"] in HOT_PATHS and scope["method"] == "POST":
            return self._serve(scope, receive, send)
        return self._app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            return
        record = record_of(scope)
        query, models = scope.get("query_string", b""), scope.get(KEY_MODELS)
        request = LaneRequest("POST", scope["path"], query, headers_of(scope), body, record, models)
        reply = AsgiReply(send)
        loop = asyncio.get_running_loop()
        # Begun behind the request's way to its child, which a first token waits for: nothing would be heard before that either.
        begin = loop.call_soon(reply.watch, receive)
        try:
            await self._lane.serve(request, reply)
            await reply.drain()
        finally:
            reply.over = True
            begin.cancel()
            # Not at once: the server has just woken it, and what is cancelled first is searched for in the server's queue.
            loop.call_soon(reply.unwatch)


async def _body(receive: Receive) -> bytes | None:
    """The whole body; its size is bounded by a layer outside. None when the client left meanwhile."""
    message = await receive()
    if message["type"] != "http.request":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body
    parts = [body]
    while message.get("more_body", False):
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
    return b"".join(parts)


class AsgiReply(Reply):
    """Pushed into by the event loop, emptied by the request's own task: no task per answer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._held = False
        self._finished = False
        self._closed = False  # the last message has been sent
        self._released = False
        self._wake: asyncio.Future[None] | None = None
        self._rest: Begun | None = None  # of a piece that was pushed, and that the client was too slow for
        self._watch: asyncio.Future[Message] | None = None
        self.gone = False
        self.over = False
        self.on_gone: Callable[[], None] | None = None
        self.on_pause: Callable[[], None] | None = None
        self.on_resume: Callable[[], None] | None = None

    def start(self, status: int, headers: Headers) -> None:
        self._head = {"type": "http.response.start", "status": status, "headers": headers}

    def write(self, data: bytes) -> None:
        if self._takes(data):
            self._rouse()

    def push(self, data: bytes) -> None:
        wake = self._wake
        if wake is None or wake.done():  # the request's own task is at it
            self._takes(data)
        elif self._takes(data):
            sending = self.drain()
            try:
                self._rest = Begun(sending, sending.send(None))
            except StopIteration:
                return
            wake.set_result(None)

    def _takes(self, data: bytes) -> bool:
        if self.gone or not data:
            return False
        self._parts.append(data)
        self._size += len(data)
        if self._size > HIGH_WATER and not self._held and self.on_pause is not None:
            self._held = True
            self.on_pause()
        return True

    def finish(self) -> None:
        self._finished = True
        self._rouse()

    def abort(self) -> None:
        # ASGI has no word for this: an application that returns without its last message makes the server close.
        self._closed = True
        self._parts.clear()
        self._rouse()

    def release(self) -> None:
        self._released = True
        self._rouse()

    async def carry(self) -> None:
        while True:
            if (rest := self._rest) is not None:
                self._rest = None
                await rest
            await self.drain()
            # `drain` may have slept: look again before sleeping.
            if self._parts and not self.gone:
                continue
            if self._released or self.gone:
                self._released = False
                return
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            except asyncio.CancelledError:
                if self._rest is not None:
                    self._rest.close()
                raise
            finally:
                self._wake = None

    async def drain(self) -> None:
        """Send what is there. After a disconnect `send` is a silent no-op that may not even yield: never loop on it."""
        while (self._parts or self._finished) and not self._closed and not self.gone:
            if self._head is not None:
                head, self._head = self._head, None
                await self._send(head)
                continue
            parts, self._parts, self._size = self._parts, [], 0
            last = self._finished
            self._closed = last
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            await self._send({"type": "http.response.body", "body": body, "more_body": not last})
            self._let_go()

    def watch(self, receive: Receive) -> None:
        """Look out for a disconnect, which is seen only through a pending receive()."""
        self._watch = asyncio.ensure_future(receive())
        self._watch.add_done_callback(self.on_message)

    def unwatch(self) -> None:
        """The request is over."""
        if self._watch is not None:
            self._watch.cancel()

    def on_message(self, watch: "asyncio.Future[Message]") -> None:
        """The pending receive() ended: the client has gone, unless the answer was over (ASGI then says the same)."""
        if watch.cancelled() or watch.exception() is not None or self.over or self._closed:
            return
        self.gone = True
        self._parts.clear()
        if self.on_gone is not None:
            self.on_gone()
        self._rouse()

    def _let_go(self) -> None:
        if self._held and self._size <= HIGH_WATER // 4:
            self._held = False
            if self.on_resume is not None:
                self.on_resume()

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
