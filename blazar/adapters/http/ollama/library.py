"""The models on disk in ollama's dialect: tags, show, delete, copy, create, pull, and a route that is refused with the reason."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read, reply
from blazar.adapters.http.mount import Handler, blueprint
from blazar.adapters.http.ollama.capabilities import facts_of
from blazar.adapters.http.ollama.creating import CreateModel, told, wish_of
from blazar.adapters.http.ollama.pull import Join, pull_handler
from blazar.adapters.http.schema.ollama import CopyBody, CreateBody, DeleteBody, ShowBody
from blazar.adapters.http.scoped import must_see, seen, visible
from blazar.application.models.create_model import settled
from blazar.application.models.show_model import Shown
from blazar.domain import teaching
from blazar.domain.errors import Refusal
from blazar.domain.records import Model
from blazar.domain.wire import ollama_listing


class Remove(Protocol):
    """RemoveModel."""

    def __call__(self, name: str, *, force: bool = False) -> Awaitable[Model]: ...


class Copy(Protocol):
    """CopyOver."""

    def __call__(self, source: str, target: str, *, overwrite: bool = True) -> Awaitable[Model]: ...


def blind(_: Model) -> bool:
    """Where nobody knows which models have a projector, or get their tools in words."""
    return False


async def nothing_judged() -> Sequence[tuple[Model, str, str]]:
    """Where nobody knows the machine."""
    return ()


@dataclass(frozen=True, slots=True)
class Library:
    """The use cases behind these routes."""

    list_models: Callable[[], list[Model]]
    show_model: Callable[[str], Shown]
    remove_model: Remove
    copy_model: Copy
    create_model: CreateModel
    has_blob: Callable[[str], bool]
    join_pull: Join
    hub: str
    """Who is asked for repositories."""
    takes_pictures: Callable[[Model], bool] = blind
    catch_up: Callable[[], Awaitable[None]] = settled
    """Has the configuration read again where it has changed: overlays go with their models."""
    words_tools: Callable[[Model], bool] = blind
    survey: Callable[[], Awaitable[Sequence[tuple[Model, str, str]]]] = nothing_judged
    """The models with verdict and lane, which cost more than a list."""


def library_blueprint(parts: Library) -> Blueprint:
    """Ollama's library routes."""

    async def tags() -> Response:
        if request.args.get("fit", "") not in ("", "0", "false"):
            judged = await parts.survey()
            names = seen([model for model, _, _ in judged])
            return reply(ollama_listing.judged_tags([row for row in judged if row[0].name in names]))
        return reply(ollama_listing.tags(visible(parts.list_models())))

    async def show() -> Response:
        body = await read(ShowBody)
        must_see(body.model, parts.list_models())
        # The first look at a file reads its header, which takes as long as its vocabulary is large.
        shown = await asyncio.to_thread(parts.show_model, body.model)
        seeing = await asyncio.to_thread(parts.takes_pictures, shown.model)
        worded = await asyncio.to_thread(parts.words_tools, shown.model)
        facts = facts_of(shown, verbose=body.verbose, seeing=seeing, worded=worded)
        return reply(ollama_listing.show(shown.model, facts))

    async def delete() -> Response:
        body = await read(DeleteBody)
        gone = await parts.remove_model(body.model, force=body.force)
        await parts.catch_up()
        answer = _done()
        answer.headers["x-blazar-model"] = gone.name  # what was asked for may have been a reference
        return answer

    async def copy() -> Response:
        body = await read(CopyBody)
        await parts.copy_model(body.source, body.destination, overwrite=body.overwrite)
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
        "pull": pull_handler(parts.join_pull, parts.hub),
        "push": _refusing(teaching.push_not_here()),
    }
    return blueprint("library", handlers)


def _done() -> Response:
    return Response(b"", status=200)


def _refusing(sentence: str) -> Handler:
    # 400, not 501: stock clients show the text of any error, and retry a 5xx.
    async def refuse() -> Response:
        raise Refusal(sentence)

    return refuse
