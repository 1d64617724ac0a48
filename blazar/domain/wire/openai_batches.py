"""OpenAI's batches and files on the wire: an order read, an input line judged, result lines and objects written. Reads no file."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.batches import Answered, Batch, Fate, Flaw, Line, Spent, State
from blazar.domain.errors import Malformed
from blazar.domain.wire.request import ignored, want_object, want_text

ENDPOINTS: Final = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses")
PURPOSES: Final = ("batch", "user_data", "assistants", "vision")
MOST_REQUESTS: Final = 50_000
LONGEST_ID: Final = 512

SHORTEST_LIFE: Final = 3_600
LONGEST_LIFE: Final = 30 * 86_400
"""Seconds: OpenAI's bounds of `expires_after`."""
BATCH_FILE_LIFE: Final = 30 * 86_400
"""Seconds that a file for a batch is kept where nothing was said, as OpenAI does."""

_WINDOW: Final = re.compile(r"([1-9]\d{0,3})([mhd])")
_SECONDS: Final = {"m": 60, "h": 3_600, "d": 86_400}
_MOST_METADATA, _LONGEST_KEY, _LONGEST_VALUE = 16, 64, 512
_KNOWN: Final = frozenset(
    {"input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after", "model"}
)
_LINE_FIELDS: Final = frozenset({"custom_id", "method", "url", "body"})


class Order(NamedTuple):
    """What POST /v1/batches asks for. `warnings` are values of `x-blazar-warning`."""

    input_file_id: str
    endpoint: str
    window: str
    seconds: int
    metadata: dict[str, str] | None
    output_lives: int
    warnings: tuple[str, ...]


def read_order(body: Mapping[str, Any], served: Sequence[str]) -> Order:
    """The body of POST /v1/batches; `served` are the endpoints that answer here. Null means absent."""
    for field in ("input_file_id", "endpoint", "completion_window"):
        if not want_text(body, field):
            raise Malformed(teaching.field_missing(field), field)
    endpoint, window = body["endpoint"], body["completion_window"]
    if endpoint not in served:
        raise Malformed(teaching.batch_endpoint_wrong(served), "endpoint")
    if (parsed := _WINDOW.fullmatch(window)) is None:
        raise Malformed(teaching.field_must("completion_window", "window"), "completion_window")
    seconds = int(parsed[1]) * _SECONDS[parsed[2]]
    lives = read_life(body.get("output_expires_after"), "output_expires_after")
    unknown = tuple(ignored(name) for name, value in body.items() if name not in _KNOWN and value is not None)
    return Order(body["input_file_id"], endpoint, window, seconds, read_metadata(body), lives, unknown)


def read_life(value: Any, field: str) -> int:
    """Seconds of an `expires_after`; 0 where there is none."""
    if value is None:
        return 0
    life = want_object(value, field)
    if life.get("anchor", "created_at") != "created_at":
        raise Malformed(teaching.field_must(f"{field}.anchor", "created_at"), f"{field}.anchor")
    seconds = life.get("seconds")
    if isinstance(seconds, float) and seconds.is_integer():
        seconds = int(seconds)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not SHORTEST_LIFE <= seconds <= LONGEST_LIFE:
        raise Malformed(teaching.life_wrong(f"{field}.seconds", SHORTEST_LIFE, LONGEST_LIFE), f"{field}.seconds")
    return seconds


def read_metadata(body: Mapping[str, Any]) -> dict[str, str] | None:
    """Short texts by short names, or nothing."""
    given = body.get("metadata")
    if given is None:
        return None
    pairs = want_object(given, "metadata")
    for name, value in pairs.items():
        if not isinstance(value, str) or len(value) > _LONGEST_VALUE or len(name) > _LONGEST_KEY:
            raise Malformed(teaching.field_must("metadata", "metadata"), "metadata")
    if len(pairs) > _MOST_METADATA:
        raise Malformed(teaching.field_must("metadata", "metadata"), "metadata")
    return pairs


def read_line(raw: bytes, endpoint: str) -> Line | Flaw:
    """One line of an input file, or what is wrong with it."""
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return Flaw("invalid_json_line", teaching.batch_line_no_json())
    if not isinstance(said, dict):
        return Flaw("invalid_json_line", teaching.batch_line_no_json())
    return _flaw(said, endpoint) or Line(said["custom_id"], said["body"])


