"""GET /api/config: the values that hold now, who set each, and what of the file does not hold. Never shows a secret, changes nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quart import Blueprint, Response

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.mount import blueprint


@dataclass(frozen=True, slots=True)
class ConfigPages:
    """`shown` is the whole answer, without secrets; it looks at the file, which may block."""

    shown: Callable[[], dict[str, Any]]


def config_blueprint(parts: ConfigPages) -> Blueprint:
    """The one route."""

    async def show() -> Response:
        return reply(await asyncio.to_thread(parts.shown))

    return blueprint("config", {"show": show})
