"""Responses that were kept: fetched, listened to, cancelled, deleted; and what they were made from. Making one is the lane's."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.lane.runs import Runs
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.kept.recall_response import RecallResponse
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.paging import page_asked, page_of
from blazar.domain.wire.responses_kept import UNFINISHED

_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Responses:
    """What these routes need."""

    recall: RecallResponse
    runs: Runs


def responses_blueprint(parts: Responses) -> Blueprint:
    """All of them."""

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        owner = owner_of(request.scope)
        wanted = request.args.get("stream", "false").lower()
        if wanted not in ("true", "false"):
            raise Malformed(teaching.field_must("stream", "boolean"), "stream")
        if wanted == "true":
            await _response(parts, id, owner)
            return _streamed(parts.runs.listen(id, owner, _after(request.args.get("starting_after"))))
        return reply(await _response(parts, id, owner))

    async def delete(id: str) -> Response:  # noqa: A002
        owner = owner_of(request.scope)
        if id in parts.runs.running() and parts.runs.find(id, owner) is not None:
            await parts.runs.cancel(id, owner)
        await asyncio.to_thread(parts.recall.remove, id, owner)
        parts.runs.forget(id)
        return reply({"id": id, "object": "response", "deleted": True})

    async def input_items(id: str) -> Response:  # noqa: A002
        paging = page_asked(request.args)
        return reply(page_of(await asyncio.to_thread(parts.recall.input_of, id, owner_of(request.scope)), paging))

    async def cancel(id: str) -> Response:  # noqa: A002
        owner = owner_of(request.scope)
        found = await _response(parts, id, owner)
        if not found.get("background"):
            raise Malformed(teaching.response_not_background(id), "id")
        if found.get("status") in UNFINISHED:
            await parts.runs.cancel(id, owner)
        return reply(await _response(parts, id, owner))

    return blueprint("responses", {"one": one, "delete": delete, "input_items": input_items, "cancel": cancel})


async def _response(parts: Responses, id_: str, owner: str) -> dict[str, Any]:
    """How it is now: from what is being worked on, else from what was kept."""
    run = parts.runs.find(id_, owner)
    if run is not None and (working := run.response()) is not None:
        return working
    return (await asyncio.to_thread(parts.recall.find, id_, owner)).response


def _streamed(events: AsyncIterator[bytes]) -> Response:
    body: Any = b"" if request.method == "HEAD" else events
    response = Response(body, content_type="text/event-stream")
    response.headers["cache-control"] = "no-cache"
    response.headers["x-accel-buffering"] = "no"  # nginx would gather events until its buffer is full
    response.timeout = None
    return response


def _after(text: str | None) -> int:
    if not text:
        return -1
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise Malformed(teaching.field_must("starting_after", "event"), "starting_after")
    return int(text)