def _flaw(said: Mapping[str, Any], endpoint: str) -> Flaw | None:
    """The first thing that is wrong with a line."""
    custom_id, body = said.get("custom_id"), said.get("body")
    found: Flaw | None = None
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= LONGEST_ID:
        found = Flaw("invalid_custom_id", teaching.batch_custom_id_wrong(LONGEST_ID), "custom_id")
    elif said.get("method") != "POST":
        found = Flaw("invalid_method", teaching.field_must("method", "post"), "method")
    elif said.get("url") != endpoint:
        found = Flaw("mismatched_url", teaching.batch_url_wrong(endpoint), "url")
    elif not isinstance(body, dict):
        found = Flaw("invalid_body", teaching.field_must("body", "object"), "body")
    elif not isinstance(body.get("model"), str):
        found = Flaw("missing_model", teaching.field_missing("model"), "body.model")
    elif unknown := sorted(set(said) - _LINE_FIELDS):
        found = Flaw("unknown_field", teaching.batch_field_unknown(unknown[0][:60]), unknown[0][:60])
    return found


def answered_line(batch_id: str, number: int, line: Line, answered: Answered) -> bytes:
    """A result as it stands in the output or the error file."""
    response = b'{"status_code":%d,"request_id":%s,"body":%s}' % (
        answered.status,
        _quoted(answered.request_id),
        one_line(answered.body),
    )
    return _result(batch_id, number, line.custom_id, response, b"null")


def unanswered_line(batch_id: str, number: int, line: Line, fate: Fate) -> bytes:
    """The result of a request that was not asked any more."""
    expired = fate is Fate.EXPIRED
    code = "batch_expired" if expired else "batch_cancelled"
    say = teaching.batch_line_expired() if expired else teaching.batch_line_cancelled()
    error = json.dumps({"code": code, "message": say}, ensure_ascii=False).encode()
    return _result(batch_id, number, line.custom_id, b"null", error)


_USAGE: Final = re.compile(rb'"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\}){0,2000}\})')
"""Inside a text a quote stands escaped, so this never matches one. Not parsed as a whole: a result may hold a thousand vectors."""


def spent_in(result: bytes) -> Spent:
    """What the answer in a result line cost, in either of the two spellings; nothing where it does not say."""
    found = _USAGE.findall(result)
    try:
        said = json.loads(found[-1]) if found else {}
    except ValueError:
        said = {}
    detail = {name: inner for name, held in said.items() if isinstance(held, dict) for name, inner in held.items()}
    names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    prompt, completion = (next((_count(said.get(name)) for name in pair if name in said), 0) for pair in names)
    return Spent(prompt, _count(detail.get("cached_tokens")), completion, _count(detail.get("reasoning_tokens")))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _result(batch_id: str, number: int, custom_id: str, response: bytes, error: bytes) -> bytes:
    head = b'{"id":%s,"custom_id":%s,' % (_quoted(f"batch_req_{batch_id[6:]}_{number}"), _quoted(custom_id))
    return head + b'"response":%s,"error":%s}' % (response, error)


def _quoted(text: str) -> bytes:
    return json.dumps(text).encode()


def one_line(body: bytes) -> bytes:
    """An answer as it came where it is one line, else made one: a result must not be two lines."""
    if b"\n" not in body and b"\r" not in body and body:
        return body
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = body.decode("utf-8", "replace")
    return json.dumps(said, separators=(",", ":")).encode()


def batch_object(batch: Batch) -> dict[str, Any]:
    """A batch as OpenAI shows it."""
    tally = batch.tally
    moments = ((f"{state.value}_at", batch.stamps.get(f"{state.value}_at")) for state in State)
    stamps = {name: None if at is None else int(at) for name, at in moments if name != "validating_at"}
    errors = [
        {"code": flaw.code, "message": flaw.message, "param": flaw.param or None, "line": flaw.line or None}
        for flaw in batch.flaws
    ]
    failed = tally.errored + tally.canceled + tally.expired
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "model": batch.model or None,
        "errors": {"object": "list", "data": errors} if errors else None,
        "input_file_id": batch.input_file_id,
        "completion_window": batch.window,
        "status": batch.state.value,
        "output_file_id": batch.output_file_id or None,
        "error_file_id": batch.error_file_id or None,
        "created_at": int(batch.created_at),
        "expires_at": int(batch.expires_at),
        **stamps,
        "request_counts": {"total": tally.total, "completed": tally.succeeded, "failed": failed},
        "usage": _usage(batch.spent),
        "metadata": batch.metadata,
    }


def _usage(spent: Spent) -> dict[str, Any]:
    return {
        "input_tokens": spent.prompt,
        "input_tokens_details": {"cached_tokens": spent.cached},
        "output_tokens": spent.completion,
        "output_tokens_details": {"reasoning_tokens": spent.thought},
        "total_tokens": spent.prompt + spent.completion,
    }
