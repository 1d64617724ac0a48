"""The model listing that OpenAI and Anthropic clients share: which shape is asked for shows in the anthropic-version header."""

from collections.abc import Callable, Sequence
from typing import Any

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.scoped import must_see, seen, visible
from blazar.domain import names, teaching
from blazar.domain.errors import BadName, Malformed
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from blazar.domain.row_names import not_one, row_named
from blazar.domain.wire.stamps import rfc3339

LARGEST_PAGE = 1000
"""Anthropic's own bound of `limit`. Without a limit everything is on one page: a local catalog is short."""


def models_blueprint(list_models: Callable[[], list[Model]]) -> Blueprint:
    """Both listings, and one model by id."""

    async def listing() -> Response:
        models = visible(list_models())
        if "anthropic-version" in request.headers:
            return reply(_page(models))
        return reply({"object": "list", "data": [_openai(model) for model in models]})

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        if len(id) > names.LONGEST_NAME:  # looking for near matches of a megabyte takes minutes
            raise BadName(id)
        rows = list_models()
        must_see(id, rows)
        model = row_named(id, rows)
        if model is None:
            raise not_one(id, rows, seen(rows))
        return reply(_anthropic(model) if "anthropic-version" in request.headers else _openai(model))

    return blueprint("models", {"listing": listing, "one": one})


def _openai(model: Model) -> dict[str, Any]:
    known = {
        "arch": model.arch,
        "quant": model.quant,
        "n_params": model.parameters,
        **_sizes(model, "n_ctx_train"),
        "n_embd": model.embedding_length,
        "size": model.size,
    }
    return {
        "id": model.name,
        "object": "model",
        "created": int(model.imported_at),
        "owned_by": "blazar",
        "meta": {name: value for name, value in known.items() if value},  # what is not known is not claimed
    }


def _anthropic(model: Model) -> dict[str, Any]:
    return {
        "type": "model",
        "id": model.name,
        "display_name": model.name,
        "created_at": rfc3339(model.imported_at),
        "lifecycle": "active",
        **_sizes(model, "max_input_tokens", "max_tokens"),
    }


def _sizes(model: Model, *names: str) -> dict[str, int | None]:
    """The trained window, null where it is unknown; of a model that draws there is nothing to say about tokens."""
    return {} if model.weights is Weights.DIFFUSION else dict.fromkeys(names, model.ctx_train or None)


def _page(models: Sequence[Model]) -> dict[str, Any]:
    """The part of the list that `after_id` or `before_id` and `limit` ask for."""
    limit, after, before = (request.args.get(name) for name in ("limit", "after_id", "before_id"))
    wanted = LARGEST_PAGE
    if limit is not None:
        if not limit.isdecimal() or not 1 <= int(limit[:9]) <= LARGEST_PAGE:
            raise Malformed(teaching.page_size_wrong(LARGEST_PAGE), "limit")
        wanted = int(limit)
    order = [model.name for model in models]
    if before in order:
        rest = models[: order.index(before)]
        shown, more = rest[-wanted:], len(rest) > wanted
    else:
        rest = models[order.index(after) + 1 :] if after in order else models
        shown, more = rest[:wanted], len(rest) > wanted
    ids = [model.name for model in shown]
    return {
        "data": [_anthropic(model) for model in shown],
        "has_more": more,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
    }
