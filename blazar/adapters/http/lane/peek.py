"""What the lane must know of an OpenAI body before it is forwarded byte by byte: a partial decode, never a parse.

Measured at 0.35 µs for 0.5 KB and 7.6 µs for 29 KB, where a full parse needs 25.
"""

import re
from typing import Any, Final

import msgspec

from blazar.adapters.http.lane.codec import body_object, not_json
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.openai import IGNORED_CHAT, ignored_fields
from blazar.domain.wire.reach import beyond


class Peek(msgspec.Struct):
    """The few members that decide the way of a request. UNSET and None both mean: not asked for (case A13)."""

    model: Any = None
    stream: Any = None
    stream_options: Any = None
    # Must not reach the child (`STRIPPED`): even null counts as present.
    keep_alive: Any = msgspec.UNSET
    suffix: Any = msgspec.UNSET
    echo: Any = msgspec.UNSET
    best_of: Any = msgspec.UNSET
    # Never decoded here: a catalog of tools is most of many a body.
    tools: msgspec.Raw = msgspec.Raw()
    tool_choice: Any = None
    # How many, and what engines pass over where it is of a wrong type.
    n: Any = None
    logprobs: Any = None
    stop: Any = None
    logit_bias: Any = None
    reasoning_effort: Any = None
    parallel_tool_calls: Any = None
    # `sampling.NUMBERS`
    temperature: Any = None
    top_p: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    seed: Any = None
    presence_penalty: Any = None
    frequency_penalty: Any = None
    # With three of those, and `logprobs`, what an engine would let wrap (`wire/reach.py`).
    top_logprobs: Any = None
    top_k: Any = None
    n_predict: Any = None
    n_probs: Any = None
    n_keep: Any = None
    n_discard: Any = None
    min_keep: Any = None
    repeat_last_n: Any = None
    mirostat: Any = None
    thinking_budget_tokens: Any = None
    # What is attached to an answer.
    metadata: Any = None
    # What the answer shall look like.
    response_format: Any = None
    json_schema: Any = None
    grammar: Any = None
    # `IGNORED_CHAT`
    audio: Any = None
    function_call: Any = None
    functions: Any = None
    modalities: Any = None
    prediction: Any = None
    verbosity: Any = None
    web_search_options: Any = None
    # Whether the answer is to be kept.
    store: Any = None

    @property
    def strips(self) -> bool:
        """Whether something must be taken out before the child sees it."""
        own = (self.keep_alive, self.suffix, self.echo, self.best_of)
        return own != _UNSET

    @property
    def constrains(self) -> bool:
        """Whether the answer shall have a form."""
        return (self.response_format, self.json_schema, self.grammar) != _NO_FORM

    @property
    def offers_tools(self) -> bool:
        """As `normalise.offers_tools`, of a body that is not decoded."""
        raw = bytes(self.tools)
        return bool(raw) and self.tool_choice != "none" and _NO_TOOLS.fullmatch(raw) is None

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The values of `sampling.NUMBERS`, in their order."""
        bounds = (self.max_tokens, self.max_completion_tokens, self.seed)
        return (self.temperature, self.top_p, *bounds, self.presence_penalty, self.frequency_penalty)

    @property
    def wraps(self) -> bool:
        """Whether an engine would take another number for one of these."""
        told = (self.max_tokens, self.max_completion_tokens, self.seed, self.logprobs, self.top_logprobs)
        own = (self.top_k, self.n_predict, self.n_probs, self.n_keep, self.n_discard, self.min_keep)
        rest = (self.repeat_last_n, self.mirostat, self.thinking_budget_tokens)
        values = told if own == _NO_OWN and rest == _NO_FORM else told + own + rest
        return any(value is not None and beyond(value) for value in values)

    def form(self) -> dict[str, Any]:
        """The form, by the names that the fields have in the body."""
        return {"response_format": self.response_format, "json_schema": self.json_schema, "grammar": self.grammar}

    def ignored(self, *, chat: bool) -> tuple[str, ...]:
        """Warnings for what the engine will pass over without a word."""
        if not chat:
            return () if self.response_format is None else ignored_fields({"response_format": self.response_format})
        # Named one by one: this runs for every request, and nearly always finds nothing.
        held = (self.audio, self.function_call, self.functions, self.modalities)
        more = (self.prediction, self.verbosity, self.web_search_options)
        if held == _NOTHING and more == _NO_FORM:
            return ()
        return ignored_fields(dict(zip(IGNORED_CHAT, held + more, strict=True)))


_UNSET: Final = (msgspec.UNSET,) * 4
_NO_TOOLS: Final = re.compile(rb"\s*(?:null|false|\[\s*\])\s*")
_NO_FORM: Final = (None,) * 3
_NOTHING: Final = (None,) * 4
_NO_OWN: Final = (None,) * 6

_PEEK: Final = msgspec.json.Decoder(Peek)


def peek(raw: bytes) -> Peek:
    """Decode those members; the rest is checked to be JSON and skipped. Raises `Malformed` (case A21)."""
    try:
        seen = _PEEK.decode(raw)
        if not raw.isascii():
            raw.decode()  # skipped strings are not looked into, and an engine answers bad UTF-8 with a 500
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError):
            body_object(raw)  # says more: what is no object may be no JSON either
        raise not_json(raw, error) from None
    seen.model = model_of(seen.model)
    seen.stream = stream_of(seen.stream, default=False)
    return seen


def given(value: Any) -> Any:
    """A member's value; None where it is absent."""
    return None if value is msgspec.UNSET else value


def model_of(value: Any) -> str:
    """The model's name, which every hot request must give."""
    if value is None:
        raise Malformed(teaching.field_missing("model"), "model")
    if not isinstance(value, str) or not value:
        raise Malformed(teaching.field_must("model", "model"), "model")
    return value


def stream_of(value: Any, *, default: bool) -> bool:
    """Whether the answer comes as a stream; ollama's default is yes, the others' no."""
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Malformed(teaching.field_must("stream", "boolean"), "stream")
    return value
