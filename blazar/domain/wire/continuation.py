"""An answer that goes on from a turn which the request leaves open: what of it was the caller's own. Pure.

llama-server begins a whole answer with that turn and a streamed one behind it; the services of both dialects tell only what is new.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain.wire.answer import Answer
from blazar.domain.wire.child import with_thought


class Begun(NamedTuple):
    """What the request has the assistant say and think already."""

    text: str = ""
    reasoning: str = ""


NOTHING: Final = Begun()


def begun(messages: Any) -> Begun:
    """The last of a request's messages, where it is the assistant's and calls nothing."""
    last = messages[-1] if isinstance(messages, Sequence) and messages else None
    if not isinstance(last, Mapping) or last.get("role") != "assistant" or last.get("tool_calls"):
        return NOTHING
    text, reasoning = last.get("content"), last.get("reasoning_content")
    return Begun(text if isinstance(text, str) else "", reasoning if isinstance(reasoning, str) else "")


def behind(answer: Answer, said: Begun) -> Answer:
    """What is new of an answer. One that does not begin as the turn did is a turn of its own, and all of it is."""
    if said == NOTHING or not (answer.text.startswith(said.text) and answer.reasoning.startswith(said.reasoning)):
        return answer
    text, reasoning = answer.text[len(said.text) :], answer.reasoning[len(said.reasoning) :]
    if said.text and not reasoning.strip():
        reasoning = ""  # where text had begun the thinking was over: the blanks that end it are the template's
    rest = len(text) + sum(len(call.arguments) for call in answer.calls)
    usage = with_thought(answer.usage._replace(thought=0), None, len(reasoning), rest) or answer.usage
    return answer._replace(text=text, reasoning=reasoning, usage=usage)
