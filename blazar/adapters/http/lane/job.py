"""What every hot endpoint does with its request, its child's stream and its child's whole answer. Shapes only."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from blazar.adapters.http.lane.codec import decode_chunk
from blazar.adapters.http.lane.watch import Watch
from blazar.application.ports.saved import Saved
from blazar.application.ports.upstream import ChildCall, Headers
from blazar.domain.manners import LLAMACPP, Manners
from blazar.domain.wire.answer import Answer, answer_of
from blazar.domain.wire.chunking import Late
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.responses_items import Recalled
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.structured import Asked
from blazar.domain.wire.turn import Turn

if TYPE_CHECKING:
    from blazar.adapters.http.lane.echoed import Echoed
    from blazar.adapters.http.lane.raw_talk import RawTalk
    from blazar.domain.wire.raw_tools import RawLane

JSON_BODY: Final[Headers] = ((b"content-type", b"application/json"),)
"""Headers of every call: nothing of the client's own headers reaches a child."""


class Occasion(NamedTuple):
    """The circumstances of one answer: the child's name for the model, the trace, Unix time of the request, how long it loaded.

    `manners` is how this child wants to be asked, `window` what it may hold in tokens (0: unknown), and
    `window_key` the setting that bounds that.
    """

    child_model: str
    trace: str
    wall: float
    load_seconds: float
    elapsed: Callable[[], float]
    manners: Manners = LLAMACPP
    window: int = 0
    window_key: str = "ctx"


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

    def seen(self) -> Sequence[Seen]:
        """What is known of the answers in it, once it has ended well; else nothing."""
        ...

    def spoke(self, out: bytes) -> bool:
        """Whether these bytes, the last output of a failed stream, hold anything but the error."""
        ...

    def beat(self) -> bytes:
        """Something that keeps a silent connection open and means nothing; empty where the dialect has none."""
        ...


class Keeps(Protocol):
    """What a job that has to do with kept things says of itself."""

    stream: bool
    warnings: Sequence[str]
    stores: bool
    """The answer is to be kept."""
    background: bool
    """It is not waited for."""
    collects: bool
    """What is kept is read out of the bytes that were sent."""
    usage: Usage | None = None
    """What the answer cost, told when it has ended: a stream's bytes may not say it."""
    previous: str
    references: Sequence[str]
    files: Sequence[str]

    def recall(self, recalled: Recalled) -> None:
        """What the request goes on from is here. Raises `Malformed`."""
        ...

    def ends(self, data: bytes) -> bool:
        """Whether with these bytes the answer is whole."""
        ...

    def saved(self, owner: str, sent: bytes, now: float) -> Saved | None:
        """What is to be kept; None where it is no whole answer. Called in a thread."""
        ...


class Job(Protocol):
    """One request, understood. Built before anything is leased; raises `Malformed` while it is built."""

    model: str  # as the caller spelled it
    stream: bool
    keep_alive: float | None
    num_ctx: int
    load_only: bool  # no prompt: only load, or with keep_alive 0 unload
    vision: bool = False  # it brings pictures
    tools: bool = False  # it offers tools that may be called
    thinks: bool = False  # it wants thoughts, and its dialect refuses that of a model that has none
    raw: bool = False  # a raw generation of a model whose template has no tools: it gives way to everybody
    warnings: Sequence[str]
    window_key: str = "ctx"
    """The setting that bounds what its child may hold; told before `call`."""
    schema: Asked | None = None
    """The schema wanted of the answer, to be judged before anything is leased."""
    constraint: str = ""
    """What the engine holds the answer to, in the receipt's words (D19); empty: nothing, or not all that was asked for."""
    odds: str = ""
    """The field by which log probabilities are asked for; empty: they are not."""
    late: Late | None = None
    """What its child leaves to us of an embedding; told before `call`."""
    observed: bool = False
    """Its answer is words, of which something can be observed; below: it is a chat's, which enforcement may refuse."""
    refusable: bool = False
    watch: Watch | None = None
    """What is observed of its answer; None: nothing is."""
    keeps: Keeps | None = None
    """What it has to do with kept things; nearly every request has nothing."""

    echo: "Echoed | None" = None
    """The prompts that stand in its answer; rendered before `call`."""
    talk: "RawTalk | None" = None
    """Its tools in words, for a model whose template has none; rendered before `call`."""

    def sample_by(self, defaults: Mapping[str, Any]) -> None:
        """Numbers for samplers that hold where the request says nothing; nothing to an answer that is not sampled."""
        del defaults

    def compat(self, lane: "RawLane") -> "Job":
        """The same request for a model whose template has no tools. Asked only of those that offer some."""
        del lane
        return self

    def call(self, child_model: str) -> ChildCall:
        """The request in the child's words."""
        ...

    def again(self, status: int, raw: bytes) -> ChildCall | None:
        """What to ask the child next, where this whole answer of it is not the last word; else None.

        Raises `Malformed` where the child's refusal is better told in our words.
        """
        ...

    def asks(self) -> Mapping[str, Any]:
        """What it wants of its answer, in the fields of an OpenAI body: tools and limits. Asked only where something is suspicious."""
        return {}

    def raws(self, raw: bytes) -> Sequence[bytes]:
        """The child's whole answers that make up the answer, of which this is the last."""
        return (raw,)

    def answers(self, raw: bytes) -> Sequence[Answer]:
        """What is to be judged of a buffered answer; nothing of one that is no answer."""
        answer = answer_of(raw, decode_chunk, self.model)
        if isinstance(answer, Failed):
            return ()
        return (answer if self.talk is None else self.talk.read(answer),)

    def more(self) -> ChildCall | None:
        """What to ask the child next once a stream of it has ended well, to go on with the same answer; nearly always nothing."""
        return None

    def open_stream(self, occasion: Occasion) -> Stream: ...

    def whole(self, occasion: Occasion, raw: bytes) -> Whole:
        """A buffered answer; raises `EngineSaid` where the child's success is none."""
        ...

    def loaded(self, occasion: Occasion, reason: str) -> Whole:
        """The answer to a `load_only` request; `reason` is "load" or "unload"."""
        ...


def formed(schema: Asked | None, answer: Answer) -> tuple[str, ...]:
    """The texts that shall have the form: the answer's own, or what the tool that had to be called is called with."""
    if schema is None or not schema.of_call:
        return (answer.text,)
    return tuple(call.arguments for call in answer.calls) or ("",)


def turn_of(model: str, occasion: Occasion, *, thinking: bool = True) -> Turn:
    """What the domain's writers must know; `model` is the caller's name (case A22)."""
    return Turn(model, occasion.wall, occasion.trace, int(occasion.load_seconds * 1e9), thinking)


def unused(*facts: object) -> AssertionError:
    """For the half of `Job` that an endpoint never reaches: one without streams, one that always asks its child."""
    return AssertionError(facts)
