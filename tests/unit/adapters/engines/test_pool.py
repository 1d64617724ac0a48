"""The child pool against a server whose every byte is scripted."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
import uvloop

from blazar.adapters.engines.connection import LONGEST_HEAD, Garbled
from blazar.adapters.engines.pool import MAX_IDLE, ChildPool, Refused
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import ChildDied, ChildSilent
from tests.support.scripted_child import Script, ScriptedChild, Talk
from tests.support.sinks import WATCHDOG, Recorder

CALL = ChildCall(b"POST", b"/v1/chat/completions", b'{"a":1}', ((b"Content-Type", b"application/json"),))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    b"7\r\ndata: a\r\n2;x=y\r\n\n\n\r\n9\r\ndata: b\n\n\r\n0\r\nTrailer: t\r\n\r\n"
)

Use = Callable[[ScriptedChild, ChildPool], Awaitable[None]]


def against(script: Script, use: Use) -> None:
    """Run `use` with a pool onto a child that follows `script`."""

    async def main() -> None:
        async with asyncio.timeout(WATCHDOG), ScriptedChild(script) as child:
            pool = ChildPool("127.0.0.1", child.port, "secret", "m")
            try:
                await use(child, pool)
            finally:
                await pool.aclose()

    asyncio.run(main())


def saying(*pieces: bytes, then: str = "wait") -> Script:
    """One request, then these writes; afterwards wait for the peer, close, or reset."""

    async def script(talk: Talk) -> None:
        await talk.request()
        for piece in pieces:
            await talk.say(piece)
            await asyncio.sleep(0)
        if then == "wait":
            await talk.gone()
        elif then == "reset":
            talk.reset()

    return script


async def echo_forever(talk: Talk) -> None:
    """Answer every request of a connection with its number."""
    while (await talk.request())[0]:
        await talk.answer(b"%d" % talk.number)


async def ask(pool: ChildPool, call: ChildCall = CALL) -> Recorder:
    """Send and wait for the end."""
    sink = Recorder()
    pool.send(call, sink)
    await sink.done()
    return sink


def test_the_request_carries_host_key_length_and_keep_alive() -> None:
    """The pool writes its own headers and the body's bytes unchanged."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        await ask(pool)
        head, body = child.requests[0]
        assert body == CALL.body
        assert head.split(b"\r\n") == [
            b"POST /v1/chat/completions HTTP/1.1",
            b"Host: 127.0.0.1:%d" % child.port,
            b"Authorization: Bearer secret",
            b"Connection: keep-alive",
            b"Content-Length: 7",
            b"Content-Type: application/json",
            b"",
            b"",
        ]

    against(echo_forever, use)


def test_a_pool_without_key_sends_no_authorization() -> None:
    """Engines that take no key get none (D21)."""

    async def main() -> None:
        async with ScriptedChild(echo_forever) as child:
            pool = ChildPool("127.0.0.1", child.port, "", "m")
            await ask(pool)
            await pool.aclose()
            assert b"authorization" not in child.requests[0][0].lower()

    asyncio.run(main())


def test_a_large_body_arrives_whole() -> None:
    """A body above the single-write bound is sent in full."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        body = bytes(range(256)) * 8192
        await ask(pool, CALL._replace(body=body))
        assert child.requests[0][1] == body

    against(echo_forever, use)


def test_connections_are_reused_last_in_first_out() -> None:
    """Sequential requests share one connection; after a burst the most recently freed one goes first."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        for _ in range(5):
            assert (await ask(pool)).body == b"1"
        assert child.connections == 1
        burst = [Recorder() for _ in range(3)]
        for sink in burst:
            pool.send(CALL, sink)
        for sink in burst:
            await sink.done()
        assert child.connections == 3
        last = [call for call in burst if call.over]
        newest = (await ask(pool)).body
        assert newest in {sink.body for sink in last}
        assert (await ask(pool)).body == newest  # and it stays on top
        assert child.connections == 3

    against(echo_forever, use)


