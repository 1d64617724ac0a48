"""The socket, bound once and kept (case G15): probing a port and binding it later lets a second daemon in between."""

import errno
import socket
from ipaddress import ip_address

from blazar.domain import teaching
from blazar.domain.errors import BindConflict, Malformed, Refusal

BACKLOG = 1024
"""Connections that may wait to be accepted; the server listens once more with the same number."""


def bind(host: str, port: int) -> socket.socket:
    """A listening TCP socket; `port` 0 takes a free one. Raises `BindConflict` (exit 3) when the address is taken."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as unknown:
        raise Malformed(teaching.field_wrong("host", teaching.host_not_ours(host)), "host") from unknown
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # The server hands the option on to accepted connections; without it small writes wait for acknowledgements.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as refused:
        listener.close()
        if refused.errno == errno.EADDRINUSE:
            raise BindConflict(teaching.bind_conflict(host, port)) from refused
        if refused.errno == errno.EACCES:
            raise Refusal(teaching.port_forbidden(host, port)) from refused
        raise Malformed(teaching.field_wrong("host", teaching.host_not_ours(host)), "host") from refused
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket, *, secure: bool = False) -> str:
    """How a client on this machine reaches it; a wildcard address is reached by loopback."""
    scheme = "https" if secure else "http"
    host, port = listener.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "127.0.0.1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def reaches_others(listener: socket.socket) -> bool:
    """Whether other machines can connect to it."""
    return not ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def would_reach_others(host: str) -> bool:
    """The same of an address that is not bound yet. Of a name nothing is said: looking it up may take long."""
    try:
        return host == "*" or not ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
