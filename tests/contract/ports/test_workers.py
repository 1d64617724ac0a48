"""What everybody who asks workers whether they are there must do, on paper and over real connections."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from blazar.adapters.net.rpc_workers import RpcWorkers
from blazar.application.ports.workers import State, Worker, Workers
from tests.fakes.workers import FakeWorkers

Act = Callable[[Workers, str, str], Awaitable[None]]
ANSWER = (28).to_bytes(8, "little") + bytes([7, 1, 2]) + bytes(25)
NOBODY = "127.0.0.1:1"


async def on_paper(act: Act) -> None:
    await act(FakeWorkers(Worker(NOBODY, State.ABSENT, "Connection refused")), "there:50052", NOBODY)


async def over_connections(act: Act) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(33)
        writer.write(ANSWER)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        await act(RpcWorkers(), f"127.0.0.1:{server.sockets[0].getsockname()[1]}", NOBODY)


@pytest.mark.parametrize("through", [on_paper, over_connections])
def test_workers_are_told_apart(through: Callable[[Act], Awaitable[None]]) -> None:
    """In the order of the question: one that is there with its version, one that is not with the reason."""

    async def act(workers: Workers, there: str, gone: str) -> None:
        serving, absent = await workers.ask((there, gone))
        assert (serving.endpoint, serving.state) == (there, State.SERVES)
        assert serving.version
        assert (absent.endpoint, absent.state, absent.why) == (gone, State.ABSENT, "Connection refused")
        assert await workers.ask(()) == ()

    asyncio.run(through(act))
