"""Anthropic's message batches on the wire: an order read, result lines and objects written. Reads no file."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.batches import Answered, Batch, Fate, Line, State
from blazar.domain.errors import Malformed
from blazar.domain.wire.openai_batches import one_line
from blazar.domain.wire.request import ignored, want_list, want_object
from blazar.domain.wire.stamps import rfc3339

ENDPOINT: Final = "/v1/messages"
MOST_REQUESTS: Final = 100_000
WINDOW: Final = 86_400
"""Seconds in which a batch is worked on."""
KEPT: Final = 29 * 86_400
"""Seconds that its results are there, from its creation on."""

_CUSTOM_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class MessageOrder(NamedTuple):
    """What POST /v1/messages/batches asks for. `warnings` are values of `x-blazar-warning`."""

    lines: tuple[Line, ...]
    warnings: tuple[str, ...]


def read_message_order(body: Mapping[str, Any]) -> MessageOrder:
    """The body of POST /v1/messages/batches. What is in `params` is judged when its turn comes, as the API does."""
    requests = want_list(body, "requests")
    if not 0 < len(requests) <= MOST_REQUESTS:
        raise Malformed(teaching.batch_requests_wrong("requests", MOST_REQUESTS), "requests")
    seen: set[str] = set()
    lines = []
    for index, given in enumerate(requests):
        at = f"requests.{index}"
        request = want_object(given, at)
        custom_id = request.get("custom_id")
        if not isinstance(custom_id, str) or _CUSTOM_ID.fullmatch(custom_id) is None:
            raise Malformed(teaching.field_must(f"{at}.custom_id", "custom_id"), f"{at}.custom_id")
        if custom_id in seen:
            raise Malformed(teaching.batch_custom_id_twice(custom_id), f"{at}.custom_id")
        seen.add(custom_id)
        lines.append(Line(custom_id, want_object(request.get("params"), f"{at}.params")))
    unknown = tuple(ignored(name) for name, value in body.items() if name != "requests" and value is not None)
    return MessageOrder(tuple(lines), unknown)


def input_line(line: Line) -> bytes:
    """A request as it is kept until its turn comes."""
    return json.dumps({"custom_id": line.custom_id, "params": line.body}, separators=(",", ":")).encode()


def kept_line(raw: bytes) -> Line:
    """It again."""
    kept = json.loads(raw)
    return Line(kept["custom_id"], kept["params"])


def answered_result(line: Line, answered: Answered) -> bytes:
    """A result: the message, or the error body of the API."""
    said = one_line(answered.body)
    if answered.fate is Fate.SUCCEEDED:
        return _result(line, b'{"type":"succeeded","message":%s}' % said)
    return _result(line, b'{"type":"errored","error":%s}' % said)


def unanswered_result(line: Line, fate: Fate) -> bytes:
    """The result of a request that was not asked any more."""
    return _result(line, b'{"type":"expired"}' if fate is Fate.EXPIRED else b'{"type":"canceled"}')


def _result(line: Line, result: bytes) -> bytes:
    return b'{"custom_id":%s,"result":%s}' % (json.dumps(line.custom_id).encode(), result)


def message_batch_object(batch: Batch, results_url: str) -> dict[str, Any]:
    """A batch as Anthropic shows it; requests count as processing until all of them are through."""
    tally = batch.tally
    counts = {"processing": tally.total, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    if batch.over:
        counts = {
            "processing": 0,
            "succeeded": tally.succeeded,
            "errored": tally.errored,
            "canceled": tally.canceled,
            "expired": tally.expired,
        }
    working = "canceling" if batch.state is State.CANCELLING else "in_progress"
    ended = [at for name, at in batch.stamps.items() if name == f"{batch.state.value}_at"]
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if batch.over else working,
        "request_counts": counts,
        "created_at": rfc3339(batch.created_at),
        "expires_at": rfc3339(batch.expires_at),
        "ended_at": rfc3339(ended[0]) if batch.over and ended else None,
        "cancel_initiated_at": _stamp(batch, "cancelling_at"),
        "archived_at": None,
        "results_url": results_url if batch.over and batch.state is not State.FAILED else None,
    }


def _stamp(batch: Batch, name: str) -> str | None:
    at = batch.stamps.get(name)
    return rfc3339(at) if at is not None else None
