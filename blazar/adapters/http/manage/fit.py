"""POST /api/fit: what a model would take and whether it fits. Loads nothing.

A path is read for callers on this machine only, who may manage where there are keys (the route's gate): to others it would tell
which files there are. They are refused before it is looked at.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv6Address, ip_address
from pathlib import PurePath
from typing import Any, Final

from quart import Blueprint, Response, request

from blazar.adapters.http.aside import Aside
from blazar.adapters.http.bodies import read, reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.schema.manage import FitBody
from blazar.application.ops.caller import Caller
from blazar.application.supervise.charges import Tenant
from blazar.domain import teaching
from blazar.domain.errors import Forbidden, Malformed

AT_ONCE: Final = 2
"""Targets looked at together: a registry may take minutes, and all of its listing is held meanwhile."""


@dataclass(frozen=True, slots=True)
class Fit:
    """`preview` answers the body beside these children; it may block for as long as a registry takes, and its caller stays."""

    preview: Callable[[Mapping[str, Any], Sequence[Tenant], Caller], dict[str, Any]]
    tenants: Callable[[], Sequence[Tenant]]
    aside: Aside = field(default_factory=lambda: Aside(AT_ONCE))


def fit_blueprint(parts: Fit) -> Blueprint:
    """The one route."""

    async def preview() -> Response:
        body = await read(FitBody)
        target = body.model or body.target
        if not target:
            raise Malformed(teaching.field_missing("model"), "model")
        if PurePath(target).is_absolute() and not _is_here():
            raise Forbidden(teaching.fit_path_elsewhere(target[:200]))
        # Who is there is looked up here: it changes on the loop's own thread only.
        asked, tenants = body.model_dump(exclude_none=True), parts.tenants()
        return reply(await parts.aside.run(partial(parts.preview, asked, tenants)))

    return blueprint("fit", {"preview": preview})


_FORWARDED: Final = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})
"""Headers by which a proxy on this machine says that it asks for somebody else (RFC 7239, RFC 9110)."""


def _is_here() -> bool:
    """Whether the caller is on this machine, as far as the connection tells; a socket of the file system has no address."""
    scope: Any = request.scope
    if any(name.lower() in _FORWARDED for name, _ in scope["headers"]):
        return False
    client = scope.get("client")
    try:
        return client is None or _is_loopback(str(client[0]).partition("%")[0])
    except ValueError:
        return False


def _is_loopback(text: str) -> bool:
    """Also 127.0.0.1 as a socket of both families sees it, ::ffff:127.0.0.1."""
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
