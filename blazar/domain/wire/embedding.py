"""Vectors out of a child's `/v1/embeddings` reply, checked: as many as were asked for, in order, none empty, all finite."""

import base64
import struct
from collections.abc import Mapping
from math import isfinite, sqrt
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.stamps import nanoseconds
from blazar.domain.wire.turn import LOAD_WORTH_TELLING_NS, Turn


def vectors(child: Mapping[str, Any], count: int, model: str) -> list[list[float]]:
    """The vectors by index (M3). Anything short of that is the engine's failure, never an empty vector (B4, M4)."""
    rows = child.get("data")
    if not isinstance(rows, list) or len(rows) != count:
        raise _unusable(model, teaching.embedding_flaw("count", len(rows) if isinstance(rows, list) else 0, count))
    found: dict[int, list[float]] = {}
    for at, row in enumerate(rows):
        vector = row.get("embedding") if isinstance(row, dict) else None
        if not isinstance(vector, list) or not vector:
            raise _unusable(model, teaching.embedding_flaw("empty"))
        if not all(isinstance(number, int | float) and isfinite(number) for number in vector):
            raise _unusable(model, teaching.embedding_flaw("number"))
        index = row.get("index")
        found[index if isinstance(index, int) else at] = vector
    if sorted(found) != list(range(count)):
        raise _unusable(model, teaching.embedding_flaw("order"))
    return [found[at] for at in range(count)]


def want_dimensions(body: Mapping[str, Any]) -> int:
    """How long the vectors shall be; 0: as the model makes them."""
    value = body.get("dimensions")
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Malformed(teaching.field_must("dimensions", "positive"), "dimensions")
    return value


def shortened(found: list[list[float]], dimensions: int) -> list[list[float]]:
    """The first numbers of each vector, of length 1 again (M8): what models that were trained for it put the most into.

    Longer than the model's cannot be had. Asked for its own length, a vector stays as it is.
    """
    width = min((len(vector) for vector in found), default=dimensions)
    if dimensions > width:
        raise Malformed(teaching.dimensions_too_many(dimensions, width), "dimensions")
    if dimensions in (0, width):
        return found
    return [unit(vector[:dimensions]) for vector in found]


def unit(vector: list[float]) -> list[float]:
    """The same direction with length 1; one without any length stays."""
    length = sqrt(sum(number * number for number in vector))
    return [number / length for number in vector] if length > 0 else vector


def as_base64(vector: list[float]) -> str:
    """Little-endian float32 in base64, as OpenAI's SDKs ask for by default (M1)."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def prompt_tokens(child: Mapping[str, Any]) -> int:
    """How many tokens the inputs had."""
    usage = child.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else 0


def embed_reply(
    child: Mapping[str, Any], count: int, turn: Turn, elapsed: float, dimensions: int = 0
) -> dict[str, Any]:
    """The answer of `/api/embed`."""
    load = {"load_duration": turn.load_ns} if turn.load_ns > LOAD_WORTH_TELLING_NS else {}
    return {
        "model": turn.model,
        "embeddings": shortened(vectors(child, count, turn.model), dimensions),
        "total_duration": nanoseconds(elapsed),
        **load,
        "prompt_eval_count": prompt_tokens(child),
    }


def loaded_reply(turn: Turn, elapsed: float) -> dict[str, Any]:
    """The answer to a request without an input: the model is loaded, and there is no vector of nothing."""
    return embed_reply({"data": []}, 0, turn, elapsed)


def legacy_embed_reply(child: Mapping[str, Any], model: str, dimensions: int = 0) -> dict[str, Any]:
    """The answer of `/api/embeddings`."""
    return {"embedding": shortened(vectors(child, 1, model), dimensions)[0]}


def _unusable(model: str, why: str) -> EngineSaid:
    return EngineSaid(502, teaching.embedding_unusable(model, why))
