"""HTTP/2 with bounds."""

import asyncio
import contextlib
from typing import Any

import h2.connection
import h2.events
import h2.settings
import hypercorn.protocol
import pytest
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BUFFER_LOW_WATER, BufferCompleteError

from blazar.adapters.http.server.http2 import BoundedBuffer, BoundedH2, use_bounds
from tests.unit.adapters.http.server.test_connections import serving


def test_a_full_buffer_holds_the_application_until_little_is_left() -> None:
    """Taking nothing, or a little, out of it opens no gate (the stock one does)."""

    async def go() -> None:
        buffer = BoundedBuffer(EventWrapper)
        await buffer.push(b"x" * (BUFFER_HIGH_WATER - 1))
        pushing = asyncio.ensure_future(buffer.push(b"y" * BUFFER_HIGH_WATER))
        for size in (0, 1, 0):
            assert len(await buffer.pop(size)) == size
            await asyncio.sleep(0)
            assert not pushing.done()
        await buffer.pop(len(buffer.buffer) - int(BUFFER_LOW_WATER))
        await asyncio.sleep(0)
        assert not pushing.done()
        assert await buffer.pop(1) == b"y"
        await asyncio.wait_for(pushing, 10)
        # And the next one is held again, at once.
        again = asyncio.ensure_future(buffer.push(b"z" * BUFFER_HIGH_WATER))
        await asyncio.sleep(0)
        assert not again.done()
        await buffer.close()
        await asyncio.wait_for(again, 10)
        with pytest.raises(BufferCompleteError):
            await buffer.push(b"more")

    asyncio.run(go())


def test_an_empty_buffer_is_drained() -> None:
    """Whoever waits for the end is told."""

    async def go() -> None:
        buffer = BoundedBuffer(EventWrapper)
        await buffer.push(b"ab")
        draining = asyncio.ensure_future(buffer.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        assert await buffer.pop(100) == b"ab"
        await asyncio.wait_for(draining, 10)
        buffer.set_complete()
        assert buffer.complete

    asyncio.run(go())


def test_it_is_in_the_place_of_the_stock_one() -> None:
    """However a connection came to speak HTTP/2."""
    use_bounds()
    assert vars(hypercorn.protocol)["H2Protocol"] is BoundedH2


def test_odd_a_client_that_opens_no_window_gathers_no_memory() -> None:
    """Also without TLS, where nothing was agreed on before: the application is held back, and told when the client goes."""
    sent: list[int] = []
    left = asyncio.Event()

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        while not left.is_set():
            await send({"type": "http.response.body", "body": b"x" * 16384, "more_body": True})  # type: ignore[operator]
            sent.append(1)
            await asyncio.sleep(0)

    async def go() -> None:
        async with serving(app, graceful_timeout=0.05) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            speaking = h2.connection.H2Connection()
            speaking.initiate_connection()
            asked = [(":method", "GET"), (":path", "/"), (":scheme", "http"), (":authority", "localhost")]
            speaking.send_headers(1, asked, end_stream=True)
            writer.write(speaking.data_to_send())
            got = 0
            async with asyncio.timeout(20):
                while got < 65535:
                    for event in speaking.receive_data(await reader.read(65536)):
                        got += len(event.data) if isinstance(event, h2.events.DataReceived) else 0
                for _ in range(2000):
                    await asyncio.sleep(0)
            assert len(sent) * 16384 <= 65535 + 2 * BUFFER_HIGH_WATER
            left.set()
            writer.transport.abort()

    asyncio.run(go())


class Speaker:
    """A client that decides about every window."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, window: int = 65535) -> None:
        self.reader, self.writer = reader, writer
        self.h2 = h2.connection.H2Connection()
        codes = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        self.h2.local_settings = h2.settings.Settings(client=True, initial_values=codes)
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    def ask(self, stream: int, path: str = "/", method: str = "GET") -> None:
        asked = [(":method", method), (":path", path), (":scheme", "http"), (":authority", "localhost")]
        self.h2.send_headers(stream, asked, end_stream=True)
        self.flush()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()

    async def hear(self) -> list[h2.events.Event]:
        """What comes next; empty at the end of the connection."""
        data = await asyncio.wait_for(self.reader.read(65536), 20)
        heard = self.h2.receive_data(data) if data else []
        self.flush()
        return heard


async def short(scope: Any, receive: Any, send: Any) -> None:
    """Two bytes."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok", "more_body": False})


