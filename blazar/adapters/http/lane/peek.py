"""What the lane must know of an OpenAI body before it is forwarded byte by byte: a partial decode, never a parse.

Measured at 0.35 µs for 0.5 KB and 7.6 µs for 29 KB, where a full parse needs 25.
"""

from typing import Any, Final

import msgspec

from blazar.adapters.http.lane.codec import not_json
from blazar.domain import teaching
from blazar.domain.errors import Malformed


class Peek(msgspec.Struct):
    """The few members that decide the way of a request. UNSET and None both mean: not asked for (case A13)."""

    model: Any = None
    stream: Any = None
    stream_options: Any = None
    keep_alive: Any = msgspec.UNSET  # ours, and it must not reach the child: even null counts as present


_PEEK: Final = msgspec.json.Decoder(Peek)


def peek(raw: bytes) -> Peek:
    """Decode those members; the rest is checked to be JSON and skipped. Raises `Malformed` (case A21)."""
    try:
        seen = _PEEK.decode(raw)
        if not raw.isascii():
            raw.decode()  # skipped strings are not looked into, and an engine answers bad UTF-8 with a 500
    except msgspec.ValidationError:
        raise Malformed(teaching.body_not_object()) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise not_json(raw, error) from None
    seen.model = model_of(seen.model)
    seen.stream = stream_of(seen.stream, default=False)
    return seen


def model_of(value: Any) -> str:
    """The model's name, which every hot request must give."""
    if value is None:
        raise Malformed(teaching.field_missing("model"), "model")
    if not isinstance(value, str) or not value:
        raise Malformed(teaching.field_wrong("model", "a model's name"), "model")
    return value


def stream_of(value: Any, *, default: bool) -> bool:
    """Whether the answer comes as a stream; ollama's default is yes, the others' no."""
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Malformed(teaching.field_wrong("stream", "true or false"), "stream")
    return value
