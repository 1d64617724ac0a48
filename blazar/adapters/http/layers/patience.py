"""How long a body may take: a client that stops in the middle, or sends byte by byte, must not hold a connection for ever.

Only the time that is spent waiting for the client counts, so a slow disk of ours is nobody's fault. Heads are the server's: a connection
without a whole one is idle, and closed as such.
"""

import asyncio
from collections.abc import Awaitable
from typing import Final

from blazar.adapters.http.asgi import Message, Receive
from blazar.application.ports.clock import Clock
from blazar.domain import teaching
from blazar.domain.errors import TooSlow

SILENCE: Final = 30.0
"""Seconds between two pieces: a network that reconnects is back by then."""
GRACE: Final = 60.0
"""Seconds that any body may take, however slowly it comes."""
LEAST_RATE: Final = 500
"""Bytes a second behind that, on average: a modem sends ten times as much."""


class Patience:
    """In the place of one request's `receive`. Raises `TooSlow`; behind the body's end it is that `receive` and nothing else."""

    __slots__ = ("_clock", "_receive", "_rung", "_seen", "_waited", "_whole", "lost")

    def __init__(self, receive: Receive, clock: Clock) -> None:
        self._receive, self._clock = receive, clock
        self._whole = self._rung = False
        self._seen = 0
        self._waited = 0.0
        self.lost = False
        """It was raised."""

    def __call__(self) -> Awaitable[Message]:
        """Hand on without a frame of our own."""
        return self._receive() if self._whole else self._timed()

    async def _timed(self) -> Message:
        task, began = asyncio.current_task(), self._clock.now()
        assert task is not None
        left = min(SILENCE, GRACE + self._seen / LEAST_RATE - self._waited)
        timer = self._clock.call_later(max(0.0, left), lambda: self._ring(task))
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            if not self._rung or task.uncancel():
                raise
            self.lost = True
            raise TooSlow(teaching.body_too_slow()) from None
        finally:
            timer.cancel()
        self._waited += self._clock.now() - began
        self._seen += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        return message

    def _ring(self, task: "asyncio.Task[object]") -> None:
        self._rung = True
        task.cancel()
