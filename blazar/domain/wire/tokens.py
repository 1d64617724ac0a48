"""llama-server's `/tokenize`, `/detokenize` and `/apply-template`, checked before the child sees them. Pure.

The engine passes over members of a wrong type, so that a mistake would be an answer to another question; here it is named.
"""

from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.openai import normalise
from blazar.domain.wire.request import ignored, want_bool

LARGEST_TOKEN: Final = 2**31 - 1
"""Engines hold a token in 32 bits with a sign; a larger number would be another token to them."""
_CUT: Final = ("add_special", "parse_special", "with_pieces")


def tokenize_request(body: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The child's request and its warnings. `content` is a text, or a list of texts and tokens."""
    content = body.get("content")
    if content is None:
        raise Malformed(teaching.field_missing("content"), "content")
    parts = content if isinstance(content, list) else [content]
    if not all(isinstance(part, str) or (isinstance(content, list) and _token(part)) for part in parts):
        raise Malformed(teaching.field_must("content", "content"), "content")
    switches = {name: want_bool(body, name, default=False) for name in _CUT if body.get(name) is not None}
    return {"content": content, **switches}, _lost(body, {"content", *_CUT})


def detokenize_request(body: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The child's request and its warnings."""
    tokens = body.get("tokens")
    if tokens is None:
        raise Malformed(teaching.field_missing("tokens"), "tokens")
    if not isinstance(tokens, list) or not all(_token(token) for token in tokens):
        raise Malformed(teaching.field_must("tokens", "tokens"), "tokens")
    return {"tokens": tokens}, _lost(body, {"tokens"})


def template_request(body: dict[str, Any], model: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A chat request as it would be for `/v1/chat/completions`, changes included: the prompt is the one that a chat would have had."""
    given = {name: value for name, value in body.items() if name not in ("keep_alive", "stream", "stream_options")}
    if given.get("messages") is None:
        raise Malformed(teaching.field_missing("messages"), "messages")
    outcome = normalise(given, model)
    return outcome.body, outcome.warnings


def _token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_TOKEN


def _lost(body: Mapping[str, Any], read: set[str]) -> tuple[str, ...]:
    known = read | {"model", "keep_alive"}
    return tuple(ignored(name) for name, value in body.items() if name not in known and value is not None)
