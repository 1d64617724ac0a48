"""What `/v1/completions` has of its own, where children answer as they do for chats: log probabilities, counts, several choices. Pure.

llama-server writes the log probabilities of a chat there, tells counts with a choice's last event instead of behind all of them, and opens
a stream of several prompts with an event that is none.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.chunk import Decode
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.openai_stream import StreamFilter
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.sse import data_event

NULL: Final = b"null"
_TOLD: Final = (b'"logprobs":{', b'"logprobs": {')


def tells_logprobs(data: bytes) -> bool:
    """Whether log probabilities stand in a child's bytes; inside a text the quotes stand escaped."""
    return _TOLD[0] in data or _TOLD[1] in data


class Offsets:
    """Where each choice's text has got to."""

    __slots__ = ("_at",)

    def __init__(self) -> None:
        self._at: dict[int, int] = {}

    def of(self, choice: int, told: Mapping[str, Any], *, bare: bool) -> dict[str, Any]:
        """A chat's log probabilities in the four lists of a completion. `bare`: no alternatives were asked for."""
        at = self._at.get(choice, 0)
        rows = [row for row in told.get("content") or () if isinstance(row, dict)]
        offsets = []
        for row in rows:
            offsets.append(at)
            at += len(str(row.get("token", "")))
        self._at[choice] = at
        return {
            "tokens": [row.get("token") for row in rows],
            "token_logprobs": [row.get("logprob") for row in rows],
            "top_logprobs": None if bare else [_alternatives(row) for row in rows],
            "text_offset": offsets,
        }


def _alternatives(row: Mapping[str, Any]) -> dict[str, Any]:
    found = row.get("top_logprobs")
    return {top["token"]: top.get("logprob") for top in found or () if isinstance(top, dict) and "token" in top}


def reshape(choice: dict[str, Any], offsets: Offsets, *, bare: bool) -> None:
    """One choice of an answer or an event, in place; what has the shape of a completion already stays."""
    told = choice.get("logprobs")
    if isinstance(told, dict) and "content" in told:
        choice["logprobs"] = offsets.of(choice.get("index") or 0, told, bare=bare)


def reshaped(answer: dict[str, Any], *, bare: bool) -> dict[str, Any]:
    """A buffered answer, in place."""
    offsets = Offsets()
    for choice in answer.get("choices") or ():
        reshape(choice, offsets, bare=bare)
    return answer


def want_logprobs(value: Any) -> bool:
    """Whether any are asked for without alternatives: 0, which engines take for none at all. Raises where it is no number of them."""
    if value is not None and not isinstance(value, bool) and (not isinstance(value, int) or value < 0):
        raise Malformed(teaching.field_must("logprobs", "count"), "logprobs")
    return value == 0 and not isinstance(value, bool)


def counts_of(usage: Usage) -> dict[str, Any]:
    """The counts as OpenAI tells them."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def together(one: Usage | None, other: Usage, *, same_prompt: bool = False) -> Usage:
    """The counts of two answers; a prompt that both have counts once."""
    if one is None:
        return other
    prompt, cached = (0, 0) if same_prompt else (other.prompt, other.cached)
    return Usage(one.prompt + prompt, one.completion + other.completion, one.cached + cached)


class TextFilter(StreamFilter):
    """A stream of completions, one for each prompt."""

    __slots__ = ("_bare", "_head", "_offsets", "_total")

    def __init__(self, decode: Decode, caller_model: str, drop_usage: bool, child: str, *, bare: bool) -> None:
        StreamFilter.__init__(self, decode, caller_model, drop_usage, child=child)
        self._bare = bare
        self._offsets = Offsets()
        self._head: dict[str, Any] = {}
        self._total: Usage | None = None  # of those that told it with their last event

    def _suspects(self, data: bytes) -> bool:
        return tells_logprobs(data) or super()._suspects(data)

    def _is_none(self, payload: bytes) -> bool:
        """ODD: an event that is none is left out. A stream of several prompts begins with one (llama.cpp b11434)."""
        return payload == NULL

    def _looked_at(self, payload: bytes) -> bytes | None:
        """ODD: counts leave the event that they came with. Clients take a choice beside counts for the end of everything (A7)."""
        before = self.usage
        changed = super()._looked_at(payload)
        if self.done or changed is None:
            return changed
        event = json.loads(changed)
        for choice in event.get("choices") or ():
            reshape(choice, self._offsets, bare=self._bare)
        if event.get("choices") and "usage" in event:
            del event["usage"]
            self._head = {name: value for name, value in event.items() if name not in ("choices", "timings")}
            if self.usage is not None and self.usage is not before:
                self.usage = self._total = together(self._total, self.usage)
        return dump(event)

    def _on_done(self, raw: bytes) -> bytes:
        ended = super()._on_done(raw)
        if self.failed is not None or self._total is None or self._drop_usage:
            return ended
        return data_event(dump({**self._head, "choices": [], "usage": counts_of(self._total)})) + ended
