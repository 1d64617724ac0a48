"""Hypercorn's HTTP/2 with bounds on what a client may leave lying: bytes by its own high water, time by `reader_patience`.

Whoever waits for a window is told at once when the stream or the connection ends. A target that is no path is refused here.
ODD: a client that opens no window gathers no memory: the stock buffer opens its gate again whenever little was taken out of it, also
where nothing could be, and so holds the whole answer. Ours opens it where little is left in it.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

import h2.events
import h2.exceptions
import hypercorn.protocol
from hypercorn.events import Closed, Event, Updated
from hypercorn.protocol.events import Body, EndBody
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BUFFER_LOW_WATER, BufferCompleteError, H2Protocol, StreamBuffer

from blazar.adapters.http.errors import dialect_of, problem
from blazar.adapters.http.server.stream import Inboxes
from blazar.adapters.http.server.target import target_of, with_host
from blazar.domain import teaching
from blazar.domain.errors import Malformed

READER_SECONDS: Final = 300.0
"""A client that takes nothing of its answer for so long is cut off: it holds an engine's slot. One that is slow is waited for."""
_TASKS: Final = 3
"""Where the task group stands among what a protocol is made of."""


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


class _Nobody:
    """In the place of a stream that is over, or never was: what its client still sends is for nobody."""

    idle = True

    async def handle(self, event: StreamEvent) -> None:
        """Drop it."""


class _Streams(dict[int, Any]):
    """Where the stock protocol keeps its streams. It looks up whatever a client names, and ends with what it does not find."""

    def __missing__(self, stream: int) -> _Nobody:
        return _Nobody()


class BoundedH2(H2Protocol):
    """One connection."""

    def __init__(self, *parts: Any) -> None:
        given = list(parts)
        given[_TASKS] = Inboxes(parts[_TASKS])
        super().__init__(*given)
        self.streams = _Streams()
        self.stream_buffers = _Buffers(self.context.event_class)
        self._to_socket, self.send = self.send, self._tell
        self._refused = False

    async def _tell(self, event: Event) -> None:
        """To the socket. Before its end everybody hears of it, for that may wait for what the client never takes."""
        if isinstance(event, Closed):
            await self.handle(event)
        await self._to_socket(event)

    async def handle(self, event: Event) -> None:
        """From the socket. A client that has gone opens no window: nobody waits for one any more."""
        if isinstance(event, Closed):
            self.closed = True
            await self._release(list(self.stream_buffers))
        await super().handle(event)

    async def _release(self, streams: Iterable[int]) -> None:
        for stream in streams:
            if (buffer := self.stream_buffers.get(stream)) is not None:
                await buffer.close()

    async def stream_send(self, event: StreamEvent) -> None:
        """From the application; whoever takes nothing for too long, because it opens no window, loses the connection."""
        buffer = self.stream_buffers.get(event.stream_id)
        if buffer is None or not isinstance(event, Body | EndBody):
            return await super().stream_send(event)
        loop = asyncio.get_running_loop()
        patience = getattr(self.config, "reader_patience", READER_SECONDS)
        timer: list[asyncio.TimerHandle] = []

        def look(before: int) -> None:
            if (left := len(buffer.buffer)) < before:
                timer[:] = [loop.call_later(patience, look, left)]
            else:
                self._give_up()

        size = len(buffer.buffer) + (len(event.data) if isinstance(event, Body) else 0)
        timer[:] = [loop.call_later(patience, look, size)]
        try:
            await super().stream_send(event)
        finally:
            timer[0].cancel()

    def _give_up(self) -> None:
        self.task_group.spawn(self.send, Closed())

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        reset = [event.stream_id for event in events if isinstance(event, h2.events.StreamReset)]
        # Before, for what comes first may wait; and after, for a stream that began and ended in these.
        await self._release(reset)
        await super()._handle_events(events)
        await self._release(reset)
        if (reset or self._refused) and self.idle and not self.closed:
            self._refused = False
            await self.send(Updated(idle=True))  # of these two the stock protocol says nothing

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        if self.closed:
            return  # nobody would carry its answer
        fields = dict(request.headers)
        method, path = fields.get(b":method", b""), fields.get(b":path", b"")
        asked = target_of(method, path)
        if asked is None or method != method.upper():
            await self._refuse(request.stream_id, method, path)
            return
        headers = [(name, asked.path if name == b":path" else value) for name, value in request.headers]
        request.headers = headers if asked.host is None else with_host(headers, asked.host, b":authority")
        await super()._create_stream(request)

    async def _refuse(self, stream: int, method: bytes, path: bytes) -> None:
        """Answer in the place of an application. It is little, so it waits for no window: without one the stream just ends."""
        self._refused = True
        small = method != method.upper()
        say = teaching.method_in_small_letters(method.decode("latin-1")) if small else teaching.request_target_wrong()
        told = problem(Malformed(say), dialect_of(path.decode("latin-1")))
        head = [(b":status", b"%d" % told.status), *told.headers, (b"content-length", b"%d" % len(told.body))]
        connection = self.connection
        try:
            connection.send_headers(stream, [*head, *self.config.response_headers("h2")])
            if connection.local_flow_control_window(stream) < len(told.body):
                connection.reset_stream(stream)
            else:
                connection.send_data(stream, told.body, end_stream=True)
        except h2.exceptions.ProtocolError:
            return  # it has gone
        await self._flush()


def use_bounds() -> None:
    """For every connection from now on, however it came to speak HTTP/2."""
    setattr(hypercorn.protocol, "H2Protocol", BoundedH2)  # noqa: B010 - it is made by that name in three places, and typed as final
