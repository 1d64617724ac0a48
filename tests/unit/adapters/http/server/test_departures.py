"""Clients that go at the worst moment. On both loops: uvloop is the one that serves, and it is stricter."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
import uvloop
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, RawData

from blazar.adapters.http.server.connections import ClientConnection, ClientReader, listen, serve_clients


class Heard:
    """The protocol's side of a connection, which only listens."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def handle(self, event: Any) -> None:
        self.events.append(event)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("data", [b"HTTP/1.1 200 \r\n\r\n", b"4\r\nbody\r\n", b""])
def test_a_write_to_a_client_that_has_just_gone_is_no_error(run: Callable[..., None], data: bytes) -> None:
    """On uvloop a write raises on a socket that is closed already, before the reader could say so: the request would end as our fault."""

    async def main() -> None:
        unheard: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        made: asyncio.Queue[ClientConnection] = asyncio.Queue()

        async def greet(reader: ClientReader, writer: asyncio.StreamWriter) -> None:
            await made.put(ClientConnection(None, Config(), WorkerContext(None), (reader, writer)))  # type: ignore[arg-type]

        listener = socket.create_server(("127.0.0.1", 0))
        async with await listen(greet, listener, 5):
            _, ours = await asyncio.open_connection(*listener.getsockname())
            connection = await made.get()
            heard = Heard()
            connection._protocol = heard  # type: ignore[assignment]
            connection.writer.transport.abort()
            for _ in range(3):
                await asyncio.sleep(0)
            connection._awaits_head = True
            await connection.protocol_send(RawData(data))
            await connection.protocol_send(RawData(data))
            for _ in range(3):
                await asyncio.sleep(0)
            assert all(isinstance(event, Closed) for event in heard.events)
            ours.close()
        assert unheard == []

    run(main())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("head", [b"POST / HTTP/1.1", b"POST / HTTP/1.0"])
@pytest.mark.parametrize("behind", [b"", b"\r\n", b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi"])
def test_a_client_that_leaves_is_noticed_whatever_it_sent_behind_its_request(
    run: Callable[..., None], head: bytes, behind: bytes
) -> None:
    """Bytes that wait for their turn must not hide that nobody waits for the answer any more (case K1)."""

    async def main() -> None:
        seen: asyncio.Queue[str] = asyncio.Queue()
        closing = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            while (await receive()).get("more_body"):
                pass
            await seen.put("asked")
            await seen.put((await receive())["type"])

        listener = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.create_task(serve_clients(app, Config(), listener, closing))
        async with asyncio.timeout(60):
            _, ours = await asyncio.open_connection(*listener.getsockname())
            ours.write(head + b"\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi" + behind)
            assert await seen.get() == "asked"
            ours.close()
            assert await seen.get() == "http.disconnect"
            closing.set()
            await serving

    run(main())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi\r\n"])
def test_a_client_that_went_before_it_was_greeted_is_no_error(run: Callable[..., None], sent: bytes) -> None:
    """Connected, perhaps asked, and reset, all before the first turn of our loop: port scanners and impatient callers do so."""

    async def main() -> None:
        unheard: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        closing, ended = asyncio.Event(), asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            ended.set()

        listener = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.create_task(serve_clients(app, Config(), listener, closing))
        async with asyncio.timeout(60):
            for linger in (False, True):
                for _ in range(20):
                    with socket.create_connection(listener.getsockname()) as ours:
                        ours.sendall(sent)
                        if linger:  # a reset instead of an orderly end
                            ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    await asyncio.sleep(0)
            if sent:
                await ended.wait()
            _, ours_too = await asyncio.open_connection(*listener.getsockname())
            ours_too.close()
            closing.set()
            await serving
        assert unheard == []

    run(main())
