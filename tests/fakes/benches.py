"""Builds that are as fast as a test says, and a history to look into."""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import NamedTuple

from blazar.application.ports.benches import BenchFailed, BenchHistory, DecodeBench, Run
from blazar.domain.records import Engine


class FakeBench(DecodeBench):
    """`speeds` by tag, one for every sample; a `BenchFailed` there is raised. `toolless` are tags without a tool of their own.

    `spread` makes the samples of a run on more than one thread differ; `spent` is called with each run.
    """

    def __init__(self, speeds: dict[str, float | BenchFailed], spent: Callable[[Run], None] = lambda _: None) -> None:
        self.speeds, self.spent = speeds, spent
        self.toolless: set[str] = set()
        self.spread = 1.0
        self.runs: list[tuple[str, Run]] = []

    def has_tool(self, engine: Engine) -> bool:
        return engine.tag not in self.toolless

    def measure(self, engine: Engine, run: Run) -> Sequence[float]:
        self.runs.append((engine.tag, run))
        self.spent(run)
        speed = self.speeds[engine.tag]
        if isinstance(speed, BenchFailed):
            raise speed
        slow = speed / self.spread if run.threads > 1 else speed
        return [speed, *repeat(slow, run.samples - 1)]


class Measured(NamedTuple):
    """One row."""

    engine: str
    model: str
    decode_tps: float
    at: float


class MemoryBenchHistory(BenchHistory):
    """Rows in a list."""

    def __init__(self) -> None:
        self.rows: list[Measured] = []

    def record(self, engine: str, model: str, decode_tps: float, at: float) -> None:
        self.rows.append(Measured(engine, model, decode_tps, at))
