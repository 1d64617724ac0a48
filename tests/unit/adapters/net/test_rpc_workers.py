"""Workers of ggml's RPC, greeted over TCP."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from blazar.adapters.net.rpc_workers import GREETINGS, RpcWorkers
from blazar.application.ports.workers import State, Worker
from blazar.domain import teaching

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
TODAY, OLDER = GREETINGS
QUICK = RpcWorkers(answer_secs=0.3)
PATIENT = RpcWorkers()


def answer(*version: int, more: int = 25) -> bytes:
    return (len(version) + more).to_bytes(8, "little") + bytes(version) + bytes(more)


def met(serve: Serve, workers: RpcWorkers = PATIENT) -> Worker:
    """What is found where somebody serves like that."""

    async def main() -> Worker:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            (found,) = await workers.ask((f"127.0.0.1:{server.sockets[0].getsockname()[1]}",))
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})  # what serves is to see the end
            return found

    return asyncio.run(main())


def test_a_worker_says_its_version() -> None:
    """To today's greeting, after which we hang up."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readexactly(len(TODAY)))
        writer.write(answer(7, 0, 3))
        heard.append(await reader.read())
        writer.close()

    found = met(serve)
    assert (found.state, found.version) == (State.SERVES, "7.0.3")
    assert heard == [TODAY, b""]


def test_a_worker_of_an_older_release_is_greeted_again() -> None:
    """It hangs up on a greeting that says something, and answers an empty one."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(9) == OLDER:
            writer.write(answer(3, 6, 0, more=0))
        writer.close()

    found = met(serve)
    assert (found.state, found.version) == (State.SERVES, "3.6.0")


def test_odd_a_greeting_that_nobody_waits_for_any_more_is_taken_back_by_a_reset() -> None:
    """A busy worker takes the connection and says nothing; when it comes to the greeting, its answer must fail and not end it."""
    ended: list[type[Exception] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
            ended.append(None)
        except ConnectionResetError as error:
            ended.append(type(error))
        writer.close()

    assert met(serve, QUICK).state is State.SILENT
    assert ended == [ConnectionResetError]


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", answer(7, more=0), answer(7, 0)[:9]])
def test_what_answers_otherwise_is_no_worker(says: bytes) -> None:
    """Another kind of server, or an answer that breaks off."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(9)
        writer.write(says)
        writer.close()

    assert met(serve).state is State.STRANGE


@pytest.mark.parametrize("endpoint", ["nowhere", "host:", "127.0.0.1:99999", f"{'x' * 300}.example:1"])
def test_what_is_no_address_is_absent(endpoint: str) -> None:
    """Extra words may say anything."""
    (found,) = asyncio.run(PATIENT.ask((endpoint,)))
    assert (found.state, found.why) == (State.ABSENT, teaching.worker_unspelled())


def test_who_does_not_even_connect_in_time_may_be_busy() -> None:
    """A worker's queue is short. No time at all stands for its silence."""
    (found,) = asyncio.run(RpcWorkers(connect_secs=0).ask(("127.0.0.1:1",)))
    assert found.state is State.SILENT


def test_those_that_serve_are_picked_out_of_a_list() -> None:
    """For who may block; the others are left out, whatever is wrong with them."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(TODAY))
        writer.write(answer(7, 0, 3))
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            there = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            assert await asyncio.to_thread(PATIENT.serving, f"127.0.0.1:1,{there},{there}") == there
        assert await asyncio.to_thread(PATIENT.serving, "127.0.0.1:1") == ""

    asyncio.run(main())
