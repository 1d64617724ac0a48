"""When the configuration is read again: on a signal at once, on a changed file once it has come to rest. Reads no file itself.

The file is looked at every two seconds: watching by notification differs on every system and misses renames and networks.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from blazar.application.ops.reload_config import Blocking
from blazar.application.ports.clock import Clock

POLL_SECS: Final = 2.0
"""Between two looks. A change is read when two agree: a file that is being written is no configuration yet."""


class Reload(Protocol):
    """Reads it again."""

    def __call__(self, *, asked: bool = False) -> Awaitable[None]: ...


class WatchConfig:
    """`stamp` is equal as long as the file is the same (None: there is none); `seen` the stamp of what runs.

    `ask` may be called before `run`: a signal that comes while the daemon is built is not lost.
    """

    def __init__(
        self, clock: Clock, stamp: Callable[[], object], seen: object, blocking: Blocking = asyncio.to_thread
    ) -> None:
        self._clock, self._stamp, self._blocking = clock, stamp, blocking
        self._seen = seen
        self._changing: tuple[object, ...] = ()  # the stamp of the last look, where it was a new one
        self._asked = False
        self._reading = 0
        self._wake = asyncio.Event()

    def ask(self) -> None:
        """Read it now, whatever its stamp says."""
        self._asked = True
        self._wake.set()

    def behind(self) -> bool:
        """Whether the file has changed since it was read, or is just being read. Looks at it, which may block."""
        return self._reading > 0 or self._stamp() != self._seen

    async def catch_up(self, reload: Reload) -> None:
        """Read it if it has changed, without waiting for it to come to rest: for who has just written it whole."""
        now = await self._blocking(self._stamp)
        if now != self._seen or self._reading:  # who reads just now may have begun before it was written
            await self._read(now, reload, asked=True)

    async def run(self, reload: Reload) -> None:
        """Until it is cancelled."""
        while True:
            timer = self._clock.call_later(POLL_SECS, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
            self._wake.clear()
            asked, self._asked = self._asked, False
            await self._look(reload, asked=asked)

    async def _read(self, now: object, reload: Reload, *, asked: bool) -> None:
        self._seen, self._changing = now, ()
        self._reading += 1
        try:
            await reload(asked=asked)
        finally:
            self._reading -= 1

    async def _look(self, reload: Reload, *, asked: bool) -> None:
        now: Any = await self._blocking(
            self._stamp
        )  # before it is read: what changes meanwhile is found by the next look
        if asked or self._changing == (now,):
            await self._read(now, reload, asked=asked)
        else:
            self._changing = () if now == self._seen else (now,)
