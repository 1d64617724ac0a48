"""What a child's JSON looks like to the reader: attributes only, so that any typed decoder can bring its own classes.

Every attribute has a default on the decoder's side: engines leave out what they do not know. The names are those of the
OpenAI chat and completion objects plus llama-server's `timings` and `__verbose`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class CallFunction(Protocol):
    """The function of a tool call; `arguments` is JSON text, from some engines an object."""

    @property
    def name(self) -> str | None: ...
    @property
    def arguments(self) -> Any: ...


class CallPiece(Protocol):
    """A tool call, or a fragment of one."""

    @property
    def index(self) -> int | None: ...
    @property
    def id(self) -> str | None: ...
    @property
    def function(self) -> CallFunction | None: ...


class Said(Protocol):
    """A `delta`, or a whole `message`. mlx-lm says `reasoning`, the others `reasoning_content`."""

    @property
    def content(self) -> str | None: ...
    @property
    def reasoning_content(self) -> str | None: ...
    @property
    def reasoning(self) -> str | None: ...
    @property
    def tool_calls(self) -> Sequence[CallPiece] | None: ...


class Odds(Protocol):
    """`logprobs` of a chat: a row a token."""

    @property
    def content(self) -> Sequence[Any] | None: ...


class Choice(Protocol):
    """`delta` on a chat stream, `message` in a buffered chat reply, `text` on the completions route."""

    @property
    def index(self) -> int | None: ...
    @property
    def delta(self) -> Said | None: ...
    @property
    def message(self) -> Said | None: ...
    @property
    def text(self) -> str | None: ...
    @property
    def logprobs(self) -> Odds | None: ...
    @property
    def finish_reason(self) -> str | None: ...


class CountDetails(Protocol):
    """`prompt_tokens_details`."""

    @property
    def cached_tokens(self) -> int | None: ...


class ThoughtDetails(Protocol):
    """`completion_tokens_details`."""

    @property
    def reasoning_tokens(self) -> int | None: ...


class Counts(Protocol):
    """`usage`. SGLang tells its `reasoning_tokens` beside the other counts, OpenAI among details."""

    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def completion_tokens(self) -> int | None: ...
    @property
    def prompt_tokens_details(self) -> CountDetails | None: ...
    @property
    def completion_tokens_details(self) -> ThoughtDetails | None: ...
    @property
    def reasoning_tokens(self) -> int | None: ...


class Timings(Protocol):
    """llama-server's own, null where nothing was computed; `prompt_n` leaves out what the cache held."""

    @property
    def prompt_n(self) -> int | None: ...
    @property
    def prompt_ms(self) -> float | None: ...
    @property
    def predicted_n(self) -> int | None: ...
    @property
    def predicted_ms(self) -> float | None: ...
    @property
    def cache_n(self) -> int | None: ...


class Verbose(Protocol):
    """The one thing we read from `__verbose`, which only requests with stop sequences ask for."""

    @property
    def stopping_word(self) -> str | None: ...


class Progress(Protocol):
    """llama-server's `prompt_progress`, in the first events of a stream that asked for it."""

    @property
    def total(self) -> int | None: ...


class ChildChunk(Protocol):
    """One event of a stream, or a whole buffered reply."""

    @property
    def choices(self) -> Sequence[Choice] | None: ...
    @property
    def usage(self) -> Counts | None: ...
    @property
    def timings(self) -> Timings | None: ...
    @property
    def verbose(self) -> Verbose | None: ...
    @property
    def prompt_progress(self) -> Progress | None: ...
    @property
    def error(self) -> Any: ...


Decode = Callable[[bytes], ChildChunk]
"""Raises `ValueError` on anything that is not a JSON object of this shape."""
