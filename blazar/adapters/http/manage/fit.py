"""POST /api/fit: what a model would take and whether it fits. Loads nothing.

A path is read for callers on this machine only: to others it would tell which files there are.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any, Final

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read, reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.schema.manage import FitBody
from blazar.application.supervise.charges import Tenant
from blazar.domain import teaching
from blazar.domain.errors import Forbidden, Malformed

AT_ONCE: Final = 2
"""Targets looked at together: a registry may take a minute, and each waits in a thread that loads want too."""


@dataclass(frozen=True, slots=True)
class Fit:
    """`preview` answers the body beside these children; it may block for as long as a registry takes."""

    preview: Callable[[Mapping[str, Any], Sequence[Tenant]], dict[str, Any]]
    tenants: Callable[[], Sequence[Tenant]]


def fit_blueprint(parts: Fit) -> Blueprint:
    """The one route."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def preview() -> Response:
        body = await read(FitBody)
        target = body.model or body.target
        if not target:
            raise Malformed(teaching.field_missing("model"), "model")
        if PurePath(target).is_absolute() and not _is_here():
            raise Forbidden(teaching.fit_path_elsewhere(target[:200]))
        async with gate:
            # Who is there is looked up here: it changes on the loop's own thread only.
            asked, tenants = body.model_dump(exclude_none=True), parts.tenants()
            return reply(await asyncio.to_thread(parts.preview, asked, tenants))

    return blueprint("fit", {"preview": preview})


def _is_here() -> bool:
    """Whether the caller is on this machine, as far as the connection tells; a socket of the file system has no address."""
    scope: Any = request.scope
    client = scope.get("client")
    try:
        return client is None or ip_address(str(client[0]).partition("%")[0]).is_loopback
    except ValueError:
        return False
