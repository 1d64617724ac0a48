"""OpenAI's batches: make, list, describe, cancel. Shapes are the domain's, the work is the application's."""

from typing import Any

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read_object, reply
from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.batches.manage import ManageBatches
from blazar.domain.kinds import Dialect
from blazar.domain.wire.openai_batches import batch_object
from blazar.domain.wire.paging import Page, size_of


def batches_blueprint(manage: ManageBatches) -> Blueprint:
    """The four routes."""

    async def create() -> Response:
        made = await manage.make(owner_of(request.scope), await read_object())
        return warned(reply(batch_object(made.batch)), made.warnings)

    async def listing() -> Response:
        page = Page(size_of(request.args), request.args.get("after", ""))
        found = await manage.page(Dialect.OPENAI, owner_of(request.scope), page)
        rows: list[dict[str, Any]] = [batch_object(batch) for batch in found.batches]
        ends = {"first_id": rows[0]["id"] if rows else None, "last_id": rows[-1]["id"] if rows else None}
        return reply({"object": "list", "data": rows, "has_more": found.more, **ends})

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        return reply(batch_object(await manage.find(Dialect.OPENAI, id, owner_of(request.scope))))

    async def cancel(id: str) -> Response:  # noqa: A002
        return reply(batch_object(await manage.cancel(Dialect.OPENAI, id, owner_of(request.scope))))

    return blueprint("batches", {"create": create, "listing": listing, "one": one, "cancel": cancel})


def warned(response: Response, warnings: tuple[str, ...]) -> Response:
    """With what had no effect (D11)."""
    for name, value in warning_headers(warnings):
        response.headers.add(name.decode(), value.decode())
    return response
