"""The plain protocol: what it takes, and that its answers are the very bytes that Hypercorn's own protocol gives."""

import asyncio
import contextlib
import re
import socket
from collections.abc import Callable

import pytest
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext

from blazar.adapters.http.asgi import ARRIVED
from blazar.adapters.http.server.connections import ClientConnection, ServerConfig
from blazar.adapters.http.server.plain import plain_head

POST = b"POST /echo?q=%201 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
GET = b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"


async def app(scope, receive, send):
    """What a path names."""
    parts, more = [], True
    if scope["path"] == "/unread":
        more = False
    while more:
        message = await receive()
        assert message["type"] == "http.request"
        parts.append(message["body"])
        more = message["more_body"]
    body = b"".join(parts)
    told = f"{scope['method']} {scope['path']} {scope['query_string']!r} {scope['http_version']} {len(body)}".encode()
    match scope["path"]:
        case "/echo" | "/unread":
            await answer(send, 200, [(b"Content-Length", str(len(told)).encode()), (b"x-a", b"1")], told)
        case "/chunks":
            await answer(send, 200, [(b"content-type", b"text/plain")], told, b"", b"two", b"\0" * 70_000)
        case "/none":
            await answer(send, 204, [])
        case "/close":
            await answer(send, 200, [(b"content-length", b"2"), (b"connection", b"close")], b"ok")
        case "/short":
            await answer(send, 200, [(b"content-length", b"9")], b"ok")
        case "/long":
            await answer(send, 200, [(b"content-length", b"1")], b"too much")
        case "/split":
            await answer(send, 200, [(b"x-bad", b"a\r\nx-worse: b")], b"ok")
        case "/crash":
            raise RuntimeError(scope["path"])
        case "/half":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})


async def answer(send, status, headers, *parts):
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def config() -> ServerConfig:
    made = ServerConfig()
    made.errorlog = None
    made.h11_max_incomplete_size = 4096
    made.keep_alive_timeout = 0.3  # so long does the stock connection stay after its client has left
    return made


@contextlib.asynccontextmanager
async def serving(*, ours: bool, of=app):
    """A server on a port of its own; yields the port."""
    context, tasks = WorkerContext(None), set()

    async def greet(reader, writer):
        tasks.add(asyncio.current_task())
        if ours:
            await ClientConnection(ASGIWrapper(of), config(), context, (reader, writer)).run()
        else:
            loop = asyncio.get_running_loop()
            await TCPServer(ASGIWrapper(of), loop, config(), context, {}, reader, writer)

    listener = socket.create_server(("127.0.0.1", 0))
    server = await asyncio.start_server(greet, sock=listener)
    try:
        yield listener.getsockname()[1]
    finally:
        await context.terminated.set()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def said(port: int, *pieces: bytes, read: Callable[[], bool] = lambda: True) -> bytes:
    """Everything a server answers to these writes, each sent when the last has been read, which `read` may tell for sure."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        for _ in range(20):  # let the server read each piece by itself
            await asyncio.sleep(0)
        async with asyncio.timeout(20):
            while not read():
                await asyncio.sleep(0)
    with contextlib.suppress(OSError):  # the server may have hung up by now
        writer.write_eof()
    got = await asyncio.wait_for(reader.read(-1), 20)
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return re.sub(rb"date: [^\r]*\r\n", b"date: now\r\n", got)


def both(*pieces: bytes) -> tuple[bytes, bytes]:
    """Our answer and the stock protocol's."""

    async def ask(*, ours: bool) -> bytes:
        async with serving(ours=ours) as port:
            return await said(port, *pieces)

    async def go() -> tuple[bytes, bytes]:
        return await ask(ours=True), await ask(ours=False)

    return asyncio.run(go())


def last(path: str, body: bytes = b"") -> bytes:
    """A request that asks for the connection's end, so that stock Hypercorn has all its say before it sees ours."""
    return b"POST %b HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


