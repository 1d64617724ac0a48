"""A coroutine that was begun by hand, and carried on by a task."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from blazar.adapters.http.lane.begun import Begun


def begin(coroutine: Coroutine[Any, Any, None]) -> Begun:
    """Up to where it waits first."""
    return Begun(coroutine, coroutine.send(None))


def test_what_was_begun_outside_goes_on_in_a_task() -> None:
    """Through every wait: for a future that is done by then, one that is not, and a turn of the loop."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        first, second = loop.create_future(), loop.create_future()
        got: list[object] = []

        async def body() -> None:
            got.append(await first)
            await asyncio.sleep(0)
            got.append(await second)

        begun = begin(body())
        first.set_result(1)
        loop.call_soon(second.set_result, 2)

        async def carry() -> None:
            await begun

        await asyncio.create_task(carry())
        assert got == [1, 2]

    asyncio.run(main())


def test_its_errors_are_raised_where_it_is_carried_on() -> None:
    """Those of what it waits for, which it may catch, and its own."""

    async def main() -> None:
        waited = asyncio.get_running_loop().create_future()

        async def body() -> None:
            try:
                await waited
            except OSError:
                raise ValueError("own") from None

        begun = begin(body())
        waited.set_exception(OSError())
        with pytest.raises(ValueError, match="own"):
            await begun

    asyncio.run(main())


def test_a_cancelled_task_ends_it() -> None:
    """In its first wait it is closed, in a later one cancelled: then it may wait once more to clean up."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        seen: list[str] = []

        async def body(first: "asyncio.Future[None]", second: "asyncio.Future[None]") -> None:
            try:
                await first
                seen.append("on")
                try:
                    await second
                except asyncio.CancelledError:
                    await asyncio.sleep(0)
                    seen.append("cancelled")
                    raise
            finally:
                seen.append("clean")

        for reached in (False, True):
            first, second = loop.create_future(), loop.create_future()
            begun = begin(body(first, second))
            if reached:
                first.set_result(None)

            async def carry(begun: Begun) -> None:
                await begun

            task = asyncio.create_task(carry(begun))
            for _ in range(4):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert seen == ["clean", "on", "cancelled", "clean"]

    asyncio.run(main())


def test_closed_it_cleans_up() -> None:
    """Whoever lets it be says so."""

    async def main() -> None:
        waited = asyncio.get_running_loop().create_future()
        seen: list[str] = []

        async def body() -> None:
            try:
                await waited
            finally:
                seen.append("clean")

        begin(body()).close()
        assert seen == ["clean"]

    asyncio.run(main())
