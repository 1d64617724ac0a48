"""The pool under httpx: bodies, streaming, and faults as httpx exceptions."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import httpx
import pytest

from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.engines.transport import ChildTransport
from tests.support.scripted_child import Script, ScriptedChild, Talk
from tests.support.sinks import WATCHDOG

Use = Callable[[ScriptedChild, httpx.AsyncClient], Awaitable[None]]


def against(script: Script, use: Use) -> None:
    """Run `use` with an httpx client over the pool onto a scripted child."""

    async def main() -> None:
        async with asyncio.timeout(WATCHDOG), ScriptedChild(script) as child:
            pool = ChildPool("127.0.0.1", child.port, "secret", "m")
            transport = ChildTransport(pool)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://child", trust_env=False, timeout=None
            ) as client:
                await use(child, client)
            await pool.aclose()

    asyncio.run(main())


async def echo(talk: Talk) -> None:
    """Answer each request with its body."""
    while True:
        head, body = await talk.request()
        if not head:
            return
        await talk.answer(body or b"{}")


def test_a_post_goes_out_with_the_pools_headers_only_once() -> None:
    """Host, length, connection and key come from the pool, other headers from the client."""

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/x?q=1", json={"a": 1}, headers={"X-Own": "1"})
        assert answer.json() == {"a": 1}
        head = child.requests[0][0].lower()
        assert head.startswith(b"post /v1/x?q=1 http/1.1\r\n")
        assert b"x-own: 1" in head
        for name in (b"\r\nhost:", b"\r\ncontent-length:", b"\r\nconnection:", b"\r\nauthorization: bearer secret"):
            assert head.count(name) == 1

    against(echo, use)


def test_requests_share_a_connection() -> None:
    """The transport keeps connections alive as the pool does."""

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        for _ in range(3):
            assert (await client.get("/health")).status_code == 200
        assert child.connections == 1

    against(echo, use)


def test_a_stream_arrives_while_it_is_made() -> None:
    """Bytes are there before the answer ends."""
    read_first = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.start_stream()
        await talk.chunk(b"one")
        await read_first.wait()
        await talk.chunk(b"two")
        await talk.chunk(b"")
        await talk.gone()

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        parts = []
        async with client.stream("POST", "/", content=b"x") as answer:
            async for part in answer.aiter_raw():
                parts.append(part)
                read_first.set()
        assert parts == [b"one", b"two"]

    against(script, use)


def test_leaving_a_stream_closes_the_child_connection() -> None:
    """A response closed early aborts the request at the child."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.start_stream()
        await talk.gone()

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        async with client.stream("POST", "/"):
            pass
        await child.closed.wait()

    against(script, use)


def test_a_large_answer_passes_a_slow_reader() -> None:
    """Reading pauses above the high-water mark and nothing is lost."""
    size = 8 * 2**20

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.answer(bytes(size))
        await talk.gone()

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        total = 0
        async with client.stream("GET", "/") as answer:
            async for part in answer.aiter_raw():
                total += len(part)
                await asyncio.sleep(0)
        assert total == size

    against(script, use)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"garbage\r\n\r\n", httpx.RemoteProtocolError),
        (b"", httpx.ReadError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", httpx.ReadError),
    ],
)
def test_faults_are_httpx_errors(raw: bytes, kind: type[Exception]) -> None:
    """Each kind of broken answer has its httpx exception."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(raw)

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        with pytest.raises(kind):
            await client.get("/")

    against(script, use)


def test_nothing_listening_is_a_connect_error() -> None:
    """A refused connection reads as httpx users expect."""

    async def main() -> None:
        with socket.socket() as held:  # bound and not listening: nobody else gets the port meanwhile
            held.bind(("127.0.0.1", 0))
            pool = ChildPool("127.0.0.1", held.getsockname()[1], "", "m")
            transport = ChildTransport(pool)
            async with httpx.AsyncClient(transport=transport, base_url="http://c", trust_env=False) as client:
                with pytest.raises(httpx.ConnectError):
                    await client.get("/")
            await pool.aclose()

    asyncio.run(main())


def test_a_read_timeout_is_honoured() -> None:
    """A probe with a timeout does not wait for a silent child."""

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        with pytest.raises(httpx.ReadTimeout):
            await client.get("/", timeout=0.05)

    against(script, use)


def test_a_line_break_in_a_header_is_refused() -> None:
    """Header values cannot smuggle a second header to the child."""

    async def use(child: ScriptedChild, client: httpx.AsyncClient) -> None:
        with pytest.raises(httpx.LocalProtocolError):
            await client.get("/", headers={"X-A": "1\r\nX-B: 2"})
        assert not child.requests

    against(echo, use)
