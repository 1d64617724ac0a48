"""Completions with a suffix: the child's infill route asked, its answers told in the shape of `/v1/completions`.

What it is asked is one text before the gap and one behind it. Must not promise more: what has no meaning there is refused by name.
"""

from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Dialect
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Delta, Failed, Finish, Text, Usage
from blazar.domain.wire.envelopes import envelope
from blazar.domain.wire.normalise import drop_nulls
from blazar.domain.wire.openai import STRIPPED
from blazar.domain.wire.quoting import Quote, dump, quote
from blazar.domain.wire.request import INFILL, ChildRequest, ignored, want_bool
from blazar.domain.wire.sse import DONE, data_event
from blazar.domain.wire.structured import constraint_of, wanted_schema
from blazar.domain.wire.turn import Turn

_TOLD_APART: Final = frozenset({"model", "prompt", "stream", "stream_options", "response_format", *STRIPPED})


def completion_request(body: Mapping[str, Any], child_model: str) -> ChildRequest:
    """Read a `/v1/completions` request that has a suffix."""
    given = dict(body)
    drop_nulls(given)
    if given.get("prompt") is None:
        raise Malformed(teaching.field_missing("prompt"), "prompt")
    if not isinstance(given["prompt"], str):
        raise Malformed(teaching.field_must("prompt", "prompt"), "prompt")
    if not isinstance(given["suffix"], str):
        raise Malformed(teaching.field_must("suffix", "string"), "suffix")
    for field, none in (("logprobs", 0), ("n", 1)):
        if given.get(field, none) != none:
            raise Malformed(teaching.field_unsupported(field, teaching.not_with_suffix()), field)
    out = {name: value for name, value in given.items() if name not in _TOLD_APART}
    stream = want_bool(given, "stream", default=False)
    out |= {"model": child_model, "input_prefix": given["prompt"], "input_suffix": given["suffix"], "stream": stream}
    return ChildRequest(
        path=INFILL,
        body=out,
        stream=stream,
        warnings=(ignored("response_format"),) if "response_format" in given else (),
        keep_alive=given.get("keep_alive"),
        schema=wanted_schema(out),
        constraint=constraint_of(out),
    )


def _finish_reason(finish: Finish) -> str:
    return "length" if finish.reason == "length" else "stop"


def _counts(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def _head(turn: Turn) -> dict[str, Any]:
    return {"id": f"cmpl-{turn.id}", "object": "text_completion", "created": int(turn.wall), "model": turn.model}


def completion_reply(turn: Turn, answer: Answer) -> dict[str, Any]:
    """A buffered completion."""
    choice = {"index": 0, "text": answer.text, "logprobs": None, "finish_reason": _finish_reason(answer.finish)}
    return {**_head(turn), "choices": [choice], "usage": _counts(answer.usage)}


class CompletionWriter:
    """Deltas → events of `/v1/completions`. The counts come in an event of their own, where they were asked for."""

    __slots__ = ("_finish", "_head", "_over", "_quote", "_told", "_usage")

    def __init__(self, turn: Turn, quote: Quote = quote, *, usage: bool) -> None:
        self._head = dump(_head(turn))[:-1]
        self._quote = quote
        self._told = usage
        self._finish: Finish | None = None
        self._usage = Usage(0, 0)
        self._over = False

    def write(self, delta: Delta) -> bytes:
        if self._over:
            return b""
        if isinstance(delta, Text):
            return self._event(self._quote(delta.text), b"null")
        if isinstance(delta, Failed):
            self._over = True
            return data_event(dump(envelope(Dialect.OPENAI, delta.status, delta.message)))
        if isinstance(delta, Finish):
            self._finish = delta
        elif isinstance(delta, Usage):
            self._usage = delta
        return b""

    def flush(self) -> bytes:
        if self._over or self._finish is None:
            return b""
        self._over = True
        last = self._event(b'""', dump(_finish_reason(self._finish)))
        counts = data_event(b'%b,"choices":[],"usage":%b}' % (self._head, dump(_counts(self._usage))))
        return last + (counts if self._told else b"") + DONE

    def _event(self, text: bytes, finish: bytes) -> bytes:
        choice = b'{"index":0,"text":%b,"logprobs":null,"finish_reason":%b}' % (text, finish)
        return data_event(b'%b,"choices":[%b]}' % (self._head, choice))
