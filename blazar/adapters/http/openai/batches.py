"""OpenAI's batches: make, list, describe, cancel. Shapes are the domain's, the work is the application's."""

from typing import Any, Final

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read_object, reply
from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.files import owner
from blazar.adapters.http.paging import page_size
from blazar.application.batches.manage import ManageBatches
from blazar.application.ports.saved import Page
from blazar.domain.kinds import Dialect
from blazar.domain.wire.openai_batches import batch_object

USUAL_PAGE: Final = 20
LARGEST_PAGE: Final = 100
"""OpenAI's own bounds of `limit`."""


def batches_blueprint(manage: ManageBatches) -> Blueprint:
    """The four routes."""

    async def create() -> Response:
        made = await manage.make(owner(), await read_object())
        return warned(reply(batch_object(made.batch)), made.warnings)

    async def listing() -> Response:
        page = Page(page_size(USUAL_PAGE, LARGEST_PAGE), request.args.get("after", ""))
        found = await manage.page(Dialect.OPENAI, owner(), page)
        rows: list[dict[str, Any]] = [batch_object(batch) for batch in found.batches]
        ends = {"first_id": rows[0]["id"] if rows else None, "last_id": rows[-1]["id"] if rows else None}
        return reply({"object": "list", "data": rows, "has_more": found.more, **ends})

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        return reply(batch_object(await manage.find(Dialect.OPENAI, id, owner())))

    async def cancel(id: str) -> Response:  # noqa: A002
        return reply(batch_object(await manage.cancel(Dialect.OPENAI, id, owner())))

    return blueprint("batches", {"create": create, "listing": listing, "one": one, "cancel": cancel})


def warned(response: Response, warnings: tuple[str, ...]) -> Response:
    """With what had no effect (D11)."""
    for name, value in warning_headers(warnings):
        response.headers.add(name.decode(), value.decode())
    return response
