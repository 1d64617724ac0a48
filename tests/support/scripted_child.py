"""A child whose every byte the test writes: a TCP (or Unix socket) server in this event loop."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

Script = Callable[["Talk"], Awaitable[None]]


class Talk:
    """One accepted connection, as its script sees it."""

    def __init__(self, child: "ScriptedChild", number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.child, self.number = child, number
        self.reader, self.writer = reader, writer

    async def request(self) -> tuple[bytes, bytes]:
        """The next request's head and body; (b"", b"") when the peer has gone."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b"", b""
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = await self.reader.readexactly(length)
        self.child.requests.append((head, body))
        return head, body

    async def say(self, data: bytes) -> None:
        """Send these bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body: bytes, status: bytes = b"200 OK", extra: bytes = b"") -> None:
        """Send a whole JSON answer with a length."""
        head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
        await self.say(head % (status, len(body), extra) + body)

    async def start_stream(self) -> None:
        """Send the head of a chunked event stream."""
        await self.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        """Send one chunk; an empty one ends the stream."""
        await self.say(b"%x\r\n%b\r\n" % (len(data), data))

    async def gone(self) -> None:
        """Return when the peer has closed."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass
        self.child.closed.set()

    def reset(self) -> None:
        """Close with RST, as the kernel does for a killed process with unread input."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class ScriptedChild:
    """`async with ScriptedChild(script) as child`: `script(talk)` runs once per accepted connection."""

    def __init__(self, script: Script, uds: str | None = None) -> None:
        self._script, self.uds = script, uds
        self.port = 0
        self.connections = 0
        self.requests: list[tuple[bytes, bytes]] = []
        self.closed = asyncio.Event()  # set by Talk.gone
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        if self.uds is not None:
            self._server = await asyncio.start_unix_server(self._accept, self.uds)
        else:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        await asyncio.sleep(0)  # transports close themselves in the next turn
        if kind is None:
            for result in results:
                if isinstance(result, Exception):
                    raise result

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._run(Talk(self, self.connections, reader, writer)))
        self._tasks.add(task)

    async def _run(self, talk: Talk) -> None:
        try:
            await self._script(talk)
        finally:
            talk.writer.close()
