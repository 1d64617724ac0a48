"""Measuring how fast a build decodes, and the memory of what was measured."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from blazar.domain.records import Engine


class Way(StrEnum):
    """What measures: the build's own tool, or its server by timed completions. Both builds are measured the same way."""

    TOOL = "llama-bench"
    SERVER = "llama-server"


class Run(NamedTuple):
    """One run: `samples` times `tokens` tokens are decoded by `model`. `threads` 0: as the build itself would have it."""

    way: Way
    model: str
    tokens: int
    samples: int
    threads: int
    seconds: float


class BenchFailed(Exception):
    """A run that told nothing, and why. `slow`: it was not done in its time."""

    def __init__(self, why: str, *, slow: bool = False) -> None:
        super().__init__(why)
        self.slow = slow


class DecodeBench(Protocol):
    """Runs builds one at a time, in processes of its own; nobody else's process is touched."""

    def has_tool(self, engine: Engine) -> bool:
        """Whether the build brings the program of `Way.TOOL`."""
        ...

    def measure(self, engine: Engine, run: Run) -> Sequence[float]:
        """Decoded tokens a second, one figure for each sample. Raises `BenchFailed`."""
        ...


class BenchHistory(Protocol):
    """What was measured, for good: it outlives builds and models."""

    def record(self, engine: str, model: str, decode_tps: float, at: float) -> None: ...
