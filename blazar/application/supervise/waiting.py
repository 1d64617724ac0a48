"""Waiting for something with a bound, on our own clock. Cancels nothing: the bound ends the waiting, not the work."""

import asyncio
from typing import Any

from blazar.application.ports.clock import Clock


async def within(clock: Clock, seconds: float, future: asyncio.Future[Any]) -> bool:
    """Whether `future` was done in time. Its result or error stays with it."""
    if future.done():
        return True
    woken = asyncio.get_running_loop().create_future()

    def wake(_: object = None) -> None:
        if not woken.done():
            woken.set_result(None)

    timer = clock.call_later(seconds, wake)
    future.add_done_callback(wake)
    try:
        await woken
    finally:
        timer.cancel()
        future.remove_done_callback(wake)
    return future.done()


def settle(future: asyncio.Future[Any], result: object = None, error: BaseException | None = None) -> bool:
    """Finish `future` unless whoever waited has left; whether anybody was told."""
    if future.done():
        return False
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
    return True
