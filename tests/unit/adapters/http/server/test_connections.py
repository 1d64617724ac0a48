"""Connections: the idle timer, one packet for head and body, and an orderly end."""

import asyncio
import contextlib
import socket
import ssl

import h2.connection

from blazar.adapters.http.layers.body_limit import body_limit
from blazar.adapters.http.layers.patience import SILENCE
from blazar.adapters.http.server.certificates import Certificates
from blazar.adapters.http.server.connections import IdleTimer, ServerConfig, serve_clients
from tests.fakes.clock import FakeClock
from tests.support.certificates import pair
from tests.unit.adapters.http.asgi_calls import doors

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


class Recorded:
    """A loop's clock and timers by hand, for `IdleTimer`."""

    def __init__(self):
        self.now, self.timers = 0.0, []

    def time(self):
        return self.now

    def call_at(self, when, callback):
        self.timers.append((when, callback))
        return self

    def cancel(self):
        self.timers.clear()

    def ring(self):
        when, callback = self.timers.pop()
        self.now = when
        callback()


class Spawned:
    """A task group that only notes."""

    def __init__(self):
        self.asked = []

    def spawn(self, func, *args):
        self.asked.append((func, args))


def idle_timer(seconds: float):
    """A timer on a loop by hand, and its group."""

    async def make():
        return IdleTimer(seconds, hang_up)

    timer = asyncio.run(make())
    timer._loop = loop = Recorded()
    return timer, loop, Spawned()


async def hang_up():
    """What happens to an idle connection."""


def test_the_idle_timer_is_set_once_for_many_requests():
    """A request costs no timer: the one there is looks at what happened when it rings."""
    timer, loop, group = idle_timer(10)

    async def requests():
        for _ in range(50):
            await timer.restart(group, None)
            await timer.stop()
            loop.now += 0.1
        await timer.restart(group, None)

    asyncio.run(requests())
    assert len(loop.timers) == 1
    loop.ring()
    assert group.asked == []
    loop.ring()
    assert round(loop.now, 6) == 15.0
    assert group.asked == [(hang_up, ())]


def test_the_idle_timer_leaves_a_busy_connection_alone():
    """However long an answer takes; it is armed anew when the answer has ended."""
    timer, loop, group = idle_timer(10)
    asyncio.run(timer.restart(group, None))
    asyncio.run(timer.stop())
    loop.ring()
    assert (loop.timers, group.asked, timer.idle) == ([], [], False)
    asyncio.run(timer.restart(group, None))
    assert len(loop.timers) == 1
    timer.cancel()
    assert (loop.timers, timer.idle) == ([], False)


@contextlib.asynccontextmanager
async def serving(app, tls=None, **settings):
    """`serve_clients` on a port of its own; yields the port and what ends it."""
    config = ServerConfig()
    for name, value in {"errorlog": None, "graceful_timeout": 20, **settings}.items():
        setattr(config, name, value)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    closing = asyncio.Event()
    server = asyncio.create_task(serve_clients(app, config, listener, closing, tls))
    try:
        yield listener.getsockname()[1], closing
    finally:
        closing.set()
        await asyncio.wait_for(server, 30)


async def plain(scope, receive, send):
    """A short answer, head and body in one go."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok", "more_body": False})


def test_an_idle_connection_is_closed():
    """After `keep_alive_timeout` without a request, before the first one and after it."""

    async def go():
        async with serving(plain, keep_alive_timeout=0.5) as (port, _):
            for request in (b"", GET):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                got = await asyncio.wait_for(reader.read(-1), 20)
                assert got.endswith(b"ok" if request else b"")
                writer.close()
                await writer.wait_closed()

    asyncio.run(go())


def test_a_head_without_a_body_yet_leaves_at_once():
    """A stream that begins with silence still shows its status: the head is held for one turn of the loop only."""
    go_on = asyncio.Event()

    async def slow(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"late", "more_body": False})

    async def go():
        async with serving(slow) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
            go_on.set()
            body = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 20)
            writer.close()
            await writer.wait_closed()
            return head, body

    head, body = asyncio.run(go())
    assert head.startswith(b"HTTP/1.1 200")
    assert body == b"4\r\nlate\r\n0\r\n\r\n"


def test_a_stop_closes_idle_connections_and_lets_answers_end():
    """What is under way is answered in full, then its connection closes; nobody new gets in."""

    async def go():
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def slow(scope, receive, send):
            asked.set()
            await go_on.wait()
            await plain(scope, receive, send)

        async with serving(slow) as (port, closing):
            idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            await asyncio.wait_for(asked.wait(), 20)
            closing.set()
            assert await asyncio.wait_for(idle_reader.read(-1), 20) == b""
            go_on.set()
            got = await asyncio.wait_for(reader.read(-1), 20)
            for one in (writer, idle_writer):
                one.close()
                await one.wait_closed()
            return got

    assert asyncio.run(go()).endswith(b"ok")


def test_a_stop_waits_only_so_long():
    """An answer that never ends is cut after `graceful_timeout`."""

    async def go():
        asked = asyncio.Event()

        async def never(scope, receive, send):
            asked.set()
            await asyncio.Event().wait()

        async with serving(never, graceful_timeout=0.05) as (port, closing):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            await asyncio.wait_for(asked.wait(), 20)
            closing.set()
            got = await asyncio.wait_for(reader.read(-1), 20)
            writer.close()
            await writer.wait_closed()
            return got

    assert asyncio.run(go()).startswith(b"HTTP/1.1 500")


def test_a_slow_reader_holds_the_application_back():
    """`send` waits once the buffers are full, so an answer of any size needs no memory."""
    sent = 0

    async def endless(scope, receive, send):
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            sent += 1
            await asyncio.sleep(0)  # behind a client that has gone `send` does nothing and never waits

    async def go():
        async with serving(endless, graceful_timeout=0.05) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(GET)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
            before = -1
            while before != sent:
                before = sent
                for _ in range(200):
                    await asyncio.sleep(0)
            writer.transport.abort()
            return before

    assert 0 < asyncio.run(asyncio.wait_for(go(), 60)) < 1000


def endless(left):
    """An app that answers for ever, and sets `left` when it hears that its client has gone."""

    async def app(scope, receive, send):
        async def hear():
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()

        hearing = asyncio.create_task(hear())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not left.is_set():
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)
        await hearing

    return app


def test_a_client_that_reads_nothing_is_cut_off():
    """It holds an engine's slot; the application hears that it has gone, as of any client that leaves."""

    async def go():
        left = asyncio.Event()
        async with serving(endless(left), reader_patience=0.1) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(GET)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
            await asyncio.wait_for(left.wait(), 20)
            writer.transport.abort()

    asyncio.run(go())


