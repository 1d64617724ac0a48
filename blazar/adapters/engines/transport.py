"""The pool as an httpx transport: the door for tests and for cold paths that want a client. Nothing in the daemon loads it yet.

Use it as `AsyncClient(transport=ChildTransport(pool), base_url="http://child", trust_env=False, timeout=None)`; a timeout given to a
request bounds each wait for the child. Must not be used on the hot path: httpx objects alone cost more than a whole request there.
"""

import asyncio
from collections.abc import AsyncIterator

import httpx

from blazar.adapters.engines.connection import Garbled
from blazar.adapters.engines.pool import Refused
from blazar.application.ports.upstream import ChildCall, Exchange, Headers, Sink, Upstream
from blazar.domain.errors import ChildDied, ChildSilent, Fault

HIGH_WATER = 256 * 1024
"""Bytes that wait for a slow reader before reading from the child stops."""

FAULTS: dict[type[Fault], type[httpx.TransportError]] = {
    Refused: httpx.ConnectError,
    Garbled: httpx.RemoteProtocolError,
    ChildSilent: httpx.ReadTimeout,
    ChildDied: httpx.ReadError,
}
"""Looked up along the fault's class tree, nearest first."""

_OURS = frozenset(
    {b"host", b"connection", b"content-length", b"transfer-encoding", b"authorization"}
)  # the pool writes them


class ChildTransport(httpx.AsyncBaseTransport):
    """Requests of an `httpx.AsyncClient` over one child's connections. Closing it leaves the pool open: the child owns it."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OURS]
        _refuse_line_breaks(request, headers)
        body = await request.aread()
        call = ChildCall(request.method.encode("ascii"), request.url.raw_path, body, headers)
        within = (request.extensions.get("timeout") or {}).get("read")
        incoming = _Incoming(request, within)
        incoming.exchange = self._upstream.send(call, incoming)
        try:
            status, answered = await incoming.head()
        finally:
            if not incoming.headed:
                incoming.exchange.abort()
        return httpx.Response(status, headers=list(answered), stream=incoming)


def _refuse_line_breaks(request: httpx.Request, headers: Headers) -> None:
    """A header value with a line break would become a header, or a request, of its own."""
    for name, value in headers:
        if b"\r" in value or b"\n" in value or b"\r" in name or b"\n" in name:
            raise httpx.LocalProtocolError("a header contains a line break", request=request)


class _Incoming(Sink, httpx.AsyncByteStream):
    """One answer, handed from the connection to whoever awaits it."""

    exchange: Exchange

    def __init__(self, request: httpx.Request, within: float | None) -> None:
        self._request, self._within = request, within
        self._head: tuple[int, Headers] | None = None
        self._parts: list[bytes] = []
        self._waiting = 0
        self._fault: Fault | None = None
        self._ended = False
        self._wake: asyncio.Future[None] | None = None

    def on_head(self, status: int, headers: Headers) -> None:
        self._head = (status, headers)
        self._rouse()

    def on_body(self, data: bytes) -> None:
        self._parts.append(data)
        self._waiting += len(data)
        if self._waiting > HIGH_WATER:
            self.exchange.pause()
        self._rouse()

    def on_end(self) -> None:
        self._ended = True
        self._rouse()

    def on_fault(self, fault: Fault) -> None:
        self._fault = fault
        self._rouse()

    @property
    def headed(self) -> bool:
        """Whether the answer has begun."""
        return self._head is not None

    async def head(self) -> tuple[int, Headers]:
        """Status and headers, as soon as they are here."""
        while self._head is None:
            self._raise_fault()
            await self._news()
        return self._head

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            if self._parts:
                data = b"".join(self._parts)
                self._parts.clear()
                if self._waiting > HIGH_WATER:
                    self.exchange.resume()
                self._waiting = 0
                yield data
            elif self._ended:
                return
            else:
                self._raise_fault()
                await self._news()

    async def aclose(self) -> None:
        self.exchange.abort()

    def _raise_fault(self) -> None:
        if self._fault is not None:
            kind = next(FAULTS[base] for base in type(self._fault).__mro__ if base in FAULTS)
            raise kind(str(self._fault), request=self._request) from self._fault

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _news(self) -> None:
        loop = asyncio.get_running_loop()
        wake = self._wake = loop.create_future()
        timer = None if self._within is None else loop.call_later(self._within, self._time_out)
        try:
            await wake
        finally:
            if timer is not None:
                timer.cancel()

    def _time_out(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_exception(httpx.ReadTimeout("the child sent nothing in time", request=self._request))
