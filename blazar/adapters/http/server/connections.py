"""Hypercorn on a socket of ours: its protocols, with cheaper connections.

Stock Hypercorn starts and cancels two tasks per request only to notice idle clients, and sends an answer's head in a packet of its own.
Without both a request costs a quarter less CPU. Decides nothing about HTTP, which stays Hypercorn's.
"""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.typing import AppWrapper, ASGIFramework

from blazar.adapters.http.server.http2 import READER_SECONDS, use_bounds
from blazar.adapters.http.server.plain import PlainProtocol

if TYPE_CHECKING:
    import ssl

    from hypercorn.asyncio.task_group import TaskGroup

_NOTHING: Final = RawData(b"")
HANDSHAKE_SECONDS: Final = 10.0
"""Nobody is greeted before that is done: a client that never ends it must not hold a connection."""
GOODBYE_SECONDS: Final = 2.0
"""For the client's word that it has seen ours."""


class ClientReader(asyncio.StreamReader):
    """Tells of a client's leaving when it happens, not when the bytes before it have been read; offers what comes before it is kept."""

    on_eof: Callable[[], None] | None = None
    on_data: Callable[[bytes], bool] | None = None
    """Whether somebody took it, so that nobody need be woken to read it."""
    _unread = 0

    def feed_data(self, data: Any) -> None:
        """From the socket."""
        if self._unread or self.on_data is None or not self.on_data(data):
            self._unread += len(data)
            super().feed_data(data)

    async def read(self, n: int = -1) -> bytes:
        """What has come and was not taken."""
        data = await super().read(n)
        self._unread -= len(data)
        return data

    def feed_eof(self) -> None:
        """From the socket."""
        super().feed_eof()
        on_eof, self.on_eof = self.on_eof, None  # it comes again with the end of the connection
        if on_eof is not None:
            on_eof()


Streams = tuple[ClientReader, asyncio.StreamWriter]


_LITTLE: Final = 16 * 1024
"""Bytes below which a transport takes more without waiting."""


class ServerConfig(Config):
    """Hypercorn's configuration; the headers of its own, among them the date, are made once a second and not per answer."""

    reader_patience: float = READER_SECONDS
    _made: tuple[str, int, list[tuple[bytes, bytes]]] = ("", 0, [])

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:
        """Of every answer."""
        second = int(time.time())
        if self._made[:2] != (protocol, second):
            self._made = (protocol, second, super().response_headers(protocol))
        return self._made[2]


