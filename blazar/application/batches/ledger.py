"""Batches that are under way, as they stand in memory, and their rows. Every change of a state goes through here.

While a batch is under way its `Run` is the truth and the row follows: a cancellation and the work on it meet in one loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from blazar.application.batches.records import KINDS, change_of
from blazar.application.ports.clock import Clock
from blazar.application.ports.saved import SavedStore
from blazar.domain.admission.place import Place
from blazar.domain.batches import NEXT, Batch, State

T = TypeVar("T")


class Aside(Protocol):
    """Does blocking work off the loop."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Guard(Protocol):
    """Does work by name; what goes wrong in it is the log's, with its traceback, and whoever called goes on."""

    def __call__(self, name: str, work: Callable[[], Awaitable[None]], /) -> Awaitable[None]: ...


async def in_thread(work: Callable[[], T]) -> T:
    """The usual one."""
    return await asyncio.to_thread(work)


@dataclass(slots=True)
class Run:
    """One batch under way: where in its requests it goes on, and which of them have a result (None: not looked up yet)."""

    batch: Batch
    position: int = 0
    done: set[str] | None = None
    unsaved: int = 0
    """Journal lines since the last one that outlives a power failure."""
    tries: int = 0
    """How often the request whose turn it is was asked in vain."""
    rests_until: float = 0.0
    """Monotonic: before that it is not asked again, and others have their turn."""
    place: Place | None = None
    """Where the request under way stands in line."""
    saving: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Moves batches from state to state."""

    store: SavedStore
    clock: Clock
    aside: Aside = in_thread

    async def enter(self, run: Run, state: State, **facts: Any) -> None:
        """Memory at once, the row when it is written."""
        assert state in NEXT[run.batch.state], (run.batch.state, state)
        stamps = {**run.batch.stamps, f"{state.value}_at": self.clock.wall()}
        run.batch = replace(run.batch, state=state, stamps=stamps, **facts)
        if run.place is not None:
            run.place.give_up()
        await self.save(run)

    async def save(self, run: Run) -> None:
        """The row as memory has it. One after the other: the last one written is the latest."""
        async with run.saving:
            batch = run.batch
            await self.aside(lambda: self.store.change(KINDS[batch.dialect], batch.id, change_of(batch)))
