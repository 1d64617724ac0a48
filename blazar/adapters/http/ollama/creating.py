"""POST /api/create: ollama's words into a wish, and what came of it into ollama's lines. Owns no overlay and no file."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quart import Response

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.schema.ollama import CreateBody
from blazar.application.models.create_model import Created, Wish
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.modelfile import parse_modelfile
from blazar.domain.overlay import ROLES, Overlay, read_parameters
from blazar.domain.wire.request import ignored

CreateModel = Callable[[Wish], Awaitable[Created]]


def wish_of(body: CreateBody) -> Wish:
    """Raises `Malformed`."""
    if body.quantize or body.quantization:
        field = "quantize" if body.quantize else "quantization"
        raise Malformed(teaching.field_unsupported(field, teaching.create_quantizes_nothing()), field)
    said = _overlay(body)
    base = body.from_ or ""
    if body.modelfile and not base:
        read = parse_modelfile(body.modelfile)
        if len(read.sources) > 1 or read.overlay.adapters:
            raise Malformed(teaching.modelfile_projector(), "modelfile")
        base, said = read.sources[0], read.overlay
    adapters = tuple(_digests(body.adapters, "adapters").values())
    return Wish(body.model, said._replace(base=base), _digests(body.files, "files"), adapters, body.fresh)


def _overlay(body: CreateBody) -> Overlay:
    licenses = [body.license] if isinstance(body.license, str) else body.license or []
    if not all(isinstance(text, str) for text in licenses):
        raise Malformed(teaching.field_must("license", "stops"), "license")
    return Overlay(
        template=body.template or "",
        system=body.system or "",
        parameters=read_parameters(body.parameters or {}),
        messages=tuple(_message(message, at) for at, message in enumerate(body.messages or [])),
        license=tuple(text for text in licenses if text),
    )


def _message(message: Any, at: int) -> tuple[str, str]:
    field = f"messages[{at}]"
    role, text = (message.get("role"), message.get("content")) if isinstance(message, dict) else (None, None)
    if role not in ROLES or not isinstance(text, str):
        raise Malformed(teaching.field_must(field, "said"), field)
    return role, text


def _digests(given: Mapping[str, Any] | None, field: str) -> dict[str, str]:
    found = dict(given or {})
    if not all(isinstance(digest, str) for digest in found.values()):
        raise Malformed(teaching.field_must(field, "digest"), field)
    return found


def told(created: Created, body: CreateBody) -> Response:
    """A line a step, or the last of them alone."""
    silent = [ignored(f"parameters.{name}") for name in created.silent]
    silent += [ignored(name) for name, value in (body.model_extra or {}).items() if value not in (None, "", [], {})]
    if body.stream:
        lines = "".join(json.dumps({"status": step}) + "\n" for step in created.steps)
        answer = Response(lines.encode(), content_type="application/x-ndjson")
    else:
        answer = reply({"status": created.steps[-1]})
    for name, value in warning_headers(silent):
        answer.headers.add(name.decode(), value.decode("latin-1"))
    return answer