async def serve_clients(
    app: ASGIFramework,
    config: Config,
    listener: socket.socket,
    closing: asyncio.Event,
    tls: "ssl.SSLContext | None" = None,
) -> None:
    """Until `closing`; then idle connections close, and the others have `graceful_timeout` seconds for their answers.

    With `tls`, HTTPS is spoken, and HTTP/2 with who wants that.
    """
    use_bounds()
    wrapped, context = ASGIWrapper(app), WorkerContext(None)
    open_now: dict[asyncio.Task[None], ClientConnection] = {}

    async def greet(reader: ClientReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now[task] = connection = ClientConnection(wrapped, config, context, (reader, writer))
        try:
            await connection.run()
        except asyncio.CancelledError:
            pass  # cut off by `_end`; streams of Python 3.11 would log it as an error
        finally:
            del open_now[task]

    server = await listen(greet, listener, config.backlog, tls)
    try:
        await closing.wait()
    finally:
        # From here on Hypercorn closes each connection behind the answer that it is giving.
        await context.terminated.set()
        server.close()
        for connection in list(open_now.values()):
            await connection.leave()
        await _end(list(open_now), config.graceful_timeout)
        await server.wait_closed()


async def listen(
    greet: Callable[[Any, asyncio.StreamWriter], Awaitable[None]],
    listener: socket.socket,
    backlog: int,
    tls: "ssl.SSLContext | None" = None,
) -> asyncio.Server:
    """`asyncio.start_server`, with readers of ours."""
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(ClientReader(loop=loop), greet, loop=loop)

    limits: dict[str, Any] = {}
    if tls is not None:
        limits = {"ssl": tls, "ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": GOODBYE_SECONDS}
    return await loop.create_server(protocol, sock=listener, backlog=backlog, **limits)


async def _end(tasks: list["asyncio.Task[None]"], within: float) -> None:
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=within)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class IdleTimer:
    """In the place of Hypercorn's idle task (its `SingleTask`): armed once, looked at when it rings."""

    def __init__(self, seconds: float, on_idle: Callable[[], Awaitable[None]]) -> None:
        self._seconds, self._on_idle = seconds, on_idle
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: TaskGroup | None = None
        self._due = 0.0
        self.idle = False

    async def restart(self, task_group: Any, action: Callable[..., Any]) -> None:  # noqa: ARG002 - ours replaces the action
        """Nobody asks anything from now on."""
        self._tasks, self.idle = task_group, True
        self._due = self._loop.time() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)

    async def stop(self) -> None:
        """A request came. The timer goes on: setting one for each request is what this class is there to avoid."""
        self.idle = False

    def cancel(self) -> None:
        """The connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self.idle = None, False

    def _ring(self) -> None:
        self._timer = None
        if not self.idle:
            return
        if self._due > self._loop.time():
            self._timer = self._loop.call_at(self._due, self._ring)
        elif self._tasks is not None:
            self._tasks.spawn(self._on_idle)


class ClientConnection(TCPServer):
    """A stock connection but for its idle timer, and that a head leaves with the bytes that follow it at once."""

    def __init__(self, app: AppWrapper, config: Config, context: WorkerContext, streams: Streams) -> None:
        super().__init__(app, asyncio.get_running_loop(), config, context, {}, *streams)
        self._idle_timer = IdleTimer(config.keep_alive_timeout, self._hang_up)
        self.idle_task = self._idle_timer  # type: ignore[assignment] # all that is asked of it is `SingleTask`
        self._awaits_head = False
        self._head = b""
        self._departure: asyncio.Task[None] | None = None
        self._asked = self._left = False  # there is a request; its client has gone
        self._patience = getattr(config, "reader_patience", READER_SECONDS)
        self._reader = streams[0]
        self._reader.on_eof = self._on_eof

    def _begun(self) -> None:
        """A request has come."""
        self._send_head()
        self._awaits_head = self._asked = True
        self._idle_timer.idle = False
        self._depart()

    @property  # type: ignore[override] # the stock class assigns a `ProtocolWrapper` and calls two methods of it
    def protocol(self) -> PlainProtocol:
        """Whom the stock class tells what it reads."""
        return self._protocol

    @protocol.setter
    def protocol(self, stock: ProtocolWrapper) -> None:
        self._protocol = PlainProtocol(stock, self._begun)
        self._reader.on_data = self._protocol.take

    async def run(self) -> None:
        """Carry requests until either side has enough."""
        try:
            await super().run()
        finally:
            self._reader.on_eof = self._reader.on_data = None
            self._idle_timer.cancel()
            if self._departure is not None:
                await self._departure

    async def leave(self) -> None:
        """The server stops: go unless there is an answer to give."""
        if self._idle_timer.idle:
            await self._hang_up()

    async def protocol_send(self, event: Event) -> None:
        """From the protocol to the socket."""
        if isinstance(event, RawData):
            data = event.data
            if self._awaits_head and data.startswith(b"HTTP/1.1 ") and data[9:10] != b"1":
                # The body's first bytes mostly follow without a pause; if not, the head leaves in the next turn of the loop.
                self._awaits_head, self._head = False, data
                self.loop.call_soon(self._send_head)
                return
            if not self._writes(data):
                await self._room()
        else:
            self._send_head()
            if isinstance(event, Updated):
                self._awaits_head = self._asked = not event.idle
            await super().protocol_send(event)
            self._depart()

    async def _room(self) -> None:
        """Wait until the client has taken some of what there is for it."""
        if self.writer.transport.get_write_buffer_size() < _LITTLE:
            return await super().protocol_send(_NOTHING)
        with self._taking():
            return await super().protocol_send(_NOTHING)

    async def _close(self) -> None:
        """What has been said still leaves, as long as the client takes it."""
        if not self.writer.transport.get_write_buffer_size():
            return await super()._close()
        with self._taking():
            return await super()._close()

    @contextmanager
    def _taking(self) -> Iterator[None]:
        """Wait no longer than the client takes anything at all."""
        transport, patience = self.writer.transport, self._patience
        timer: list[asyncio.TimerHandle] = []

        def look(before: int) -> None:
            left = transport.get_write_buffer_size()
            if left < before:
                timer[:] = [self.loop.call_later(patience, look, left)]
            else:
                transport.abort()

        timer[:] = [self.loop.call_later(patience, look, transport.get_write_buffer_size())]
        try:
            yield
        finally:
            timer[0].cancel()

    def _writes(self, data: bytes) -> bool:
        """Write, the held head first; whether all of it has left, so that there is nothing to wait for."""
        if self._head:
            data, self._head = self._head + data, b""
        transport = self.writer.transport
        if transport.is_closing():  # the client has gone; uvloop raises on a write to a socket that is closed already
            return False
        if data:  # nothing: the end of a body whose length was announced
            self.writer.write(data)
        return transport.get_write_buffer_size() == 0 and not transport.is_closing()

    def _send_head(self) -> None:
        if self._head:
            self._writes(b"")

    def _on_eof(self) -> None:
        """Perhaps before there is a protocol to tell, or a request to give up."""
        self._left = True
        self._depart()

    def _depart(self) -> None:
        """Bytes behind a request wait until it is answered, and nothing is read meanwhile: its client may be long gone (case K1)."""
        if self._left and self._asked and self._departure is None:
            # A task of its own: the group takes none once the connection is being cut, and its end tells of an eof too.
            self._departure = self.loop.create_task(self.protocol.handle(Closed()))

    async def _hang_up(self) -> None:
        await super()._initiate_server_close()
