"""Fetching a picture that a request names by its address, from the public network only (D14).

Resolves once, connects to the address that was judged, and judges again at every hop: a name that resolves to something else a moment
later changes nothing. Tells a server nothing but that somebody asks; follows no other scheme than the web's.
"""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Final, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

import blazar
from blazar.application.ports.pictures import Fetched, Pictures
from blazar.domain import teaching
from blazar.domain.addresses import is_public
from blazar.domain.errors import Malformed
from blazar.domain.wire.remote_pictures import mime_of

MOST_HOPS: Final = 3
LARGEST: Final = 20_000_000
WHOLE_SECS: Final = 10.0
_PIECE: Final = 64 * 1024
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_KEPT: Final = "/?%:@!$&'()*+,;=~"
_PORTS: Final = {"http": 80, "https": 443}

Resolve = Callable[[str, int], Sequence[str]]


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str


def resolved(host: str, port: int) -> Sequence[str]:
    """What the system's resolver says, in its order."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class PublicPictures(Pictures):
    """`may` judges an address; tests that serve from this machine allow its loopback one."""

    def __init__(
        self, resolve: Resolve = resolved, may: Callable[[str], bool] = is_public, secs: float = WHOLE_SECS
    ) -> None:
        self._resolve, self._may, self._secs = resolve, may, secs

    def fetch(self, url: str) -> Fetched:
        deadline = time.monotonic() + self._secs
        try:
            for _ in range(MOST_HOPS + 1):
                outcome = self._ask(_target(url), deadline)
                if isinstance(outcome, Fetched):
                    return outcome
                url = urljoin(url, outcome)
        except TimeoutError:
            raise _no("slow") from None
        # Errors of ssl are OSErrors, of a name or a port that is none ValueErrors.
        except (OSError, HTTPException, ValueError) as error:
            raise _no("slow" if time.monotonic() >= deadline else "offline") from error
        raise _no("hops")

    def _ask(self, target: _Target, deadline: float) -> Fetched | str:
        """The picture, or where it is said to be."""
        wires = [self._connect(target, deadline)]
        # Every read has its own timeout, so a server that trickles could go on for ever: at the end the line is cut.
        cut = threading.Timer(max(0.0, deadline - time.monotonic()), _shut, (wires,))
        cut.daemon = True
        cut.start()
        try:
            if target.scheme == "https":
                import ssl

                safe = ssl.create_default_context().wrap_socket(
                    wires[0], server_hostname=target.host, do_handshake_on_connect=False
                )
                wires[0] = safe
                safe.do_handshake()
            return _exchange(wires[0], target, deadline)
        finally:
            cut.cancel()
            wires[0].close()

    def _connect(self, target: _Target, deadline: float) -> socket.socket:
        addresses = self._resolve(target.host, target.port)
        if not addresses or not all(self._may(address) for address in addresses):
            raise _no("inside")
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return socket.create_connection((addresses[0], target.port), left)


def _exchange(wire: socket.socket, target: _Target, deadline: float) -> Fetched | str:
    connection = HTTPConnection(target.host, target.port)
    connection.sock = wire
    name = f"[{target.host}]" if ":" in target.host else target.host
    asked = name if target.port == _PORTS[target.scheme] else f"{name}:{target.port}"
    connection.request(
        "GET",
        target.path,
        headers={
            "host": asked,
            "accept": "image/*",
            "accept-encoding": "identity",
            "user-agent": f"blazar/{blazar.__version__}",
            "connection": "close",
        },
    )
    with connection.getresponse() as answer:
        if answer.status in _MOVED and (to := answer.headers.get("location")):
            return to
        if answer.status != 200:
            raise Malformed(teaching.picture_not_there(answer.status))
        data = _body(answer)
        if time.monotonic() >= deadline:
            raise TimeoutError  # a line that was cut ends like one that has no more to say
    mime = mime_of(data)
    if not mime:
        raise _no("none")
    return Fetched(mime, data)


def _body(answer: HTTPResponse) -> bytes:
    if (answer.length or 0) > LARGEST:
        raise _no("large")
    data = bytearray()
    while piece := answer.read(_PIECE):
        data += piece
        if len(data) > LARGEST:
            raise _no("large")
    if answer.length:
        raise _no("offline")
    return bytes(data)


def _target(url: str) -> _Target:
    parts = urlsplit(url)
    port = parts.port  # raises ValueError
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _no("scheme")
    if parts.username is not None or parts.password is not None:
        raise _no("inside")  # a name and a password are for somebody's own server
    path = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
    return _Target(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path)


def _shut(wires: Sequence[socket.socket]) -> None:
    with suppress(OSError):
        wires[0].shutdown(socket.SHUT_RDWR)


def _no(why: str) -> Malformed:
    return Malformed(teaching.picture_not_fetched(why))
