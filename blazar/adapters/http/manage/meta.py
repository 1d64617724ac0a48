"""Routes about the server itself: alive, version, counters, its own description. Loads nothing and reads no model."""

from dataclasses import dataclass

from quart import Blueprint, Response

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.mount import blueprint
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Meter

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
        return Response(parts.meter.exposition(), content_type=EXPOSITION)

    async def openapi() -> Response:
        # Imported when first asked for: the models behind it are only needed to describe the API.
        from blazar.adapters.http.schema.openapi import document_bytes

        return Response(document_bytes(parts.version), content_type="application/json")

    handlers = {"root": root, "health": health, "version": version, "metrics": metrics, "openapi": openapi}
    return blueprint("meta", handlers)
