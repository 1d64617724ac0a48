"""Hypercorn's HTTP/2 with bounds on what a client may leave lying: bytes by its own high water, time by `reader_patience`.

ODD: a client that opens no window gathers no memory: the stock buffer opens its gate again whenever little was taken out of it, also
where nothing could be, and so holds the whole answer. Ours opens it where little is left in it.
"""

import asyncio
from typing import Any, Final

import hypercorn.protocol
from hypercorn.events import Closed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BUFFER_LOW_WATER, BufferCompleteError, H2Protocol, StreamBuffer

READER_SECONDS: Final = 300.0
"""A client that takes nothing of its answer for so long is cut off: it holds an engine's slot. One that is slow is waited for."""


class BoundedBuffer(StreamBuffer):
    """What waits for one stream's window."""

    async def push(self, data: bytes) -> None:
        """Returns when there is little before the next."""
        if self._complete:
            raise BufferCompleteError
        self.buffer.extend(data)
        await self._is_empty.clear()
        if len(self.buffer) >= BUFFER_HIGH_WATER:
            await self._paused.clear()
            await self._paused.wait()

    async def pop(self, max_length: int) -> bytes:
        """As much as the window lets through."""
        data = bytes(self.buffer[:max_length])
        del self.buffer[:max_length]
        if len(self.buffer) < BUFFER_LOW_WATER:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data


class _Buffers(dict[int, StreamBuffer]):
    """Where the stock protocol keeps a buffer for each stream."""

    def __init__(self, event_class: Any) -> None:
        super().__init__()
        self._event_class = event_class

    def __setitem__(self, stream: int, buffer: StreamBuffer) -> None:
        super().__setitem__(stream, BoundedBuffer(self._event_class))


class BoundedH2(H2Protocol):
    """One connection."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.stream_buffers = _Buffers(self.context.event_class)

    async def stream_send(self, event: StreamEvent) -> None:
        """From the application; whoever waits too long for a window loses the connection."""
        patience = getattr(self.config, "reader_patience", READER_SECONDS)
        timer = asyncio.get_running_loop().call_later(patience, self._give_up)
        try:
            await super().stream_send(event)
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self.task_group.spawn(self.send, Closed())


def use_bounds() -> None:
    """For every connection from now on, however it came to speak HTTP/2."""
    setattr(hypercorn.protocol, "H2Protocol", BoundedH2)  # noqa: B010 - it is made by that name in three places, and typed as final
