"""The way in of a plain request: in order, bounded, and never waiting for an app that has gone."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from blazar.adapters.http.asgi import Message
from blazar.adapters.http.server.stream import Inbox, PlainStream

# What a stream starts with is held by `test_plain`, byte by byte against the stock protocol.
assert PlainStream


def running(work: Callable[[], Awaitable[None]]) -> None:
    """On a loop of its own."""

    async def go() -> None:
        await asyncio.wait_for(work(), 10)

    asyncio.run(go())


def piece(number: int) -> Message:
    return {"type": "http.request", "body": b"%d" % number, "more_body": True}


def test_messages_come_in_order_whoever_is_first() -> None:
    """Put before they are asked for, and asked for before they are put."""

    async def work() -> None:
        inbox = Inbox(5)
        await inbox.put(piece(1))
        await inbox.put(piece(2))
        assert [await inbox.get(), await inbox.get()] == [piece(1), piece(2)]
        waiting = asyncio.ensure_future(inbox.get())
        await asyncio.sleep(0)
        await inbox.put(piece(3))
        assert await waiting == piece(3)

    running(work)


def test_an_app_that_takes_nothing_stops_the_reading() -> None:
    """Its client's upload waits in the client: no more than the bound and one lie here."""

    async def work() -> None:
        inbox = Inbox(2)
        for number in range(2):
            await inbox.put(piece(number))
        third = asyncio.ensure_future(inbox.put(piece(2)))
        await asyncio.sleep(0)
        assert not third.done()
        assert await inbox.get() == piece(0)
        await third
        assert [await inbox.get(), await inbox.get()] == [piece(1), piece(2)]

    running(work)


def test_a_departure_waits_for_nobody() -> None:
    """The app may have ended long ago."""

    async def work() -> None:
        inbox = Inbox(1)
        await inbox.put(piece(0))
        inbox.close()
        inbox.close()
        assert [await inbox.get(), await inbox.get()] == [piece(0), {"type": "http.disconnect"}]

    running(work)


def test_a_message_is_not_lost_with_whom_it_woke() -> None:
    """A watch for departures is cancelled at an answer's end, perhaps in the turn of the loop in which something came."""

    async def work() -> None:
        inbox = Inbox(5)
        given_up = asyncio.ensure_future(inbox.get())
        await asyncio.sleep(0)
        await inbox.put(piece(1))
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert await inbox.get() == piece(1)

    running(work)


def test_two_that_wait_get_one_each() -> None:
    """Neither sleeps while there is something."""

    async def work() -> None:
        inbox = Inbox(5)
        both = [asyncio.ensure_future(inbox.get()) for _ in range(2)]
        await asyncio.sleep(0)
        await inbox.put(piece(1))
        await inbox.put(piece(2))
        assert [await one for one in both] == [piece(1), piece(2)]

    running(work)
