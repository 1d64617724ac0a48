"""Loaded models: list, load, evict, clear breakers. Reads views to show them, never to decide anything (habit 5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quart import Blueprint, Response

from blazar.adapters.http.bodies import read, reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.schema.manage import EvictBody, LoadBody, ResetBody
from blazar.adapters.http.scoped import seen
from blazar.application.ports.clock import Clock
from blazar.application.supervise.views import InstanceView, Supervising
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.instance.idle import parse_keep_alive
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from blazar.domain.wire import ollama_listing


def _unknown(_: str) -> None:
    """Nobody measures."""


@dataclass(frozen=True, slots=True)
class Children:
    """What these routes call. `speed(key)` is how many tokens a second an instance's last answers came with."""

    supervising: Supervising
    list_models: Callable[[], list[Model]]
    clock: Clock
    speed: Callable[[str], float | None] = _unknown


def children_blueprint(parts: Children) -> Blueprint:
    """The four routes."""

    def rows(views: list[InstanceView]) -> list[dict[str, Any]]:
        models = {model.name: model for model in parts.list_models()}
        return [_row(view, models, parts.clock.wall(), parts.speed(view.key)) for view in views]

    async def ps() -> Response:
        views = parts.supervising.views()
        names = seen(parts.list_models(), {view.model for view in views})
        return reply({"models": rows([view for view in views if view.model in names])})

    async def reset() -> Response:
        if not (await read(ResetBody)).reset:
            raise Malformed(teaching.field_must("reset", "true"), "reset")
        return reply({"reset": parts.supervising.reset()})

    async def load() -> Response:
        body = await read(LoadBody)
        view = await parts.supervising.load(body.model, parse_keep_alive(body.keep_alive))
        return reply(rows([view])[0])

    async def evict() -> Response:
        body = await read(EvictBody)
        return reply({"evicted": await parts.supervising.evict(body.model, force=body.force)})

    return blueprint("children", {"ps": ps, "reset": reset, "load": load, "evict": evict})


def _row(view: InstanceView, models: Mapping[str, Model], wall: float, speed: float | None) -> dict[str, Any]:
    """Ollama's fields, which its clients read, then ours, which they ignore. Sizes are bytes, estimate and measured apart (B20)."""
    model = models.get(view.model) or _stranger(view)
    stays = view.expires_at == 0
    # Ollama's client reckons the processor's share from these two: the second is never larger than the first.
    on_devices = sum(size for _, size in view.devices)
    size = max(view.size, view.allocated, on_devices) if on_devices else view.size
    running = ollama_listing.Running(model, size, on_devices, None if stays else view.expires_at, view.ctx)
    row: dict[str, Any] = ollama_listing.ps([running])["models"][0]
    ours = {
        "key": view.key,
        "state": view.state,
        "engine": view.engine,
        "provenance": view.provenance,
        "pid": view.pid,
        "port": view.port,
        "slots": view.slots,
        "in_flight": view.in_flight,
        "abandoned": view.abandoned,
        "waiting": view.waiting,
        "queued": [{"priority": urgency, "work": work, "waiting": count} for urgency, work, count in view.queued],
        "rss": view.rss,
        "planned": view.planned,
        "measured": view.measured,
        "allocated": view.allocated,
        "devices": dict(view.devices),
        "load_seconds": view.load_seconds,
        "until_seconds": None if stays else max(0, round(view.expires_at - wall)),
        "cache_hint": view.cache_hint,
        "tokens_per_second": speed,
        "spec_accept": view.spec_accept,
        "blazar_sleeping": view.sleeping,
        "outdated": view.outdated,
        "notes": list(view.notes),
        "last_error": view.last_error,
    }
    return row | ours


def _stranger(view: InstanceView) -> Model:
    """A child whose row was just removed still runs until it is drained, and is shown until then."""
    return Model(
        name=view.model,
        files=(),
        sizes=(),
        weights=Weights.GGUF,
        arch="",
        quant="",
        parameters=0,
        ctx_train=0,
        embedding_length=0,
        pooling=None,
        template=False,
        owned=False,
        digest="0" * 64,  # ollama's own client cuts twelve digits off without looking
        imported_at=0.0,
    )