@pytest.mark.parametrize(
    "pieces",
    [
        (GET,),
        (POST,),
        (POST[:-5], POST[-5:]),
        (POST[:-2], b"lo"),
        (POST[:20], POST[20:]),
        (POST + GET,),
        (GET + POST + GET,),
        (GET, POST, GET),
        (last("/chunks", b"x" * 100_000),),
        (last("/none"),),
        (last("/close"), GET),
        (last("/short"), GET),
        (last("/crash"), GET),
        (last("/half"), GET),
        (b"HEAD /echo HTTP/1.1\r\nhost: a\r\n\r\n", GET),
        (b"OPTIONS /echo HTTP/1.1\r\nhost: a\r\n\r\n", GET),
        (b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", GET),
        (b"POST /echo HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n", b"x"),
        (b"GET /echo HTTP/1.0\r\n\r\n",),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nConnection: Keep-Alive\r\n\r\n",),
        (b"GET /echo HTTP/1.1\nhost: a\n\n",),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nx: 1\r\n 2\r\n\r\n",),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 4000 + b"\r\n\r\n",),
    ],
)
def test_answers_are_those_of_the_stock_protocol(pieces):
    """Byte for byte, whatever is asked and however it is cut: only the date may differ. What is no request: `test_odd.py`."""
    ours, stock = both(*pieces)
    assert ours == stock


@pytest.mark.parametrize("path", ["/long", "/split"])
def test_an_answer_that_would_break_its_framing_never_leaves(path):
    """More bytes than announced, and a header with a line break: refused as the stock protocol refuses them."""
    ours, stock = both(last(path))
    assert ours == stock
    assert b"x-worse" not in ours


def test_an_unread_body_ends_the_connection():
    """The rest of a body that nobody read is never taken for a request."""
    head = b"POST /unread HTTP/1.1\r\nhost: a\r\ncontent-length: 60\r\n\r\n"

    async def go() -> bytes:
        async with serving(ours=True) as port:
            return await said(port, head, GET)

    assert asyncio.run(go()).count(b"HTTP/1.1 200") == 1


def test_plain_head_says_what_stands_there():
    """Names in lower case, values without blanks around them, the length and where the body begins."""
    head = plain_head(POST, 4096)
    assert head is not None
    assert (head.method, head.target, head.length) == ("POST", b"/echo?q=%201", 5)
    assert head.headers == [(b"host", b"a"), (b"content-length", b"5")]
    assert POST[head.size :] == b"hello"


@pytest.mark.parametrize(
    "odd",
    [
        b"x\tx: 1",
        b"x: \xff",
        b"x: a\tb",
        b"transfer-encoding: chunked",
        b"upgrade: websocket",
        b"expect: 100-continue",
        b"connection: upgrade",
        b"content-length: 0x1",
        b"host: b",
        b"",
    ],
)
def test_what_is_odd_is_not_plain(odd):
    """Anything that a careless reader could take in two ways is left to the stock protocol."""
    head = b"GET / HTTP/1.1\r\nhost: a\r\n" + odd + b"\r\n\r\n"
    if odd:
        assert plain_head(head, 4096) is None
    else:
        assert plain_head(head[:-2], 4096) is not None
    assert plain_head(head, 10) is None


def test_a_long_head_that_fails_at_its_end_is_told_quickly():
    """No input makes the pattern go over it again and again."""
    line = b"x: " + b" a" * 40 + b"\r\n"
    assert plain_head(b"GET / HTTP/1.1\r\n" + line * 700 + b"\xff\r\n\r\n", 1 << 20) is None


def test_a_body_that_came_with_its_head_is_said_to_be_there():
    """And one that did not is not: somebody has to watch that it comes."""
    seen = []

    async def noting(scope, receive, send):
        seen.append(scope[ARRIVED])
        await app(scope, receive, send)

    async def go():
        async with serving(ours=True, of=noting) as port:
            await said(port, POST, POST[:-2])
            before = len(seen)
            await said(port, POST[:-2], b"lo", read=lambda: len(seen) > before)

    asyncio.run(go())
    assert seen[0] is True
    assert seen[-1] is False
