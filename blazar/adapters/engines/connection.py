"""One socket to a child, and one request on its way over it.

Decides what a read means in HTTP and whether the socket may carry another request. It must not choose a connection (the
pool does) nor look into a body.
"""

import asyncio
from typing import TYPE_CHECKING, cast

import httptools

from blazar.application.ports.upstream import ChildCall, Exchange, Headers, Sink
from blazar.domain import teaching
from blazar.domain.errors import ChildDied, Fault

if TYPE_CHECKING:
    from blazar.adapters.engines.pool import ChildPool

LONGEST_HEAD = 64 * 1024
"""Bytes of an answer's head. The parser itself has no bound, so a child that never ends its head would eat memory."""

_WRITE_ONCE = 64 * 1024  # below, joining head and body is cheaper than a second write


class Garbled(ChildDied):
    """What came is not HTTP."""


class Flight(Exchange):
    """One request and its answer, from `send` to the end, a fault or an abort."""

    __slots__ = ("_pool", "call", "connection", "dial", "over", "paused", "sink")

    def __init__(self, pool: "ChildPool", call: ChildCall, sink: Sink) -> None:
        self._pool, self.call, self.sink = pool, call, sink
        self.connection: Connection | None = None
        self.dial: asyncio.Task[None] | None = None
        self.over = False
        self.paused = False

    def pause(self) -> None:
        self.paused = True
        if self.connection is not None:
            self.connection.hold()

    def resume(self) -> None:
        self.paused = False
        if self.connection is not None:
            self.connection.let_go()

    def abort(self) -> None:
        if self.over:
            return
        self.over = True
        if self.dial is not None:
            self.dial.cancel()
        if (connection := self.connection) is not None:
            self.connection = connection.flight = None
            connection.close()

    def fail(self, fault: Fault) -> None:
        """Tell the sink, unless it has heard the end or wants no more."""
        if not self.over:
            self.over = True
            self.connection = None
            self.sink.on_fault(fault)


class Connection(asyncio.Protocol):
    """One socket. Carries one request at a time; whatever one read brought goes to the sink in one piece."""

    def __init__(self, pool: "ChildPool") -> None:
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.flight: Flight | None = None
        self._reused = False
        self._held = False
        self._heard = 0  # bytes of this answer's head so far; any at all forbid a retry
        self._headers: list[tuple[bytes, bytes]] = []
        self._status = 0
        self._headed = False  # the head has been read
        self._head_due = False  # and the sink has not seen it
        self._interim = False  # inside a 1xx answer
        self._keep = False
        self._until_close = False  # neither length nor chunks: the body ends with the connection
        self._complete = False
        self._parts: list[bytes] = []

    # From the pool and the flight.

    def carry(self, flight: Flight, *, reused: bool) -> None:
        """Send this request."""
        transport = self._transport
        assert transport is not None
        self.flight, flight.connection = flight, self
        self._reused = reused
        self._heard = 0
        self._headed = self._head_due = self._interim = self._complete = self._until_close = False
        head, body = self._pool.wire(flight.call), flight.call.body
        if len(body) < _WRITE_ONCE:
            transport.write(head + body)
        else:
            transport.write(head)
            transport.write(body)
        if flight.paused:
            self.hold()

    def is_closing(self) -> bool:
        """Whether it can carry nothing any more."""
        return self._transport is None or self._transport.is_closing()

    def close(self) -> None:
        """At once, without sending what is still buffered."""
        if self._transport is not None:
            self._transport.abort()

    def hold(self) -> None:
        """Read no more for now."""
        if not self._held and self._transport is not None and not self._transport.is_closing():
            self._held = True
            self._transport.pause_reading()

    def let_go(self) -> None:
        """Read again."""
        if self._held:
            self._held = False
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    # From the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._pool.on_connected(self)

    def data_received(self, data: bytes) -> None:
        flight, parser = self.flight, self._parser
        if flight is None or parser is None:
            self.close()  # bytes that nobody asked for: what follows could be taken for the next answer
            return
        broken = False
        self._heard += 0 if self._headed else len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserError:
            broken = True
        except httptools.HttpParserUpgrade:  # 101: we asked for no other protocol
            broken, self._head_due, self._complete = True, False, False
        if self._heard > LONGEST_HEAD and not self._headed:
            broken = True
        self._deliver(flight, broken=broken)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = self._parser = None  # the parser points back here
        flight, self.flight = self.flight, None
        self._pool.on_lost(self)
        if flight is None or flight.over:
            return
        flight.connection = None
        if self._reused and not self._heard and self._pool.may_retry():
            # The engine closed its idle connection while the request was on its way. Nothing came back, so it goes out once
            # more, on a fresh connection: another idle one may be as stale.
            self._pool.dial(flight)
        elif self._headed and self._until_close and exc is None:
            flight.over = True
            flight.sink.on_end()
        else:
            flight.fail(self._pool.closing_fault())

    def _deliver(self, flight: Flight, *, broken: bool) -> None:
        """Hand on what one read brought. The sink may abort in any of these calls."""
        sink = flight.sink
        if self._head_due:
            self._head_due = False
            sink.on_head(self._status, self._headers)
        if self._parts:
            parts, self._parts = self._parts, []
            if not flight.over:
                sink.on_body(parts[0] if len(parts) == 1 else b"".join(parts))
        if flight.over:
            return
        if self._complete:
            self._finish(flight, broken=broken)
        elif broken:
            self.flight = None
            self.close()
            flight.fail(Garbled(teaching.child_broke_protocol(self._pool.model)))

    def _finish(self, flight: Flight, *, broken: bool) -> None:
        """The answer is whole; `broken` says that something else came behind it."""
        self.flight = flight.connection = None
        flight.over = True
        self.let_go()
        transport = self._transport
        # An answer before the request was sent whole leaves bytes that would run into the next request.
        if self._keep and not broken and transport is not None and not transport.get_write_buffer_size():
            self._pool.give_back(self)
        else:
            self.close()
        flight.sink.on_end()

    # From the parser.

    def on_message_begin(self) -> None:
        """A second answer in one read is nobody's: the connection is not used again."""
        if self._complete:
            self._keep = False
        else:
            self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Names in lower case, as every reader of them expects."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """`should_keep_alive` is right only in here (afterwards it says False for every answer)."""
        parser = self._parser
        if parser is None or self._complete:
            return
        status = parser.get_status_code()
        self._interim = 100 <= status < 200 and status != 101
        if self._interim:
            return
        self._status = status
        self._headed = self._head_due = True
        self._keep = parser.should_keep_alive()
        self._until_close = not self._keep and not _is_framed(self._headers)

    def on_body(self, data: bytes) -> None:
        """Collected: one read may bring many chunks."""
        if not self._complete:
            self._parts.append(data)

    def on_message_complete(self) -> None:
        """The end of an answer, or of a 1xx before it."""
        if self._interim:
            self._interim = False
        else:
            self._complete = True


def _is_framed(headers: Headers) -> bool:
    """Whether the body says itself where it ends."""
    for name, value in headers:
        if name == b"content-length" or (name == b"transfer-encoding" and value.lower().endswith(b"chunked")):
            return True
    return False
