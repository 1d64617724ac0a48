"""What the command line shows, as JSON: engines, doctor, and how a model would be run. Changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.mount import blueprint
from blazar.application.engines.check_currency import Currency, currency_row
from blazar.application.engines.list_engines import engine_row
from blazar.application.supervise.charges import Tenant
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.records import Engine


@dataclass(frozen=True, slots=True)
class Reports:
    """The three questions."""

    explain: Callable[[str, Sequence[Tenant]], dict[str, Any]]
    diagnose: Callable[[], Awaitable[dict[str, Any]]]
    list_engines: Callable[[], list[Engine]]
    tenants: Callable[[], Sequence[Tenant]] = tuple
    updates: Callable[[], Sequence[Currency]] = tuple


def reports_blueprint(parts: Reports) -> Blueprint:
    """Explain, engines and doctor."""

    async def explain() -> Response:
        model = request.args.get("model", "")
        if not model:
            raise Malformed(teaching.field_missing("model"), "model")
        # May run an engine's --help once, which takes as long as a process start; children are looked at here, on the loop.
        return reply(await asyncio.to_thread(parts.explain, model, parts.tenants()))

    async def engines() -> Response:
        rows = [engine_row(engine) for engine in parts.list_engines()]
        return reply({"engines": rows, "updates": [currency_row(row) for row in parts.updates()]})

    async def doctor() -> Response:
        return reply(await parts.diagnose())

    return blueprint("reports", {"explain": explain, "engines": engines, "doctor": doctor})
