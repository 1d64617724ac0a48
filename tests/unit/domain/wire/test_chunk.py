"""The shape of a child's chunk."""

from dataclasses import dataclass

from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.chunk import ChildChunk, Choice
from blazar.domain.wire.delta import Finish, Text


@dataclass(frozen=True)
class _Choice:
    index: int | None = 0
    delta: None = None
    message: None = None
    text: str | None = None
    logprobs: None = None
    finish_reason: str | None = None


@dataclass(frozen=True)
class _Chunk:
    choices: list[_Choice]
    usage: None = None
    timings: None = None
    verbose: None = None
    prompt_progress: None = None
    error: None = None


def test_any_classes_with_these_attributes_serve() -> None:
    """A decoder brings its own classes; the reader asks for attributes only."""

    def decode(payload: bytes) -> ChildChunk:
        return _Chunk([_Choice(text=payload.decode(), finish_reason="stop")])

    choice: Choice = _Choice()
    assert choice.index == 0
    reader = ChildReader(decode, "m")
    assert reader.feed(b"data: hi\n\ndata: [DONE]\n\n") == [Text("hi"), Finish("stop")]
