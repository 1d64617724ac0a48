"""Work beside requests. A task that fails says so in the log and ends; it never takes the daemon with it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from blazar.domain.errors import BlazarError

logger = logging.getLogger("blazar.tasks")


class BackgroundTask:
    """One named coroutine that lives at most as long as the daemon."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self._name = name
        self._work = work
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        await guarded(self._name, self._work)


async def guarded(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do it; what goes wrong is the log's, and whoever called goes on."""
    try:
        await work()
    except BlazarError as error:
        logger.warning("%s: %s", name, error)
    except Exception:
        logger.exception("%s failed", name)
