"""Which Host a request may name (D8), so that a foreign page cannot rebind its name to this machine; and that it asks for a path at all.

Knows nothing of the address the server is bound to: a wide bind never widens this (case J2).
"""

import re
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.domain import teaching
from blazar.domain.errors import Forbidden, Malformed

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
# Spellings seen and accepted. Each needs a Host of ours, so this is only filled by our own names in odd spellings.
_MOST_KNOWN: Final = 256


def host_check(app: App, doors: Doors) -> App:
    """Refuse a request without exactly one Host, or with one that is not this machine's."""
    is_ours = _judge(doors)
    known: set[bytes] = set()

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return app(scope, receive, send)
        if not scope["path"].startswith("/"):
            # The server lets none through. Every layer inside judges paths, and the framework would read another one out of this.
            return refuse(scope, send, Malformed(teaching.request_target_wrong()))
        headers = headers_of(scope)
        host = headers.get(b"host")
        if host is None or (len(headers) != len(scope["headers"]) and _repeated(scope)):
            return refuse(scope, send, Malformed(teaching.host_missing()))
        if host not in known:
            text = host.decode("latin-1")
            if not is_ours(text):
                return refuse(scope, send, Forbidden(teaching.host_refused(text)))
            if len(known) < _MOST_KNOWN:
                known.add(host)
        return app(scope, receive, send)

    return layer


def _repeated(scope: Scope) -> bool:
    names = [name for name, _ in scope["headers"]]
    return names.count(b"host") > 1


def _judge(doors: Doors) -> Callable[[str], bool]:
    allowed = {name.strip().lower().rstrip(".") for name in doors.allowed_hosts}

    def is_ours(host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].lower().strip("[]").removesuffix(".")
        if name in allowed or host.lower() in allowed or name == "localhost" or name.endswith(".localhost"):
            return True
        return _is_address_of(name, doors) if _is_literal(name) else name in doors.machine_names()

    return is_ours


def _is_literal(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_address_of(name: str, doors: Doors) -> bool:
    address = ip_address(name)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    # The loopback interface carries a whole network, of which the system lists one address.
    return address.is_loopback or str(address) in doors.machine_names()
