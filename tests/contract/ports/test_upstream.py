"""Every upstream keeps the same promises: the child pool over TCP and over a Unix socket, and the fake that other tests use."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from blazar.adapters.engines.pool import ChildPool
from blazar.application.ports.upstream import ChildAnswer, ChildCall, Upstream
from blazar.domain.errors import ChildDied
from tests.fakes.upstream import FakeUpstream
from tests.support.scripted_child import ScriptedChild, Talk
from tests.support.sinks import WATCHDOG, Recorder

CALL = ChildCall(b"POST", b"/x", b"{}", ((b"content-type", b"application/json"),))


class RealSide:
    """The child's side of a pool: each accepted request waits for the test."""

    def __init__(self, child: ScriptedChild, upstream: Upstream, talks: "asyncio.Queue[Talk]") -> None:
        self.upstream, self._child, self._talks = upstream, child, talks

    async def take(self) -> Any:
        """The next request, to be answered by hand."""
        talk = await self._talks.get()
        await talk.request()
        return talk

    async def head(self, talk: Talk) -> None:
        await talk.start_stream()

    async def body(self, talk: Talk, data: bytes) -> None:
        await talk.chunk(data)

    async def end(self, talk: Talk) -> None:
        await talk.chunk(b"")

    async def die(self, talk: Talk) -> None:
        talk.reset()

    def whole(self, path: bytes, answer: ChildAnswer) -> None:
        async def later() -> None:
            talk = await self.take()
            await talk.answer(answer.body)

        self._task = asyncio.create_task(later())


class FakeSide:
    """The same for the fake."""

    def __init__(self, upstream: FakeUpstream) -> None:
        self.upstream, self._taken = upstream, 0

    async def take(self) -> Any:
        while len(self.upstream.exchanges) <= self._taken:
            await asyncio.sleep(0)
        self._taken += 1
        return self.upstream.exchanges[self._taken - 1]

    async def head(self, exchange: Any) -> None:
        exchange.head(200, ((b"content-type", b"text/event-stream"),))

    async def body(self, exchange: Any, data: bytes) -> None:
        exchange.body(data)

    async def end(self, exchange: Any) -> None:
        exchange.end()

    async def die(self, exchange: Any) -> None:
        exchange.fault(ChildDied("gone"))

    def whole(self, path: bytes, answer: ChildAnswer) -> None:
        self.upstream.answers[path] = answer


@asynccontextmanager
async def real(uds: str | None) -> Any:
    """A pool onto a child in this loop."""
    talks: asyncio.Queue[Talk] = asyncio.Queue()

    async def script(talk: Talk) -> None:
        talks.put_nowait(talk)
        await asyncio.get_running_loop().create_future()

    async with ScriptedChild(script, uds) as child:
        pool = ChildPool("127.0.0.1", child.port, "k", "m", uds)
        yield RealSide(child, pool, talks)
        await pool.aclose()


@asynccontextmanager
async def fake(uds: str | None) -> Any:
    """The fake."""
    yield FakeSide(FakeUpstream())


Judge = Callable[[Callable[[Any], Awaitable[None]]], None]


@pytest.fixture(params=["tcp", "unix", "fake"])
def judge(request: pytest.FixtureRequest, tmp_path: Any) -> Judge:
    """Run an async test against one implementation."""
    make = fake if request.param == "fake" else real
    uds = str(tmp_path / "c.sock") if request.param == "unix" else None

    def run(test: Callable[[Any], Awaitable[None]]) -> None:
        async def main() -> None:
            async with asyncio.timeout(WATCHDOG), make(uds) as side:
                await test(side)

        asyncio.run(main())

    return run


def test_one_head_bodies_one_end(judge: Judge) -> None:
    """In that order, and nothing after it."""

    async def test(side: Any) -> None:
        sink = Recorder()
        side.upstream.send(CALL, sink)
        talk = await side.take()
        await side.head(talk)
        await sink.until(lambda: sink.status == 200)
        await side.body(talk, b"one")
        await sink.until(lambda: sink.body == b"one")
        await side.body(talk, b"two")
        await side.end(talk)
        await sink.done()
        assert sink.body == b"onetwo"
        assert sink.calls[0] == ("head", 200)
        assert sink.calls[-1] == ("end",)
        assert (b"content-type", b"text/event-stream") in [(n.lower(), v) for n, v in sink.headers]

    judge(test)


@pytest.mark.parametrize("spoken", [False, True])
def test_a_death_is_exactly_one_fault(judge: Judge, *, spoken: bool) -> None:
    """Before or after a head: a `ChildDied`, and no end."""

    async def test(side: Any) -> None:
        sink = Recorder()
        side.upstream.send(CALL, sink)
        talk = await side.take()
        if spoken:
            await side.head(talk)
            await sink.until(lambda: sink.status == 200)
        await side.die(talk)
        await sink.done()
        assert isinstance(sink.fault, ChildDied)
        assert ("end",) not in sink.calls

    judge(test)


def test_nothing_is_heard_after_an_abort(judge: Judge) -> None:
    """Aborting is final, may be repeated, and may come before anything was answered."""

    async def test(side: Any) -> None:
        sink = Recorder()
        exchange = side.upstream.send(CALL, sink)
        await side.take()
        exchange.abort()
        exchange.abort()
        exchange.pause()
        exchange.resume()
        await side.upstream.aclose()
        assert sink.calls == []

    judge(test)


def test_an_abort_after_the_end_does_nothing(judge: Judge) -> None:
    """Callers abort in `finally` without asking."""

    async def test(side: Any) -> None:
        sink = Recorder()
        exchange = side.upstream.send(CALL, sink)
        talk = await side.take()
        await side.head(talk)
        await side.end(talk)
        await sink.done()
        exchange.abort()
        assert sink.calls == [("head", 200), ("end",)]

    judge(test)


def test_closing_faults_what_is_under_way(judge: Judge) -> None:
    """And every later request too."""

    async def test(side: Any) -> None:
        first, second = Recorder(), Recorder()
        side.upstream.send(CALL, first)
        await side.take()
        await side.upstream.aclose()
        await first.done()
        assert isinstance(first.fault, ChildDied)
        side.upstream.send(CALL, second)
        await second.done()
        assert isinstance(second.fault, ChildDied)
        with pytest.raises(ChildDied):
            await side.upstream.fetch(CALL, WATCHDOG)

    judge(test)


def test_fetch_gives_a_whole_answer(judge: Judge) -> None:
    """Status and body in one value."""

    async def test(side: Any) -> None:
        side.whole(b"/health", ChildAnswer(200, (), b'{"status":"ok"}'))
        answer = await side.upstream.fetch(ChildCall(b"GET", b"/health"), WATCHDOG)
        assert (answer.status, answer.body) == (200, b'{"status":"ok"}')

    judge(test)
