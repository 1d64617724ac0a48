"""A child's buffered reply → one neutral record, by the same rules as the stream reader."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.wire.child import failed_of, finish_of, usage_of, with_thought
from blazar.domain.wire.chunk import Decode
from blazar.domain.wire.delta import Failed, Finish, Usage
from blazar.domain.wire.tools import Call, CallGatherer, CallTracker


class Answer(NamedTuple):
    """A whole answer."""

    text: str
    reasoning: str
    calls: tuple[Call, ...]
    finish: Finish
    usage: Usage
    odds: Sequence[Any] = ()
    """The child's rows of log probabilities, where they were asked for."""


def answer_of(raw: bytes, decode: Decode, model: str, *, alone: bool = False) -> Answer | Failed:
    """Read a reply of `/v1/chat/completions` or `/v1/completions`.

    An empty `choices` with an error beside it is a failure with the engine's own words, however good its status was.
    `alone`: of several calls only the first.
    """
    try:
        reply = decode(raw)
    except ValueError:
        return Failed(502, teaching.child_garbled(model))
    if reply.error is not None:
        return failed_of(reply.error, model)
    if not reply.choices:
        return Failed(502, teaching.child_gave_no_reason(model))
    choice = reply.choices[0]
    said = choice.message or choice.delta
    gatherer = CallGatherer()
    for fragment in CallTracker(alone=alone).take((said.tool_calls if said else None) or (), last=True):
        gatherer.add(fragment)
    calls = gatherer.calls()
    text = (said.content if said else choice.text) or ""
    reasoning = ((said.reasoning_content or said.reasoning) if said else None) or ""
    usage = usage_of(reply.usage, reply.timings) or Usage(0, 0)
    rest = len(text) + sum(len(call.arguments) for call in calls)
    stop = (reply.verbose.stopping_word if reply.verbose else None) or ""
    return Answer(
        text=text,
        reasoning=reasoning,
        calls=calls,
        finish=finish_of(choice.finish_reason, stop, calls=len(calls)),
        usage=with_thought(usage, reply.usage, len(reasoning), rest) or usage,
        odds=(choice.logprobs.content if choice.logprobs else None) or (),
    )
