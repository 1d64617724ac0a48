"""The ASGI door, driven as a server drives it; the last part with a real pool and a scripted child behind it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.http.asgi import Message, Receive, Scope, Send
from blazar.adapters.http.lane.asgi import HIGH_WATER, Hot
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.domain.errors import ChildDied, TooLarge
from tests.fakes.upstream import FakeExchange
from tests.support.lane_rig import DONE, JSON, SSE, Rig, chunk, usage_chunk, whole_chat
from tests.support.scripted_child import Script, ScriptedChild, Talk
from tests.support.sinks import WATCHDOG

CHAT = "/v1/chat/completions"
BODY = b'{"model":"tiny","messages":[{"role":"user","content":"hi"}]}'
STREAM = BODY[:-1] + b',"stream":true}'


async def elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """The app behind the door."""
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"elsewhere", "more_body": False})


class Visit:
    """One request as a server sees it."""

    def __init__(self, hot: Hot, path: str = CHAT, method: str = "POST", body: tuple[bytes, ...] = (BODY,)) -> None:
        self.sent: list[Message] = []
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        for number, part in enumerate(body):
            self.inbox.put_nowait({"type": "http.request", "body": part, "more_body": number + 1 < len(body)})
        self.open = asyncio.Event()  # cleared: the client does not read
        self.open.set()
        self.news = asyncio.Event()
        scope = {"type": "http", "path": path, "method": method, "headers": [], RECORD: RequestRecord("plm-1-1", 0.0)}
        self.task = asyncio.create_task(self._run(hot, scope))

    async def _run(self, hot: Hot, scope: Scope) -> None:
        await hot(scope, self.inbox.get, self._send)

    async def _send(self, message: Message) -> None:
        await self.open.wait()
        self.sent.append(message)
        self.news.set()

    def hang_up(self) -> None:
        self.inbox.put_nowait({"type": "http.disconnect"})

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WATCHDOG):
            while not condition():
                self.news.clear()
                await self.news.wait()

    async def done(self) -> None:
        async with asyncio.timeout(WATCHDOG):
            await self.task

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def complete(self) -> bool:
        return bool(self.sent) and self.sent[-1].get("more_body") is False


def run(test: Callable[[Rig, Hot], Awaitable[None]]) -> None:
    """On a fresh rig."""

    async def main() -> None:
        rig = Rig()
        await test(rig, Hot(elsewhere, rig.lane))
        await rig.finished()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("method", "path"), [("GET", CHAT), ("OPTIONS", CHAT), ("POST", "/v1/models"), ("POST", CHAT + "/")]
)
def test_everything_else_goes_to_the_app(method: str, path: str) -> None:
    """Only POST on the hot paths is the lane's."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, path, method)
        await visit.done()
        assert visit.status == 299

    run(test)


