"""How long a body may take."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send
from blazar.adapters.http.layers.body_limit import body_limit
from blazar.adapters.http.layers.patience import GRACE, LEAST_RATE, SILENCE, Patience
from blazar.domain import teaching
from blazar.domain.errors import TooSlow
from tests.fakes.clock import FakeClock
from tests.unit.adapters.http.asgi_calls import doors, fine, scope_of

SENTENCE = teaching.body_too_slow()


class Client:
    """Sends what a test says, when it says so."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self._pieces: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[Message] = []

    def give(self, size: int = 1, *, more: bool = True) -> None:
        self._pieces.put_nowait({"type": "http.request", "body": b"x" * size, "more_body": more})

    async def receive(self) -> Message:
        return await self._pieces.get()

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    def asking(self, app: App, path: str, headers: list[tuple[str, str]]) -> "asyncio.Task[None]":
        scope = scope_of("POST", path, headers)
        layered = body_limit(app, doors(clock=self.clock))

        async def ask() -> None:
            await layered(scope, self.receive, self.send)

        return asyncio.create_task(ask())


def run(test: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """With a client and its clock; no timer is left."""

    async def main() -> None:
        client = Client()
        await test(client)
        assert client.clock.pending == 0

    asyncio.run(main())


ANNOUNCED = [("content-length", "1000")]
CHUNKED = [("transfer-encoding", "chunked")]
TOO_MUCH = [("content-length", str(10**9))]


@pytest.mark.parametrize("path", ["/api/chat", "/v1/messages", "/v1/files", "/api/blobs/sha256:ab", "/api/load"])
@pytest.mark.parametrize("headers", [ANNOUNCED, CHUNKED])
def test_a_body_that_stops_is_a_408(path: str, headers: list[tuple[str, str]]) -> None:
    """In the dialect of its path."""

    async def test(client: Client) -> None:
        asking = client.asking(fine, path, headers)
        client.give(10)
        await client.clock.advance(SILENCE - 1)
        assert client.sent == []
        client.give(10)
        await client.clock.advance(SILENCE + 1)
        assert asking.done()
        asking.result()
        assert client.sent[0]["status"] == 408
        assert SENTENCE.encode() in client.sent[1]["body"]

    run(test)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/files"])
def test_one_that_is_only_read_to_be_dropped_ends_there(path: str) -> None:
    """Its client has been told already that it is too large."""

    async def test(client: Client) -> None:
        asking = client.asking(fine, path, TOO_MUCH)
        client.give(10)
        await client.clock.advance(SILENCE - 1)
        assert client.sent[0]["status"] == 413
        assert not asking.done()
        await client.clock.advance(2)
        asking.result()
        assert [message["type"] for message in client.sent].count("http.response.start") == 1

    run(test)


def test_a_body_that_trickles_is_a_408() -> None:
    """Byte by byte it would last for ever; what comes fast enough may last."""

    async def test(client: Client) -> None:
        slow = Patience(client.receive, client.clock)

        async def trickle() -> None:
            for _ in range(99):
                client.clock.call_later(SILENCE / 2, client.give)
                waiting = asyncio.ensure_future(slow())
                await client.clock.advance(SILENCE / 2)
                await waiting

        with pytest.raises(TooSlow, match="slowly"):
            await trickle()
        assert client.clock.now() - 1000 == pytest.approx(GRACE, abs=SILENCE / 2)
        assert slow.lost
        steady = Patience(client.receive, client.clock)
        for _ in range(99):
            client.clock.call_later(10, lambda: client.give(LEAST_RATE * 11))
            waiting = asyncio.ensure_future(steady())
            await client.clock.advance(10)
            await waiting
        assert not steady.lost

    run(test)


def test_only_waiting_for_the_client_counts() -> None:
    """A disk of ours may be as slow as it likes."""

    async def test(client: Client) -> None:
        patience = Patience(client.receive, client.clock)
        for _ in range(9):
            client.give()
            await patience()
            await client.clock.advance(GRACE)
        assert not patience.lost

    run(test)


def test_behind_the_end_nobody_is_hurried() -> None:
    """A client waits for its answer as long as it takes; what is awaited then is the server's own."""

    async def test(client: Client) -> None:
        patience = Patience(client.receive, client.clock)
        client.give(more=False)
        await patience()
        watching = asyncio.ensure_future(patience())
        await client.clock.advance(100 * GRACE)
        assert not watching.done()
        client.give()
        assert (await watching)["more_body"]

    run(test)


def test_a_request_without_a_body_is_not_timed() -> None:
    """Its app gets the very channel of the server."""

    async def test(client: Client) -> None:
        seen: list[Receive] = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            del scope, send
            seen.append(receive)

        for headers in ([], [("content-length", "0")]):
            await client.asking(app, "/x", headers)
        assert seen == [client.receive, client.receive]

    run(test)


def test_a_cancellation_is_no_impatience() -> None:
    """A daemon that stops, a client that leaves: not ours to answer."""

    async def test(client: Client) -> None:
        patience = Patience(client.receive, client.clock)
        waiting = asyncio.ensure_future(patience())
        await client.clock.settle()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        assert waiting.cancelled()
        assert not patience.lost

    run(test)


def test_another_error_of_the_app_stays_its_own() -> None:
    """Nothing is answered twice."""

    async def test(client: Client) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            del scope, send
            await receive()
            raise ExceptionGroup("Quart's", [ValueError("x")])

        client.give(more=False)
        with pytest.raises(ExceptionGroup):
            await client.asking(app, "/x", ANNOUNCED)
        assert client.sent == []

    run(test)
