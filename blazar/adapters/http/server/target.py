"""What a request asks for (RFC 9112, 3.2): one path for every layer, the lane and the framework, in whatever form it came.

Decides which targets there are. Which paths exist, and who may ask for them, is the route table's; which hosts are ours, a layer's.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_VISIBLE: Final = re.compile(rb"[\x21-\x7e]+")
# A fragment is the client's own affair and never sent.
_ABSOLUTE: Final = re.compile(rb"https?://([^/?#]+)(/[^#]*|\?[^#]*|)", re.IGNORECASE)
_EVERYTHING: Final = b"*"


class Target(NamedTuple):
    """`path` begins with a slash and has its query; `host` is who was asked, where the target says so, and then no header does."""

    path: bytes
    host: bytes | None = None


def target_of(method: bytes, target: bytes) -> Target | None:
    """None where that is no target."""
    if _VISIBLE.fullmatch(target) is None:
        return None
    if target.startswith(b"/"):
        return Target(target)
    if target == _EVERYTHING:  # the server itself, of which "/" tells
        return Target(b"/") if method == b"OPTIONS" else None
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return None
    return Target(found[2] if found[2].startswith(b"/") else b"/" + found[2], found[1])


def with_host(headers: Iterable[tuple[bytes, bytes]], host: bytes, name: bytes = b"host") -> list[tuple[bytes, bytes]]:
    """`headers` that name `host` and no other: a proxy's target stands above what its client wrote."""
    return [(name, host), *(pair for pair in headers if pair[0].lower() not in (b"host", b":authority"))]
