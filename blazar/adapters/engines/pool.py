"""Connections to one child: kept alive, last-in first-out, bytes pushed to a sink as they arrive.

Decides which connection carries a request, when one may be used again, and what a broken one means. It must not know what
is asked or answered, or start a task per request (only a new connection needs one).
"""

import asyncio

from blazar.adapters.engines.connection import Connection, Flight, Garbled
from blazar.application.ports.upstream import ChildAnswer, ChildCall, Headers, Sink, Upstream
from blazar.domain import teaching
from blazar.domain.errors import ChildDied, ChildSilent, Fault

MAX_IDLE = 32
"""Idle connections kept per child. In flight is bounded by its slots; each idle one may occupy a thread of the engine's server."""


LARGEST_FETCHED = 16 * 2**20
"""Bytes of an answer that is fetched whole: listings, health and counts take thousands, or with every histogram half a million."""


class Refused(ChildDied):
    """Nothing listens where the child should."""


class ChildPool(Upstream):
    """The connections to one child, over TCP or a Unix socket. Belongs to the event loop that calls it."""

    def __init__(self, host: str, port: int, key: str, model: str, uds: str | None = None) -> None:
        self.model = model
        self._host, self._port, self._uds = host, port, uds
        auth = f"Authorization: Bearer {key}\r\n" if key else ""
        name = "localhost" if uds else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._prefix = f" HTTP/1.1\r\nHost: {name}\r\n{auth}Connection: keep-alive\r\nContent-Length: ".encode(
            "latin-1"
        )
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._dials: dict[asyncio.Task[None], Flight] = {}
        self._closed = False
        self._emptied: asyncio.Future[None] | None = None

    def send(self, call: ChildCall, sink: Sink) -> Flight:
        flight = Flight(self, call, sink)
        idle = self._idle
        while idle:
            connection = idle.pop()
            if not connection.is_closing():
                connection.carry(flight, reused=True)
                return flight
        self.dial(flight)
        return flight

    async def fetch(self, call: ChildCall, within: float) -> ChildAnswer:
        loop = asyncio.get_running_loop()
        whole = _Whole(loop.create_future(), self.model)
        flight = self.send(call, whole)
        silent = ChildSilent(teaching.child_silent(self.model, within))
        timer = loop.call_later(within, whole.on_fault, silent)
        try:
            return await whole.answer
        finally:
            timer.cancel()
            flight.abort()  # no-op once it ended

    async def aclose(self) -> None:
        self._closed = True
        dials = dict(self._dials)
        for task, flight in dials.items():
            task.cancel()
            flight.fail(self.closing_fault())
        for connection in list(self._open):
            connection.close()
        if self._open:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied
        await asyncio.gather(*dials, return_exceptions=True)

    # What connections and flights call.

    def wire(self, call: ChildCall) -> bytes:
        """The head of a request, up to and with its empty line."""
        extra = b"".join([b"%b: %b\r\n" % header for header in call.headers])
        return b"%b %b%b%d\r\n%b\r\n" % (call.method, call.path, self._prefix, len(call.body), extra)

    def dial(self, flight: Flight) -> None:
        """Open a connection for this request."""
        if self._closed:
            asyncio.get_running_loop().call_soon(flight.fail, self.closing_fault())
            return
        task = asyncio.get_running_loop().create_task(self._connect(flight))
        flight.dial = task
        self._dials[task] = flight
        task.add_done_callback(self._dials.pop)

    async def _connect(self, flight: Flight) -> None:
        loop = asyncio.get_running_loop()
        connection = Connection(self)
        try:
            # Both loops set TCP_NODELAY on TCP sockets they connect.
            if self._uds is not None:
                await loop.create_unix_connection(lambda: connection, self._uds)
            else:
                await loop.create_connection(lambda: connection, self._host, self._port)
        except asyncio.CancelledError:
            # uvloop closes the socket then, but does not tell the protocol: `aclose` would wait for it for ever.
            self.on_lost(connection)
            raise
        except OSError:
            flight.fail(Refused(teaching.child_unreachable(self.model)))
            return
        flight.dial = None
        if flight.over:
            self.give_back(connection)
        else:
            connection.carry(flight, reused=False)

    def give_back(self, connection: Connection) -> None:
        """Keep this connection for the next request, or close it."""
        if self._closed or len(self._idle) >= MAX_IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def on_connected(self, connection: Connection) -> None:
        """It exists now, and `aclose` waits until it is gone."""
        self._open.add(connection)
        if self._closed:
            connection.close()

    def on_lost(self, connection: Connection) -> None:
        """It is gone."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if self._emptied is not None and not self._open and not self._emptied.done():
            self._emptied.set_result(None)

    def may_retry(self) -> bool:
        """Whether a request on a stale connection may go out again."""
        return not self._closed

    def closing_fault(self) -> ChildDied:
        """Why a request without an end has none: we closed it, or the child did."""
        sentence = teaching.evicted_while_waiting if self._closed else teaching.child_unreachable
        return ChildDied(sentence(self.model))


class _Whole(Sink):
    """Collects an answer for `fetch`."""

    def __init__(self, answer: "asyncio.Future[ChildAnswer]", model: str) -> None:
        self.answer, self._model = answer, model
        self._status = 0
        self._headers: Headers = ()
        self._parts: list[bytes] = []
        self._size = 0

    def on_head(self, status: int, headers: Headers) -> None:
        self._status, self._headers = status, headers

    def on_body(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > LARGEST_FETCHED:
            self._parts.clear()
            self.on_fault(Garbled(teaching.child_answer_too_large(self._model, LARGEST_FETCHED)))
        else:
            self._parts.append(data)

    def on_end(self) -> None:
        if not self.answer.done():
            self.answer.set_result(ChildAnswer(self._status, self._headers, b"".join(self._parts)))

    def on_fault(self, fault: Fault) -> None:
        if not self.answer.done():
            self.answer.set_exception(fault)
