"""Hypercorn's own protocol, for requests that are not plain: what is no request is told in our words, and nobody is told to go on too soon.

Stock, a head that breaks the rules is a status without a word, and `Expect: 100-continue` is granted before anybody has looked at the
head: a client whose body is too large would send it all the same. Judges a head as a whole; its lines are h11's.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import h11
from hypercorn.events import Event, RawData
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol

from blazar.adapters.http.errors import dialect_of, problem
from blazar.adapters.http.server.stream import Inboxes
from blazar.adapters.http.server.target import target_of, with_host
from blazar.domain import teaching
from blazar.domain.errors import Malformed

if TYPE_CHECKING:
    from hypercorn.typing import AppWrapper

_TARGET: Final = re.compile(rb"[A-Z]{1,20} (/[\x21-\x7e]{0,2000})")
_TOO_MUCH: Final = 431
_TOO_LONG: Final = 414
_UNKNOWN_CODING: Final = 501
_SHOWN: Final = 4096


class _Connection(h11.Connection):
    """Says when the client may send its body only when it is asked for, and judges whole heads, also those that came at once."""

    def __init__(self, most: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=most)
        self._most = most
        self.refusal = ""
        self.bodiless = self.two_lengths = False

    def next_event(self) -> Any:
        """Of a request, one whose target is a path, and whose body has one length."""
        event = super().next_event()
        return self._judged(event) if isinstance(event, h11.Request) else event

    def _judged(self, request: h11.Request) -> h11.Request:
        method, target, fields = request.method, request.target, request.headers.raw_items()
        if method == b"PRI" and target == b"*" and request.http_version == b"2.0":
            return request  # how HTTP/2 begins
        self.bodiless = method == b"HEAD"
        line = len(method) + len(target) + len(b"  HTTP/1.1\r\n")
        size = line + sum(len(name) + len(value) + len(b": \r\n") for name, value in fields) + len(b"\r\n")
        if size > self._most:
            status = over(line, size)
            raise self._refused(_sentence(status), status)
        if method != method.upper():
            raise self._refused(teaching.method_in_small_letters(method.decode()))
        asked = target_of(method, target)
        if asked is None:
            raise self._refused(teaching.request_target_wrong())
        headers = list(request.headers)
        names = {name for name, _ in headers}
        self.two_lengths = {b"content-length", b"transfer-encoding"} <= names
        if self.two_lengths:  # the coding counts; who goes by the other would be misled
            headers = [pair for pair in headers if pair[0] != b"content-length"]
        if asked.host is not None:
            headers = with_host(headers, asked.host)
        return h11.Request(
            method=method, target=asked.path, headers=headers, http_version=request.http_version, _parsed=True
        )

    def _refused(self, sentence: str, status: int = 400) -> h11.RemoteProtocolError:
        self.refusal = sentence
        return h11.RemoteProtocolError(sentence, error_status_hint=status)

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """ODD: nobody is told to go on unasked, so that the stock protocol does not grant it; `OddProtocol` looks at what stands behind this."""
        return False


def over(line: int, size: int) -> int:
    """The status for a head of `size` bytes, more than there may be: whose fault it is, its first line's or the headers'."""
    return _TOO_LONG if 2 * line > size else _TOO_MUCH


class OddProtocol(H11Protocol):
    """In the place of the stock one of `stock`."""

    def __init__(self, stock: ProtocolWrapper) -> None:
        tasks: Any = Inboxes(stock.task_group)
        given = (stock.context, tasks, stock.state, stock.ssl, stock.client, stock.server, stock.send)
        super().__init__(self._app_of(stock.app), stock.config, *given)
        self.connection = _Connection(stock.config.h11_max_incomplete_size)
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
        if isinstance(self.connection, _Connection) and self.connection.two_lengths:
            # Who sent this may mean another end than we see: the connection ends behind it (RFC 9112, 6.1).
            self.keep_alive_requests = self.config.keep_alive_max_requests
        await super()._create_stream(request)

    async def _send_error_response(self, status_code: int) -> None:
        found = _TARGET.match(self._head.lstrip(b"\r\n"))
        path = found[1].partition(b"?")[0].decode() if found else "/v1/"
        connection = self.connection
        assert isinstance(connection, _Connection)
        if status_code == _TOO_MUCH and not connection.refusal:  # h11's word, of a head whose end has not come
            unended = connection.trailing_data[0]
            status_code = over(len(unended.partition(b"\n")[0]), len(unended))
        told = problem(Malformed(connection.refusal or _sentence(status_code)), dialect_of(path), status=status_code)
        length = (b"content-length", str(len(told.body)).encode())
        headers = [*told.headers, length, (b"connection", b"close"), *self.config.response_headers("h11")]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        if not connection.bodiless:
            await self._send_h11_event(h11.Data(data=told.body))
        await self._send_h11_event(h11.EndOfMessage())


def _sentence(status: int) -> str:
    match status:
        case 431:
            return teaching.request_head_too_large()
        case 414:
            return teaching.request_url_too_long()
        case 501:
            return teaching.request_coding_unknown()
    return teaching.request_unreadable()
