"""A request for several answers as requests for one each, and their answers as one. Pure.

Engines make as many at once as they have slots, and refuse more; they count the first one's tokens only. Asked one after the other at the
place that the request holds, any number is made, each is counted, and nobody else's slots are taken.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.completions import counts_of, together
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.openai import wants_usage
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.sse import DONE, DONE_PAYLOAD, data_event, data_of

MOST: Final = 128
"""Answers to one request: as many as the service whose dialect this is makes of a chat."""
_OURS: Final = ("n", "stream_options", "store", "metadata", "echo")


class Several(NamedTuple):
    """`each` answers belong to one prompt, in the order of `parts`; `told`: a stream ends with its counts."""

    parts: list[dict[str, Any]]
    each: int
    told: bool


def split(body: Mapping[str, Any]) -> Several | None:
    """The requests for one answer each; None where this is one. More prompts than `MOST` are one request to the engine, too."""
    n, prompts = body.get("n"), prompts_in(body)
    each: Any = 1 if n is None else n if (number := whole(n)) is None else number
    most = max(1, MOST // len(prompts))
    if not isinstance(each, int) or isinstance(each, bool) or not 1 <= each <= MOST:
        raise Malformed(teaching.field_from_one_to("n", MOST), "n")
    if each > most:
        raise Malformed(teaching.too_many_answers(len(prompts), MOST), "n")
    if each * len(prompts) == 1 or len(prompts) > MOST:
        return None
    base = {name: value for name, value in body.items() if name not in _OURS}
    seed = base.get("seed")
    parts = []
    for prompt in prompts:
        own = base if "prompt" not in base else {**base, "prompt": prompt}
        # The same seed would make the same answer every time.
        parts += [{**own, "seed": seed + at} if isinstance(seed, int) and at else own for at in range(each)]
    return Several(parts, each, wants_usage(body.get("stream_options")))


def prompts_in(body: Mapping[str, Any]) -> list[Any]:
    """The prompts of a raw completion; one for a chat, for a text, and for tokens."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and prompt and all(isinstance(one, str | list) for one in prompt):
        return prompt
    return [prompt]


def total(each: int, told: Sequence[Usage | None]) -> Usage | None:
    """The counts of all answers; a prompt is read once however many it has."""
    found: Usage | None = None
    for at, usage in enumerate(told):
        if usage is not None:
            found = together(found, usage, same_prompt=at % each > 0)
    return found


def usage_told(answer: Mapping[str, Any]) -> Usage | None:
    """The counts in a buffered answer."""
    told = answer.get("usage")
    if not isinstance(told, dict):
        return None
    details = told.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(told.get("prompt_tokens") or 0, told.get("completion_tokens") or 0, cached or 0)


def joined(answers: Sequence[dict[str, Any]], usage: Usage | None) -> dict[str, Any]:
    """Buffered answers as one, under the first one's id."""
    choices = [{**choice, "index": at} for at, answer in enumerate(answers) for choice in answer["choices"][:1]]
    whole = {name: value for name, value in answers[0].items() if name != "timings"}
    return {**whole, "choices": choices, **({} if usage is None else {"usage": counts_of(usage)})}


class Numbering:
    """Events of one stream after the other as those of one: choices numbered, one id, one end."""

    __slots__ = ("_head", "at")

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self.at = 0

    def renumber(self, events: bytes) -> bytes:
        """Whole events; an end is left out, and what has no data passes. Of the fields only data is kept: names and ids are of one stream."""
        out = []
        for event in events.split(b"\n\n"):
            payload = data_of(event.split(b"\n"))
            if payload is None:
                if event:
                    out.append(event + b"\n\n")
            elif payload != DONE_PAYLOAD:
                said = json.loads(payload)
                if "error" not in said:
                    self._own(said)
                out.append(data_event(dump(said)))
        return b"".join(out)

    def _own(self, said: dict[str, Any]) -> None:
        for name in ("id", "created"):
            if name in said:
                said[name] = self._head.setdefault(name, said[name])
        for choice in said.get("choices") or ():
            choice["index"] = self.at
        self._head = {
            **{name: value for name, value in said.items() if name not in ("choices", "timings", "usage")},
            **self._head,
        }

    def end(self, usage: Usage | None) -> bytes:
        """The last events: the counts, where they are wanted, and the end."""
        told = b"" if usage is None else data_event(dump({**self._head, "choices": [], "usage": counts_of(usage)}))
        return told + DONE
