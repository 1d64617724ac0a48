"""JSON on the hot path: typed decoding of child events, a string quoter for writers, whole values both ways (D24).

The only module of the lane that knows the JSON library. Decides no meaning: names and defaults here, everything else in the domain.
"""

import re
from typing import Any, Final, TypeVar

import msgspec

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.chunk import ChildChunk


class CallFunction(msgspec.Struct, gc=False):
    """The function of a tool call."""

    name: str | None = None
    arguments: Any = None


class CallPiece(msgspec.Struct, gc=False):
    """A tool call or a fragment of one."""

    index: int | None = None
    id: str | None = None
    function: CallFunction | None = None


class Said(msgspec.Struct, gc=False):
    """A `delta` or a `message`."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallPiece] | None = None


class Odds(msgspec.Struct, gc=False):
    """`logprobs`; only a chat's shape is read."""

    content: list[Any] | None = None


class Choice(msgspec.Struct, gc=False):
    """One choice of a chunk or a reply."""

    index: int | None = None
    delta: Said | None = None
    message: Said | None = None
    text: str | None = None
    logprobs: Odds | None = None
    finish_reason: str | None = None


class CountDetails(msgspec.Struct, gc=False):
    """`prompt_tokens_details`."""

    cached_tokens: int | None = None


class ThoughtDetails(msgspec.Struct, gc=False):
    """`completion_tokens_details`."""

    reasoning_tokens: int | None = None


class Counts(msgspec.Struct, gc=False):
    """`usage`."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CountDetails | None = None
    completion_tokens_details: ThoughtDetails | None = None
    reasoning_tokens: int | None = None


class Timings(msgspec.Struct, gc=False):
    """llama-server's timings; some builds leave a member out or null where nothing was computed."""

    prompt_n: int | None = None
    prompt_ms: float | None = None
    predicted_n: int | None = None
    predicted_ms: float | None = None
    cache_n: int | None = None


class Verbose(msgspec.Struct, gc=False):
    """The one thing read from `__verbose`."""

    stopping_word: str | None = None


class Progress(msgspec.Struct, gc=False):
    """`prompt_progress`: how many tokens the prompt has."""

    total: int | None = None


class Chunk(msgspec.Struct, gc=False):
    """One event of a child's stream, or its whole reply."""

    choices: list[Choice] | None = None
    usage: Counts | None = None
    timings: Timings | None = None
    verbose: Verbose | None = msgspec.field(default=None, name="__verbose")
    prompt_progress: Progress | None = None
    error: Any = None


class Infilled(msgspec.Struct, gc=False):
    """One event of llama-server's infill route, or its whole reply; the counts come with the last."""

    content: str | None = None
    stop: bool = False
    stop_type: str | None = None
    stopping_word: str | None = None
    tokens_predicted: int | None = None
    tokens_evaluated: int | None = None
    timings: Timings | None = None
    error: Any = None


class TokenLimits(msgspec.Struct):
    """The members of a body that say how long an answer may become."""

    max_completion_tokens: Any = None
    max_tokens: Any = None
    n_predict: Any = None


_T = TypeVar("_T")
_INFILLED: Final = msgspec.json.Decoder(Infilled)
_CHUNK: Final = msgspec.json.Decoder(Chunk)
_LIMITS: Final = msgspec.json.Decoder(TokenLimits)
_ANY: Final = msgspec.json.Decoder()
_ENCODER: Final = msgspec.json.Encoder()
_BYTE: Final = re.compile(r"\(byte \d+\)")


def _decoded(decoder: msgspec.json.Decoder[_T], data: bytes) -> _T:
    """Raises `ValueError`, as msgspec's errors are: whoever asks a child expects no other."""
    try:
        return decoder.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decode_chunk(data: bytes) -> ChildChunk:
    """`data` as a chunk; raises `ValueError`."""
    return _decoded(_CHUNK, data)


def decode_infilled(data: bytes) -> ChildChunk:
    """The same of the infill route, in the words of the others, so that one reader reads both."""
    said = _decoded(_INFILLED, data)
    if not said.stop:
        return Chunk(choices=[Choice(text=said.content)], error=said.error)
    finish = "length" if said.stop_type == "limit" else "stop"
    return Chunk(
        choices=[Choice(text=said.content, finish_reason=finish)],
        usage=Counts(said.tokens_evaluated, said.tokens_predicted),
        timings=said.timings,
        verbose=Verbose(said.stopping_word),
        error=said.error,
    )


def limits_in(data: bytes) -> dict[str, Any]:
    """Those of a body that is JSON; everything else in it is skipped."""
    return msgspec.structs.asdict(_decoded(_LIMITS, data))


def decode(data: bytes) -> Any:
    """Any JSON value; raises `ValueError`."""
    return _decoded(_ANY, data)


def encode(value: Any) -> bytes:
    """Compact JSON."""
    return _ENCODER.encode(value)


def quote(text: str) -> bytes:
    """`text` as a JSON string in UTF-8, quotes included."""
    try:
        return _ENCODER.encode(text)
    except UnicodeEncodeError:  # half a surrogate pair, which has no UTF-8
        return _ENCODER.encode(text.encode("utf-8", "replace").decode())


_HALF: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
BOM: Final = b"\xef\xbb\xbf"
"""Some editors and shells put it before a file's first byte; it says nothing and is dropped (RFC 8259, 8.1)."""


def body_object(raw: bytes) -> dict[str, Any]:
    """A request body that must be a JSON object; raises `Malformed` (case A21)."""
    try:
        body = _ANY.decode(raw.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise not_json(raw, error) from None
    if not isinstance(body, dict):
        raise Malformed(teaching.body_not_object())
    return body


def not_json(raw: bytes, error: Exception) -> Malformed:
    """Why a body is not JSON, in words that fit every decoder failure."""
    said = str(error)
    if not raw.strip():
        why = teaching.body_flaw("empty")
    elif isinstance(error, RecursionError):
        why = teaching.body_flaw("deep")
    elif not _is_text(raw):
        why = teaching.body_flaw("bytes")
    elif "out of range" in said:
        why = teaching.body_flaw("number")
    elif "surrogate" in said or "escape" in said:
        why = teaching.body_flaw("escape", _place(said))  # half of a pair: cut text, as a rule
    elif "truncated" in said and (half := _HALF.search(raw)) is not None:
        # At the end of a string the decoder looks for the other half behind the quote, and takes the text for cut.
        why = teaching.body_flaw("escape", f" (byte {half.start()})")
    elif "truncated" in said:
        why = teaching.body_flaw("cut")
    else:
        why = said.removeprefix("JSON is malformed: ")
    return Malformed(teaching.body_not_json(why))


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _place(said: str) -> str:
    """Where, if the decoder tells."""
    found = _BYTE.search(said)
    return f" {found[0]}" if found else ""