def test_a_client_that_reads_slowly_is_waited_for():
    """As long as it takes anything at all between two looks."""

    async def go():
        left = asyncio.Event()
        async with serving(endless(left), reader_patience=0.75, graceful_timeout=0.05) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**18)
            writer.write(GET)
            began = asyncio.get_running_loop().time()
            while asyncio.get_running_loop().time() < began + 2.5:
                await asyncio.wait_for(reader.readexactly(2**20), 20)
                await asyncio.sleep(0.02)
            assert not left.is_set()
            writer.transport.abort()

    asyncio.run(go())


def test_a_client_that_takes_nothing_over_http2_is_cut_off(tmp_path):
    """There it is not the socket that is full: its window is, which it never opens."""
    cert, key = pair(tmp_path)
    tls = Certificates(cert, key)
    trusting = ssl.create_default_context(cafile=cert)
    trusting.set_alpn_protocols(["h2"])

    async def go():
        left = asyncio.Event()
        async with serving(endless(left), tls.context, reader_patience=0.2) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
            speaking = h2.connection.H2Connection()
            speaking.initiate_connection()
            asked = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "localhost")]
            speaking.send_headers(1, asked, end_stream=True)
            writer.write(speaking.data_to_send())
            # Everything is read, and no window is ever opened again.
            got = 0
            async with asyncio.timeout(20):
                with contextlib.suppress(ConnectionError, ssl.SSLError):
                    while data := await reader.read(65536):
                        got += len(data)
                await left.wait()
            assert got >= 65535
            writer.transport.abort()

    asyncio.run(go())


def test_the_date_is_made_once_a_second(mocker):
    """And is right in every second."""
    clock = mocker.patch("blazar.adapters.http.server.connections.time.time", return_value=1000.0)
    mocker.patch("hypercorn.config.time", side_effect=lambda: clock.return_value)
    config = ServerConfig()
    config.include_server_header = False
    first = config.response_headers("h11")
    assert first == [(b"date", b"Thu, 01 Jan 1970 00:16:40 GMT")]
    assert config.response_headers("h11") is first
    clock.return_value = 1001.0
    assert config.response_headers("h11") == [(b"date", b"Thu, 01 Jan 1970 00:16:41 GMT")]


def test_a_head_that_trickles_is_no_request():
    """A connection without a whole head is idle, however busy its client is with sending one."""

    async def go():
        async with serving(plain, keep_alive_timeout=0.3) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nhost: a\r\n")

            async def trickle():
                number = 0
                while True:
                    writer.write(b"x-%d: a\r\n" % number)
                    number += 1
                    await asyncio.sleep(0.02)

            sending = asyncio.create_task(trickle())
            try:
                # A watchdog, many times as long as the figure (D27).
                with contextlib.suppress(ConnectionError):
                    await asyncio.wait_for(reader.read(), 20)
            finally:
                sending.cancel()
                with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                    await sending
                writer.close()

    asyncio.run(go())


def test_a_body_that_stops_costs_its_connection():
    """The client hears why, and then it is closed: what else it sends belongs to nothing."""

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        raise AssertionError("the body never ends")

    async def go():
        clock = FakeClock()
        async with serving(body_limit(app, doors(clock=clock))) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /api/chat HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nabc")
            async with asyncio.timeout(10):
                while not clock.pending:
                    await asyncio.sleep(0)
                while clock.pending:
                    await clock.advance(SILENCE)
                said = await reader.read()
            assert said.startswith(b"HTTP/1.1 408 ")
            assert b'{"error":"' in said
            writer.close()

    asyncio.run(go())
