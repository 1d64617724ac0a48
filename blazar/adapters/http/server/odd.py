"""Hypercorn's own protocol, for requests that are not plain: what is no request is told in our words, and nobody is told to go on too soon.

Stock, a head that breaks the rules is a status without a word, and `Expect: 100-continue` is granted before anybody has looked at the
head: a client whose body is too large would send it all the same. Judges no request: h11 does.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import h11
from hypercorn.events import Event, RawData
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol

from blazar.adapters.http.errors import dialect_of, problem
from blazar.domain import teaching
from blazar.domain.errors import Malformed

if TYPE_CHECKING:
    from hypercorn.typing import AppWrapper

_TARGET: Final = re.compile(rb"[A-Z]{1,20} (/[\x21-\x7e]{0,2000})")
_TOO_MUCH: Final = 431
_UNKNOWN_CODING: Final = 501
_SHOWN: Final = 4096


class _Connection(h11.Connection):
    """Says when the client may send its body only when it is asked for."""

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """ODD: nobody is told to go on unasked, so that the stock protocol does not grant it; `OddProtocol` looks at what stands behind this."""
        return False


class OddProtocol(H11Protocol):
    """In the place of the stock one of `stock`."""

    def __init__(self, stock: ProtocolWrapper) -> None:
        given = (stock.context, stock.task_group, stock.state, stock.ssl, stock.client, stock.server, stock.send)
        super().__init__(self._app_of(stock.app), stock.config, *given)
        self.connection = _Connection(h11.SERVER, max_incomplete_event_size=stock.config.h11_max_incomplete_size)
        self._head = b""

    async def handle(self, event: Event) -> None:
        """From the socket. The beginning of a request is remembered: whoever is refused is told so in a dialect."""
        if isinstance(event, RawData) and self.stream is None:
            self._head = (self._head + event.data)[:_SHOWN]
        await super().handle(event)

    def _app_of(self, app: "AppWrapper") -> "AppWrapper":
        async def run(
            scope: Any, receive: Any, send: Any, sync_spawn: Callable[..., Any], call_soon: Callable[..., Any]
        ) -> None:
            async def reading() -> Any:
                await self._grant()
                return await receive()

            await app(scope, reading, send, sync_spawn, call_soon)

        return run

    async def _grant(self) -> None:
        """The client may send its body, where it waits to be told so."""
        connection = self.connection
        if isinstance(connection, _Connection) and connection.client_is_waiting_for_100_continue:
            headers = self.config.response_headers("h11")
            await self._send_h11_event(h11.InformationalResponse(status_code=100, headers=headers))

    async def _create_stream(self, request: h11.Request) -> None:
        self._head = b""
        await super()._create_stream(request)

    async def _send_error_response(self, status_code: int) -> None:
        found = _TARGET.match(self._head.lstrip(b"\r\n"))
        path = found[1].partition(b"?")[0].decode() if found else "/v1/"
        say = teaching.request_head_too_large if status_code == _TOO_MUCH else teaching.request_unreadable
        if status_code == _UNKNOWN_CODING:
            say = teaching.request_coding_unknown
        told = problem(Malformed(say()), dialect_of(path), status=status_code)
        length = (b"content-length", str(len(told.body)).encode())
        headers = [*told.headers, length, (b"connection", b"close"), *self.config.response_headers("h11")]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=told.body))
        await self._send_h11_event(h11.EndOfMessage())
