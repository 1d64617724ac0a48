"""What a writer must know of a request beyond the child's deltas."""

from enum import StrEnum
from typing import Final, NamedTuple

LOAD_WORTH_TELLING_NS: Final = 100_000_000
"""`load_duration` is told above 100 ms only: below, the model was there and the number is noise."""


class Shape(StrEnum):
    """Which of ollama's two answer shapes."""

    CHAT = "chat"
    GENERATE = "generate"


class Turn(NamedTuple):
    """One request: the caller's model name (A22), Unix time of its start, its trace id, how long loading took.

    `thinking` false drops reasoning: the caller asked for none (C7, `think: false`).
    """

    model: str
    wall: float = 0.0
    id: str = ""
    load_ns: int = 0
    thinking: bool = True

    def call_id(self, number: int) -> str:
        """An id for a tool call whose engine gave it none; unique across the turns of a conversation."""
        return f"call_{self.id}_{number}" if self.id else f"call_{number}"
