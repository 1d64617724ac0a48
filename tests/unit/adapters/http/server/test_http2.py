"""HTTP/2 with bounds."""

import asyncio

import h2.connection
import h2.events
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
