"""What every hot endpoint does with its request, its child's stream and its child's whole answer. Shapes only."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from blazar.application.ports.upstream import ChildCall, Headers
from blazar.domain.manners import LLAMACPP, Manners
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.structured import Asked
from blazar.domain.wire.turn import Turn

JSON_BODY: Final[Headers] = ((b"content-type", b"application/json"),)
"""Headers of every call: nothing of the client's own headers reaches a child."""


class Occasion(NamedTuple):
    """The circumstances of one answer: the child's name for the model, the trace, Unix time of the request, how long it loaded.

    `manners` is how this child wants to be asked, `window` what it may hold in tokens (0: unknown).
    """

    child_model: str
    trace: str
    wall: float
    load_seconds: float
    elapsed: Callable[[], float]
    manners: Manners = LLAMACPP
    window: int = 0


class Whole(NamedTuple):
    """A buffered answer in the caller's dialect, and what it cost."""

    body: bytes
    usage: Usage | None = None


class Stream(Protocol):
    """Child bytes in, client bytes out; whatever one read brought in one call."""

    content_type: bytes
    usage: Usage | None
    failed: Failed | None
    """The stream ended in an error; nothing of the child is wanted any more."""

    def feed(self, data: bytes) -> bytes: ...

    def flush(self) -> bytes:
        """The child's body has ended."""
        ...

    def fail(self, failed: Failed) -> bytes:
        """The error in the dialect's words, as the last thing said (D35)."""
        ...

    def spoke(self, out: bytes) -> bool:
        """Whether these bytes, the last output of a failed stream, hold anything but the error."""
        ...

    def beat(self) -> bytes:
        """Something that keeps a silent connection open and means nothing; empty where the dialect has none."""
        ...


class Job(Protocol):
    """One request, understood. Built before anything is leased; raises `Malformed` while it is built."""

    model: str  # as the caller spelled it
    stream: bool
    keep_alive: float | None
    num_ctx: int
    load_only: bool  # no prompt: only load, or with keep_alive 0 unload
    vision: bool = False  # it brings pictures
    warnings: Sequence[str]
    schema: Asked | None = None
    """The schema wanted of the answer, to be judged before anything is leased."""
    constraint: str = ""
    """What the engine holds the answer to, in the receipt's words (D19); empty: nothing, or not all that was asked for."""

    def call(self, child_model: str) -> ChildCall:
        """The request in the child's words."""
        ...

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        """What to ask the child next, where this whole answer of it is not the last word; else None.

        Raises `Malformed` where the child's refusal is better told in our words.
        """
        ...

    def open_stream(self, occasion: Occasion) -> Stream: ...

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        """A buffered answer; raises `EngineSaid` where the child's success is none."""
        ...

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        """The answer to a `load_only` request; `reason` is "load" or "unload"."""
        ...


def turn_of(model: str, occasion: Occasion, *, thinking: bool = True) -> Turn:
    """What the domain's writers must know; `model` is the caller's name (case A22)."""
    return Turn(model, occasion.wall, occasion.trace, int(occasion.load_seconds * 1e9), thinking)


def unused(*facts: object) -> AssertionError:
    """For the half of `Job` that an endpoint never reaches: one without streams, one that always asks its child."""
    return AssertionError(facts)
