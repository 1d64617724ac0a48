"""The neutral vocabulary between the one child reader and the writers, one per dialect (habit 6).

A stream is any number of Text, Reasoning and ToolFragment, then at most one Finish and at most one Usage, or a Failed
that ends it. Where a child tells the prompt's size ahead, a Usage without a completion comes before all of them. Readers and writers hold their own state, never await and never see a socket.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Text(NamedTuple):
    """A piece of the visible answer. `odds` are the child's rows of log probabilities, where they were asked for."""

    text: str
    odds: Sequence[Any] = ()


class Reasoning(NamedTuple):
    """A piece of the model's thinking."""

    text: str
    odds: Sequence[Any] = ()


class ToolFragment(NamedTuple):
    """A piece of one tool call: `id` and `name` on its first fragment, `arguments` is a slice of JSON text."""

    call: int
    id: str | None
    name: str | None
    arguments: str


class Finish(NamedTuple):
    """Why the answer ended, in OpenAI's words: stop, length, tool_calls, content_filter.

    `stop` is the stop sequence that ended it, where the child said so.
    """

    reason: str
    stop: str = ""


class Usage(NamedTuple):
    """Token counts of the whole request (`prompt` includes `cached`) and the engine's own timings in ms (0: unknown).

    `thought` are those of `completion` that were thinking.
    """

    prompt: int
    completion: int
    cached: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    thought: int = 0


class Failed(NamedTuple):
    """The child reported an error inside the stream, or the stream broke; nothing follows."""

    status: int
    message: str


Delta = Text | Reasoning | ToolFragment | Finish | Usage | Failed


class Writer(Protocol):
    """Turns deltas into one dialect's bytes."""

    def write(self, delta: Delta) -> bytes:
        """Bytes that this delta adds to the stream (possibly none)."""
        ...

    def flush(self) -> bytes:
        """What the dialect says when the stream is over; empty after a Failed."""
        ...