def test_other_scopes_go_to_the_app() -> None:
    """Websockets and the lifespan have no hot paths."""

    async def main() -> None:
        seen = []

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            seen.append(scope["type"])

        hot = Hot(app, Rig().lane)
        await hot({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
        await hot({"type": "websocket", "path": CHAT}, None, None)  # type: ignore[arg-type]
        assert seen == ["lifespan", "websocket"]

    asyncio.run(main())


def test_a_whole_answer_is_a_head_and_one_body() -> None:
    """Two messages, the last of them final."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot)
        await rig.clock.settle()
        await rig.answer(whole_chat())
        await visit.done()
        assert visit.status == 200
        assert [message["type"] for message in visit.sent] == ["http.response.start", "http.response.body"]
        assert visit.complete
        assert json.loads(visit.body)["choices"]

    run(test)


def test_a_body_in_pieces_is_joined() -> None:
    """Servers hand a body over as it arrives."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=tuple(BODY[at : at + 9] for at in range(0, len(BODY), 9)))
        await rig.clock.settle()
        assert rig.exchange.call.body == BODY
        await rig.answer(whole_chat())
        await visit.done()

    run(test)


def test_a_client_that_leaves_while_sending_is_forgotten() -> None:
    """Half a body never becomes a request."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(BODY[:9], b""))
        visit.inbox = asyncio.Queue()
        visit.inbox.put_nowait({"type": "http.request", "body": BODY[:9], "more_body": True})
        visit.hang_up()
        await visit.done()
        assert not visit.sent
        assert not rig.upstream.exchanges

    run(test)


def test_a_body_too_large_is_the_layers_business() -> None:
    """What the body limit raises out of `receive` passes through."""

    async def main() -> None:
        async def receive() -> Message:
            raise TooLarge("too large")

        hot = Hot(elsewhere, Rig().lane)
        with pytest.raises(TooLarge):
            await hot({"type": "http", "path": CHAT, "method": "POST", "headers": []}, receive, None)  # type: ignore[arg-type]

    asyncio.run(main())


def test_what_arrives_while_a_send_is_under_way_leaves_in_one() -> None:
    """A slow send gathers the next pieces; nothing is lost, the order stays."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        visit.open.clear()
        for number in range(50):
            rig.exchange.body(chunk(str(number)))
            await asyncio.sleep(0)
        visit.open.set()
        rig.exchange.body(chunk(finish="stop") + usage_chunk() + DONE)
        rig.exchange.end()
        await visit.done()
        assert len(visit.sent) <= 4
        assert visit.body == b"".join(chunk(str(n)) for n in range(50)) + chunk(finish="stop") + DONE
        assert visit.complete

    run(test)


def test_a_piece_of_a_stream_leaves_without_a_turn_of_the_loop() -> None:
    """Waking the request's own task for it would cost more than sending it."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        for number in range(3):
            rig.exchange.body(chunk(str(number)))
            assert visit.body == b"".join(chunk(str(n)) for n in range(number + 1))
        rig.exchange.body(chunk(finish="stop") + DONE)
        rig.exchange.end()
        await visit.done()
        assert visit.complete

    run(test)


def test_a_send_that_fails_ends_the_request() -> None:
    """Whoever pushed hears of it, and the child is let go."""

    async def main() -> None:
        rig = Rig()
        scope = {"type": "http", "path": CHAT, "method": "POST", "headers": [], RECORD: RequestRecord("plm-1-1", 0.0)}
        inbox: asyncio.Queue[Message] = asyncio.Queue()
        inbox.put_nowait({"type": "http.request", "body": STREAM, "more_body": False})

        async def send(message: Message) -> None:
            raise ValueError(message["type"])

        task = asyncio.ensure_future(Hot(elsewhere, rig.lane)(scope, inbox.get, send))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        with pytest.raises(ValueError, match="response"):
            rig.exchange.body(chunk("a"))
        with pytest.raises(ValueError, match="response"):
            await task
        assert rig.exchange.aborted
        await rig.finished()

    asyncio.run(main())


def test_cut_off_while_a_pushed_piece_waits() -> None:
    """Nothing of it is left behind."""

    async def main() -> None:
        rig = Rig()
        visit = Visit(Hot(elsewhere, rig.lane), body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        visit.open.clear()
        rig.exchange.body(chunk("a"))
        visit.task.cancel()  # in the turn in which it would carry on
        with pytest.raises(asyncio.CancelledError):
            await visit.task
        assert rig.exchange.aborted
        await rig.finished()

    asyncio.run(main())


def test_a_slow_client_pauses_the_child_above_high_water() -> None:
    """What waits for the client is bounded; once it reads again the child goes on."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        visit.open.clear()
        piece = chunk("x" * 1000)
        sent = 0
        while not rig.exchange.paused:
            rig.exchange.body(piece)
            sent += len(piece)
            await asyncio.sleep(0)
        assert HIGH_WATER < sent <= HIGH_WATER + 3 * len(piece)
        visit.open.set()
        await rig.clock.settle()
        assert not rig.exchange.paused
        visit.hang_up()
        await visit.done()

    run(test)


def test_leaving_is_noticed_without_a_write() -> None:
    """During prefill nothing is sent, so only the pending receive tells (case K2)."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot)
        await rig.clock.settle()
        visit.hang_up()
        await visit.done()
        assert rig.exchange.aborted
        assert not visit.sent

    run(test)


def test_leaving_in_line_ends_the_wait() -> None:
    """And the child never sees the request (cases K3, K4)."""

    async def test(rig: Rig, hot: Hot) -> None:
        rig.leasing.busy = True
        visit = Visit(hot)
        await rig.clock.settle()
        visit.hang_up()
        await visit.done()
        assert rig.leasing.cancelled == 1
        assert not rig.upstream.exchanges

    run(test)


def test_leaving_while_a_send_is_stuck_ends_the_request() -> None:
    """A client that reads nothing and then goes: the child stops at once, nothing more is sent."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        visit.open.clear()
        rig.exchange.body(chunk("a"))
        await rig.clock.settle()
        visit.hang_up()
        await rig.clock.settle()
        assert rig.exchange.aborted
        visit.open.set()  # the server gives up on the socket
        await visit.done()
        assert len(visit.sent) <= 1

    run(test)


def test_no_send_after_the_client_left() -> None:
    """After a disconnect `send` may not even yield: looping on it would spin (traps of performance.md)."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        visit.hang_up()
        await visit.done()
        before = len(visit.sent)
        await rig.clock.settle()
        assert len(visit.sent) == before

    run(test)


def test_the_end_of_a_request_is_no_disconnect() -> None:
    """ASGI says `http.disconnect` after a normal end too."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot)
        await rig.clock.settle()
        rig.exchange.head(200, JSON)
        rig.exchange.body(whole_chat())
        rig.exchange.end()
        visit.hang_up()
        await visit.done()
        assert not rig.exchange.aborted or rig.exchange.finished
        assert visit.complete

    run(test)


def test_a_death_in_a_stream_still_finishes_the_coding() -> None:
    """The last message is sent, so the server writes the last chunk (case D4)."""

    async def test(rig: Rig, hot: Hot) -> None:
        visit = Visit(hot, body=(STREAM,))
        await rig.clock.settle()
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        rig.exchange.fault(ChildDied("gone"))
        await visit.done()
        assert visit.complete
        assert b'"message":"gone"' in visit.body

    run(test)


def test_an_upstream_that_answers_at_once_is_carried() -> None:
    """Everything may have been written before the door first looks."""

    def at_once(exchange: FakeExchange) -> None:
        asyncio.get_running_loop().call_soon(exchange.head, 200, JSON)
        asyncio.get_running_loop().call_soon(exchange.body, whole_chat())
        asyncio.get_running_loop().call_soon(exchange.end)

    async def test(rig: Rig, hot: Hot) -> None:
        rig.upstream.on_send = at_once
        visits = [Visit(hot) for _ in range(20)]
        for visit in visits:
            await visit.done()
            assert visit.complete

    run(test)


# With a real pool and a scripted child.


def end_to_end(script: Script, test: Callable[[ScriptedChild, Hot, Rig], Awaitable[None]]) -> None:
    """The door, the lane and the pool against bytes on a socket."""

    async def main() -> None:
        async with asyncio.timeout(WATCHDOG), ScriptedChild(script) as child:
            rig = Rig()
            pool = ChildPool("127.0.0.1", child.port, "secret", "tiny")
            rig.leasing.upstream = pool  # type: ignore[assignment]
            await test(child, Hot(elsewhere, rig.lane), rig)
            await pool.aclose()
            await rig.finished()

    asyncio.run(main())


async def stream_of_five(talk: Talk) -> None:
    """Every request gets five chunks and an end."""
    while (await talk.request())[0]:
        await talk.start_stream()
        for number in range(5):
            await talk.chunk(chunk(str(number)))
        await talk.chunk(chunk(finish="stop") + usage_chunk() + DONE)
        await talk.chunk(b"")


@pytest.mark.parametrize(
    ("path", "body", "last"),
    [
        (CHAT, STREAM, DONE),
        ("/v1/messages", STREAM[:-1] + b',"max_tokens":9}', b'"message_stop"}\n\n'),
        ("/api/chat", BODY, b"}\n"),
    ],
)
def test_streams_end_to_end_reuse_one_connection(path: str, body: bytes, last: bytes) -> None:
    """Three streams in a row: whole, in order, over one connection to the child."""

    async def test(child: ScriptedChild, hot: Hot, rig: Rig) -> None:
        for _ in range(3):
            visit = Visit(hot, path, body=(body,))
            await visit.done()
            assert visit.complete
            assert visit.body.endswith(last)
            places = [visit.body.find(f'"{number}"'.encode()) for number in range(5)]
            assert places == sorted(places)
            assert -1 not in places
        assert child.connections == 1

    end_to_end(stream_of_five, test)


def test_leaving_closes_the_childs_socket() -> None:
    """End to end: the client hangs up during prefill, the child sees its connection close (cases K1, K2)."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def test(child: ScriptedChild, hot: Hot, rig: Rig) -> None:
        visit = Visit(hot)
        while not child.requests:
            await asyncio.sleep(0)
        visit.hang_up()
        await visit.done()
        await child.closed.wait()

    end_to_end(script, test)


def test_a_reset_in_a_stream_is_told_end_to_end() -> None:
    """The child's socket is reset in the middle: one error event, coding finished (cases D4, D9)."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.start_stream()
        await talk.chunk(chunk("a"))
        await heard.wait()
        talk.reset()

    async def test(child: ScriptedChild, hot: Hot, rig: Rig) -> None:
        visit = Visit(hot, body=(STREAM,))
        await visit.until(lambda: len(visit.sent) > 1)
        heard.set()
        await visit.done()
        assert visit.complete
        assert b'"error"' in visit.body
        assert b"[DONE]" not in visit.body

    heard = asyncio.Event()
    end_to_end(script, test)


def test_a_broken_frame_frees_the_child_at_once() -> None:
    """The child keeps sending behind a frame that cannot be read: its connection closes, the next request starts (case D7)."""

    async def script(talk: Talk) -> None:
        if talk.number > 1:
            await stream_of_five(talk)
            return
        await talk.request()
        await talk.start_stream()
        await talk.chunk(b"data: {bad\n\n")
        await talk.gone()

    async def test(child: ScriptedChild, hot: Hot, rig: Rig) -> None:
        first: Any = Visit(hot, body=(STREAM,))
        await first.done()
        await child.closed.wait()
        second = Visit(hot, body=(STREAM,))
        await second.done()
        assert second.body.endswith(DONE)

    end_to_end(script, test)