def test_idle_connections_are_bounded() -> None:
    """Above the bound a freed connection is closed instead of kept."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        burst = [Recorder() for _ in range(MAX_IDLE + 4)]
        for sink in burst:
            pool.send(CALL, sink)
        for sink in burst:
            await sink.done()
        assert len(pool._idle) == MAX_IDLE

    against(echo_forever, use)


def test_tcp_connections_send_without_delay() -> None:
    """TCP_NODELAY is set, or small writes would wait for acknowledgements."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        await ask(pool)
        transport = pool._idle[0]._transport
        assert transport is not None
        assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0

    against(echo_forever, use)


@pytest.mark.parametrize(
    ("raw", "body"),
    [(OK, b"hello"), (CHUNKED, b"data: a\n\ndata: b\n\n"), (b"HTTP/1.1 204 No Content\r\n\r\n", b"")],
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_any_cut_of_the_answer_gives_the_same_body(raw: bytes, body: bytes, size: int) -> None:
    """Where reads fall does not matter: head, body and end are the same, and the connection is kept."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert sink.body == body
        assert [call[0] for call in sink.calls if call[0] != "body"] == ["head", "end"]
        assert len(pool._idle) == 1

    against(saying(*[raw[i : i + size] for i in range(0, len(raw), size)]), use)


def test_one_read_is_one_body_call() -> None:
    """Chunks that arrive together are handed on together, in one piece."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert sink.calls == [("head", 200), ("body", b"data: a\n\ndata: b\n\n"), ("end",)]

    against(saying(CHUNKED), use)


def test_header_names_come_in_lower_case() -> None:
    """Readers compare names as lower-case bytes."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        assert (b"content-length", b"5") in (await ask(pool)).headers

    against(saying(OK), use)


@pytest.mark.parametrize("first", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"])
@pytest.mark.parametrize("together", [True, False])
def test_informational_answers_are_skipped(first: bytes, *, together: bool) -> None:
    """A 1xx before the answer is not the answer."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert sink.calls == [("head", 200), ("body", b"hello"), ("end",)]
        assert (b"link", b"x") not in sink.headers

    against(saying(*([first + OK] if together else [first, OK])), use)


def test_a_body_may_end_with_the_connection() -> None:
    """Neither length nor chunks: closing is the end, and the connection is not kept."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert sink.fault is None
        assert sink.body == b"abcdef"
        assert not pool._idle

    against(saying(b"HTTP/1.1 200 OK\r\n\r\nabc", b"def", then="close"), use)


def test_connection_close_is_honoured() -> None:
    """After `Connection: close` the next request opens a new connection."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.answer(b"x", extra=b"Connection: close\r\n")
        await talk.gone()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        await ask(pool)
        await ask(pool)
        assert child.connections == 2

    against(script, use)


@pytest.mark.parametrize("junk", [OK, b"garbage", b"HTTP/1.1 200 OK\r\n"])
def test_bytes_behind_an_answer_spoil_the_connection(junk: bytes) -> None:
    """A second answer in the same read belongs to nobody: the first is delivered, the connection is not used again."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert sink.calls == [("head", 200), ("body", b"hello"), ("end",)]
        assert not pool._idle

    against(saying(OK + junk), use)


def test_bytes_on_an_idle_connection_close_it() -> None:
    """An unasked answer must not be taken for the next request's."""

    async def script(talk: Talk) -> None:
        if talk.number == 1:
            await talk.request()
            await talk.say(OK)
            await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
            await talk.gone()
        else:
            await echo_forever(talk)

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        await ask(pool)
        await child.closed.wait()
        assert (await ask(pool)).body == b"2"

    against(script, use)


@pytest.mark.parametrize(
    "raw",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_a_fault(raw: bytes) -> None:
    """Garbage closes the connection and says so in one sentence."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert isinstance(sink.fault, Garbled)
        assert str(sink.fault) == teaching.child_broke_protocol("m")
        await child.closed.wait()

    against(saying(raw), use)


def test_an_endless_head_is_a_fault() -> None:
    """The head of an answer is bounded, or a broken child would eat our memory."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        assert isinstance((await ask(pool)).fault, Garbled)

    against(saying(b"HTTP/1.1 200 OK\r\nX: ", b"a" * LONGEST_HEAD, b"a" * 100), use)


def test_a_head_with_a_large_body_behind_it_is_fine() -> None:
    """Only the head is bounded."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        assert len((await ask(pool)).body) == 4 * LONGEST_HEAD

    against(
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (4 * LONGEST_HEAD) + bytes(4 * LONGEST_HEAD)), use
    )


@pytest.mark.parametrize("then", ["close", "reset"])
@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200", OK[:-2], CHUNKED[:-20]])
def test_an_early_end_is_a_fault(raw: bytes, then: str) -> None:
    """Closing before the answer is whole is a fault, never a short success, and is not tried again on a fresh connection."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool)
        assert type(sink.fault) is ChildDied
        assert str(sink.fault) == teaching.child_unreachable("m")
        assert len(child.requests) == 1

    against(saying(*([raw] if raw else []), then=then), use)


def test_a_stale_connection_is_replaced_once() -> None:
    """The engine closed its idle connection while the request was on its way: it goes out once more, on a fresh one."""

    async def script(talk: Talk) -> None:
        await talk.request()
        if talk.number == 2:
            await talk.answer(b"fresh")
            await talk.gone()
            return
        await talk.answer(b"first")
        await talk.request()  # swallowed: from outside the same as a close that crossed the request

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        assert (await ask(pool)).body == b"first"
        assert (await ask(pool)).body == b"fresh"
        assert child.connections == 2
        assert [body for _, body in child.requests] == [CALL.body] * 3

    against(script, use)


def test_a_retry_happens_at_most_once() -> None:
    """A fresh connection that closes without a byte is the child's fault."""

    async def script(talk: Talk) -> None:
        await talk.request()
        if talk.number == 1:
            await talk.answer(b"first")
            await talk.request()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        await ask(pool)
        assert isinstance((await ask(pool)).fault, ChildDied)
        assert child.connections == 2

    against(script, use)


def test_no_retry_once_anything_came_back() -> None:
    """A byte of an answer means that the child may have worked on it."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.answer(b"first")
        await talk.request()
        await talk.say(b"H")

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        await ask(pool)
        assert isinstance((await ask(pool)).fault, ChildDied)
        assert child.connections == 1

    against(script, use)


def test_nothing_listening_is_a_fault() -> None:
    """A refused connection is the child's death, not an OSError."""

    async def main() -> None:
        with socket.socket() as held:  # bound and not listening: nobody else gets the port meanwhile
            held.bind(("127.0.0.1", 0))
            pool = ChildPool("127.0.0.1", held.getsockname()[1], "", "m")
            assert isinstance((await ask(pool)).fault, Refused)
            await pool.aclose()

    asyncio.run(main())


def test_abort_closes_the_child_connection_and_silences_the_sink() -> None:
    """The engine sees the close at once; the sink hears nothing after it (K1, K2)."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = Recorder()
        flight = pool.send(CALL, sink)
        while not child.requests:
            await asyncio.sleep(0)
        flight.abort()
        flight.abort()
        await child.closed.wait()
        assert sink.calls == []

    against(script, use)


def test_abort_while_dialling_reaches_nobody() -> None:
    """A request aborted before its connection stands never reaches the child."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = Recorder()
        pool.send(CALL, sink).abort()
        assert (await ask(pool)).body
        assert len(child.requests) == 1
        assert sink.calls == []

    against(echo_forever, use)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_an_abort_at_any_moment_of_dialling_leaves_no_connection(run: Callable[..., None]) -> None:
    """Under uvloop, a cancelled dial ends without a word to the protocol; closing the pool must not wait for that word."""

    async def main() -> None:
        async with asyncio.timeout(WATCHDOG), ScriptedChild(echo_forever) as child:
            for turns in range(6):
                pool = ChildPool("127.0.0.1", child.port, "secret", "m")
                flight = pool.send(CALL, Recorder())
                for _ in range(turns):
                    await asyncio.sleep(0)
                flight.abort()
                await pool.aclose()

    run(main())


def test_abort_inside_a_callback_is_safe() -> None:
    """The sink may abort from any call; the rest of that read is dropped."""

    class Quitter(Recorder):
        def on_head(self, status: int, headers: object) -> None:
            super().on_head(status, ())
            flight.abort()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        nonlocal flight
        sink = Quitter()
        flight = pool.send(CALL, sink)
        await child.closed.wait()
        assert sink.calls == [("head", 200)]
        assert not pool._idle

    flight = None
    against(saying(CHUNKED), use)


def test_pause_stops_reading_and_resume_goes_on() -> None:
    """A slow client holds the child back: with reading paused the child's writes block, and nothing is lost."""
    total = 64 * 2**20

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        block = bytes(2**20)
        for _ in range(64):
            await talk.say(block)
            sent.append(len(block))
        await talk.gone()

    class Counter(Recorder):
        count = 0

        def on_body(self, data: bytes) -> None:
            self.count += len(data)

        def on_head(self, status: int, headers: object) -> None:
            super().on_head(status, ())
            flights[0].pause()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = Counter()
        flights.append(pool.send(CALL, sink))
        await sink.until(lambda: sink.status == 200)
        for _ in range(2000):  # turns in which an unpaused reader would take everything, 256 KiB each
            await asyncio.sleep(0)
        assert len(sent) < 64
        held = sink.count
        assert held < 2**20
        flights[0].resume()
        await sink.done()
        assert sink.count == total

    sent: list[int] = []
    flights: list[object] = []
    against(script, use)


def test_pause_before_the_connection_stands_is_kept() -> None:
    """A pause during dialling applies once connected, and a finished answer leaves a readable connection behind."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = Recorder()
        flight = pool.send(CALL, sink)
        flight.pause()
        while not child.requests:
            await asyncio.sleep(0)
        assert sink.calls == []
        flight.resume()
        await sink.done()
        assert (await ask(pool)).body == b"1"

    against(echo_forever, use)


def test_an_answer_before_the_request_was_sent_is_not_followed_by_another() -> None:
    """Unsent request bytes would run into the next request: the connection is closed instead."""

    async def script(talk: Talk) -> None:
        await talk.reader.readuntil(b"\r\n\r\n")
        await talk.answer(b"too large", b"413 Payload Too Large")
        await talk.gone()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sink = await ask(pool, CALL._replace(body=bytes(64 * 2**20)))
        assert sink.status == 413
        assert not pool._idle

    against(script, use)


def test_aclose_faults_what_is_under_way() -> None:
    """Closing the pool ends every open request, dialling ones too, and refuses new ones, each with the same sentence."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        sinks = [Recorder(), Recorder(), Recorder()]
        pool.send(CALL, sinks[0])
        while not child.requests:
            await asyncio.sleep(0)
        pool.send(CALL, sinks[1])
        await pool.aclose()
        pool.send(CALL, sinks[2])
        for sink in sinks:
            await sink.done()
            assert type(sink.fault) is ChildDied
            assert str(sink.fault) == teaching.evicted_while_waiting("m")

    against(script, use)


def test_fetch_returns_the_whole_answer() -> None:
    """Status, headers and body in one value."""

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        answer = await pool.fetch(ChildCall(b"GET", b"/health"), WATCHDOG)
        assert (answer.status, answer.body) == (200, b"data: a\n\ndata: b\n\n")
        assert (b"content-type", b"text/event-stream") in answer.headers

    against(saying(CHUNKED), use)


def test_fetch_gives_up_on_a_silent_child() -> None:
    """After its bound it raises, and closes the connection."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        with pytest.raises(ChildSilent, match="sent nothing"):
            await pool.fetch(CALL, 0.05)
        while pool._open or pool._dials:
            await asyncio.sleep(0)

    against(script, use)


def test_fetch_gives_up_on_an_answer_that_never_ends() -> None:
    """At its bound, however quickly it comes, and closes the connection."""

    async def script(talk: Talk) -> None:
        await talk.request()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
        with suppress(ConnectionError):
            await talk.say(head)
            while True:
                await talk.say(b"x" * 2**20)

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        with pytest.raises(ChildDied, match="larger than 16 MiB"):
            await pool.fetch(CALL, WATCHDOG)
        while pool._open or pool._dials:
            await asyncio.sleep(0)

    against(script, use)


def test_a_cancelled_fetch_closes_its_connection() -> None:
    """Cancelling leaves no request behind at the child."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def use(child: ScriptedChild, pool: ChildPool) -> None:
        task = asyncio.create_task(pool.fetch(CALL, WATCHDOG))
        while not child.requests:
            await asyncio.sleep(0)
        task.cancel()
        await child.closed.wait()

    against(script, use)