def test_a_client_without_a_window_is_given_up_for_the_smallest_answer() -> None:
    """It holds what the application holds, and for no longer than one that does not read over HTTP/1.1."""
    done: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await short(scope, receive, send)
        done.append(True)

    async def go() -> None:
        async with serving(app, reader_patience=0.2, graceful_timeout=0.05) as (port, _):
            client = Speaker(*await asyncio.open_connection("127.0.0.1", port), window=0)
            client.ask(1)
            while await client.hear():
                assert not done
            async with asyncio.timeout(20):
                while not done:
                    await asyncio.sleep(0)
            await client.close()

    asyncio.run(go())


def test_a_client_that_takes_little_over_http2_is_waited_for() -> None:
    """As long as it takes anything at all between two looks: an answer may take many times the patience."""
    said = b"slowly"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": said, "more_body": False})

    async def go() -> bytes:
        got = b""
        async with serving(app, reader_patience=1.2) as (port, _):
            client = Speaker(*await asyncio.open_connection("127.0.0.1", port), window=0)
            client.ask(1)
            while len(got) < len(said):
                heard = await client.hear()
                taken = b"".join(event.data for event in heard if isinstance(event, h2.events.DataReceived))
                got += taken
                if len(got) < len(said) and (
                    taken or any(isinstance(event, h2.events.ResponseReceived) for event in heard)
                ):
                    await asyncio.sleep(0.3)
                    client.h2.increment_flow_control_window(1, stream_id=1)
                    client.flush()
            await client.close()
        return got

    assert asyncio.run(go()) == said


def test_a_connection_whose_last_stream_was_reset_is_idle() -> None:
    """Or it would stay for ever: of a reset the stock protocol tells the idle timer nothing."""

    async def never(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def go() -> None:
        async with serving(never, keep_alive_timeout=0.5) as (port, _):
            client = Speaker(*await asyncio.open_connection("127.0.0.1", port))
            client.ask(1)
            await client.hear()
            client.h2.reset_stream(1)
            client.flush()
            async with asyncio.timeout(20):
                while await client.hear():
                    pass
            await client.close()

    asyncio.run(go())


@pytest.mark.parametrize(("method", "path"), [("GET", "x:/y"), ("get", "/y"), ("CONNECT", "/y"), ("GET", "*")])
@pytest.mark.parametrize("window", [65535, 10])
def test_what_is_no_request_never_reaches_the_application(method: str, path: str, window: int) -> None:
    """A sentence where there is room for one, and the end of its stream in any case; the next stream is served."""
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])
        await short(scope, receive, send)

    async def go() -> bytes:
        body = b""
        async with serving(app) as (port, _):
            client = Speaker(*await asyncio.open_connection("127.0.0.1", port), window=window)
            client.h2.config.validate_outbound_headers = False
            if method == "CONNECT":
                asked = [(":method", method), (":authority", "localhost")]
                client.h2.send_headers(1, asked, end_stream=True)
                client.flush()
            else:
                client.ask(1, path, method)
            ended = False
            while not ended:
                for event in await client.hear():
                    body += event.data if isinstance(event, h2.events.DataReceived) else b""
                    ended = ended or isinstance(event, h2.events.StreamEnded | h2.events.StreamReset)
            client.ask(3, "/next")
            while "/next" not in seen:
                assert await client.hear()
            await client.close()
        return body

    said = asyncio.run(go())
    assert seen == ["/next"]
    assert (b"error" in said) is (window > 1000)


def test_a_whole_url_over_http2_names_its_host() -> None:
    """As over HTTP/1.1."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)
        await short(scope, receive, send)

    async def go() -> None:
        async with serving(app) as (port, _):
            client = Speaker(*await asyncio.open_connection("127.0.0.1", port))
            client.ask(1, "http://other/api/config?x")
            while not seen:
                await client.hear()
            await client.close()

    asyncio.run(go())
    assert (seen[0]["path"], seen[0]["query_string"]) == ("/api/config", b"x")
    assert dict(seen[0]["headers"])[b"host"] == b"other"
