"""Chat completions that were kept (`store: true`): listed, fetched, given other metadata, deleted. Making one is the lane's."""

import asyncio
import re

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read_object, reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.kept.completions import Completions, Filters
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.paging import listing, page_asked, page_of
from blazar.domain.wire.responses import check_metadata
from blazar.domain.wire.stored_chat import listed_messages

_METADATA = re.compile(r"metadata\[(.+)\]", re.DOTALL)


def completions_blueprint(completions: Completions) -> Blueprint:
    """All of them."""

    async def page() -> Response:
        page = page_asked(request.args, ascending=True)
        attached = {found[1]: value for name, value in request.args.items() if (found := _METADATA.fullmatch(name))}
        filters = Filters(request.args.get("model", ""), attached)
        rows, more = await asyncio.to_thread(completions.page, owner_of(request.scope), page, filters)
        return reply(listing(rows, more=more))

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        stored = await asyncio.to_thread(completions.find, id, owner_of(request.scope))
        return reply(stored.completion)

    async def update(id: str) -> Response:  # noqa: A002
        body = await read_object()
        if "metadata" not in body:
            raise Malformed(teaching.field_missing("metadata"), "metadata")
        metadata = check_metadata(body["metadata"])
        return reply(await asyncio.to_thread(completions.attach, id, owner_of(request.scope), metadata))

    async def delete(id: str) -> Response:  # noqa: A002
        await asyncio.to_thread(completions.remove, id, owner_of(request.scope))
        return reply({"id": id, "object": "chat.completion.deleted", "deleted": True})

    async def messages(id: str) -> Response:  # noqa: A002
        page = page_asked(request.args, ascending=True)
        stored = await asyncio.to_thread(completions.find, id, owner_of(request.scope))
        return reply(page_of(listed_messages(stored), page))

    return blueprint(
        "completions", {"page": page, "one": one, "update": update, "delete": delete, "messages": messages}
    )
