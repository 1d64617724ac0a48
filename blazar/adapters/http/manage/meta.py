"""Routes about the server itself: alive, version, counters, its own description. Loads nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from quart import Blueprint, Response

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.scoped import limited_to
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter
from blazar.domain.records import Model

OLLAMA_VERSION = "0.32.0"
"""The ollama release whose API we speak (D13): clients refuse servers that are older than what they need (B9)."""

TEXT = "text/plain; charset=utf-8"
EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Meta:
    """What these routes read. `version` is Blazar's own."""

    clock: Clock
    meter: Meter
    version: str
    list_models: Callable[[], list[Model]]


def meta_blueprint(parts: Meta) -> Blueprint:
    """Root, health, version, metrics and the OpenAPI document."""
    started = parts.clock.now()

    async def root() -> Response:
        return Response("Blazar is running", content_type=TEXT)

    async def health() -> Response:
        uptime = int(parts.clock.now() - started)
        return reply({"status": "ok", "version": parts.version, "uptime_secs": uptime})

    async def version() -> Response:
        return reply({"version": OLLAMA_VERSION})

    async def metrics() -> Response:
        """Of models that a scoped key may not use, lists say nothing, and no more do counters."""
        return Response(parts.meter.exposition(limited_to(parts.list_models)), content_type=EXPOSITION)

    async def openapi() -> Response:
        # Imported when first asked for: the models behind it are only needed to describe the API.
        from blazar.adapters.http.schema.openapi import document_bytes

        return Response(document_bytes(parts.version), content_type="application/json")

    handlers = {"root": root, "health": health, "version": version, "metrics": metrics, "openapi": openapi}
    return blueprint("meta", handlers)
