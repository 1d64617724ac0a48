"""The models on disk in ollama's dialect: tags, show, delete, copy, create, and two routes that are refused with the reason."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from quart import Blueprint, Response

from blazar.adapters.http.bodies import read, reply
from blazar.adapters.http.mount import Handler, blueprint
from blazar.adapters.http.ollama.capabilities import facts_of
from blazar.adapters.http.ollama.creating import CreateModel, told, wish_of
from blazar.adapters.http.schema.ollama import CopyBody, CreateBody, DeleteBody, ShowBody
from blazar.application.models.create_model import settled
from blazar.application.models.show_model import Shown
from blazar.domain import teaching
from blazar.domain.errors import Refusal
from blazar.domain.records import Model
from blazar.domain.wire import ollama_listing


class Remove(Protocol):
    """RemoveModel."""

    def __call__(self, name: str, *, force: bool = False) -> Awaitable[Any]: ...


def blind(_: Model) -> bool:
    """Where nobody knows which models have a projector, or get their tools in words."""
    return False


@dataclass(frozen=True, slots=True)
class Library:
    """The use cases behind these routes."""

    list_models: Callable[[], list[Model]]
    show_model: Callable[[str], Shown]
    remove_model: Remove
    copy_model: Callable[[str, str], Model]
    create_model: CreateModel
    has_blob: Callable[[str], bool]
    takes_pictures: Callable[[Model], bool] = blind
    catch_up: Callable[[], Awaitable[None]] = settled
    """Has the configuration read again where it has changed: overlays go with their models."""
    words_tools: Callable[[Model], bool] = blind


def library_blueprint(parts: Library) -> Blueprint:
    """Ollama's library routes."""

    async def tags() -> Response:
        return reply(ollama_listing.tags(parts.list_models()))

    async def show() -> Response:
        body = await read(ShowBody)
        # The first look at a file reads its header, which takes as long as its vocabulary is large.
        shown = await asyncio.to_thread(parts.show_model, body.model)
        seeing = await asyncio.to_thread(parts.takes_pictures, shown.model)
        worded = await asyncio.to_thread(parts.words_tools, shown.model)
        facts = facts_of(shown, verbose=body.verbose, seeing=seeing, worded=worded)
        return reply(ollama_listing.show(shown.model, facts))

    async def delete() -> Response:
        body = await read(DeleteBody)
        await parts.remove_model(body.model, force=body.force)
        await parts.catch_up()
        return _done()

    async def copy() -> Response:
        body = await read(CopyBody)
        await asyncio.to_thread(parts.copy_model, body.source, body.destination)
        await parts.catch_up()
        return _done()

    async def create() -> Response:
        body = await read(CreateBody)
        return told(await parts.create_model(wish_of(body)), body)

    async def has_blob(digest: str) -> Response:
        there = await asyncio.to_thread(parts.has_blob, digest)
        made = Response(b"", status=200 if there else 404)
        del made.headers["content-type"]  # the framework's own, and there is no content
        return made

    handlers: dict[str, Handler] = {
        "tags": tags,
        "show": show,
        "delete": delete,
        "copy": copy,
        "create": create,
        "has_blob": has_blob,
    }
    refusals = {
        "pull": teaching.registry_not_here(),
        "push": teaching.push_not_here(),
    }
    return blueprint("library", handlers | {name: _refusing(sentence) for name, sentence in refusals.items()})


def _done() -> Response:
    return Response(b"", status=200)


def _refusing(sentence: str) -> Handler:
    # 400, not 501: stock clients show the text of any error, and retry a 5xx.
    async def refuse() -> Response:
        raise Refusal(sentence)

    return refuse
