"""Anthropic's message batches: make, list, describe, results, cancel, delete. Shapes are the domain's, the work is the application's."""

from typing import Any, Final

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read_object, reply
from blazar.adapters.http.mount import Handler, blueprint
from blazar.adapters.http.openai.batches import warned
from blazar.adapters.http.openai.files import streamed
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.batches.manage import ManageBatches
from blazar.domain.batches import Batch
from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic_batches import message_batch_object
from blazar.domain.wire.paging import Page, size_of

USUAL_PAGE: Final = 20
LARGEST_PAGE: Final = 1_000
"""Anthropic's own bounds of `limit`."""


def message_batches_blueprint(manage: ManageBatches) -> Blueprint:
    """The six routes."""

    async def create() -> Response:
        made = await manage.make_messages(owner_of(request.scope), await read_object())
        return warned(reply(shown(made.batch)), made.warnings)

    async def listing() -> Response:
        limit = size_of(request.args, USUAL_PAGE, LARGEST_PAGE)
        after, before = request.args.get("after_id", ""), request.args.get("before_id", "")
        page = Page(limit, before or after, ascending=bool(before), field="before_id" if before else "after_id")
        found = await manage.page(Dialect.ANTHROPIC, owner_of(request.scope), page)
        rows: list[dict[str, Any]] = [shown(batch) for batch in found.batches]
        if before:
            rows.reverse()  # the page before that one, still newest first
        ends = {"first_id": rows[0]["id"] if rows else None, "last_id": rows[-1]["id"] if rows else None}
        return reply({"data": rows, "has_more": found.more, **ends})

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        return reply(shown(await manage.find(Dialect.ANTHROPIC, id, owner_of(request.scope))))

    async def results(id: str) -> Response:  # noqa: A002
        return streamed(await manage.results(id, owner_of(request.scope)), "application/x-jsonl")

    async def cancel(id: str) -> Response:  # noqa: A002
        return reply(shown(await manage.cancel(Dialect.ANTHROPIC, id, owner_of(request.scope))))

    async def delete(id: str) -> Response:  # noqa: A002
        await manage.remove(id, owner_of(request.scope))
        return reply({"id": id, "type": "message_batch_deleted"})

    handlers: dict[str, Handler] = {"create": create, "listing": listing, "one": one, "results": results}
    return blueprint("message_batches", {**handlers, "cancel": cancel, "delete": delete})


def shown(batch: Batch) -> dict[str, Any]:
    """With the address of its results as the client that asks can reach it: behind a proxy its scheme is another one."""
    scheme = "https" if request.headers.get("x-forwarded-proto") == "https" else request.scheme
    return message_batch_object(batch, f"{scheme}://{request.host}/v1/messages/batches/{batch.id}/results")
