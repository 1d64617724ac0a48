"""What a door needs of the supervisor: a place at a child, held until the answer is drained or dropped."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from blazar.application.ports.upstream import Upstream
from blazar.domain.errors import Fault
from blazar.domain.kinds import Task
from blazar.domain.manners import Manners
from blazar.domain.records import Model

DEFAULT_WAIT = 30.0
"""Seconds a ticket waits for a slot once the child serves: the SLO of normal priority (D17)."""


class Ask(NamedTuple):
    """What a request wants. `wait` bounds the queue, not the load. `num_ctx` is ollama's window wish (0: none)."""

    model: str
    task: Task = Task.CHAT
    wait: float = DEFAULT_WAIT
    num_ctx: int = 0
    allowed: frozenset[str] | None = None
    """The models of a scoped key, and below its name for the sentence; None: any."""
    key: str = ""
    tell_depth: Callable[[int], None] | None = None
    """Hears how many waited for the model already when this request got in line."""
    vision: bool = False
    """It brings pictures: a child without a projector is no use to it."""
    tools: bool = False
    """It offers tools: a template without a place for them would drop them."""


class Lease(Protocol):
    """One slot of one ready child."""

    model: Model
    upstream: Upstream
    ctx: int
    ctx_key: str  # the setting that bounds it
    called: str  # what a request must call the model
    manners: Manners  # how the child wants to be asked
    blind: str  # why this child takes no pictures, "" where it does or where its engine alone knows
    toolless: bool  # its template has no place for tools
    late: str  # how one vector is made of those that its child gives for tokens, "" where it makes one itself
    load_seconds: float  # 0 when the child was serving already
    queue_seconds: float

    def release(self, keep_alive: float | None = None, *, failed: bool = False) -> None:
        """Give the slot back; idempotent. `keep_alive` in seconds replaces the idle deadline (0: now, -1: never).

        `failed` says that the child answered 5xx or broke: repeated failures open the breaker (case G6).
        """
        ...

    def abandon(self, keep_alive: float | None = None) -> None:
        """Nobody listens to the answer any more, and the child computes it to its end: the slot stays taken until `release`.

        Nothing else waits for it: the child counts as idle, and may go at any moment.
        """
        ...

    async def explain(self, fault: Fault) -> Fault:
        """The same fault with what the child said last, once its exit has been noticed (bounded, under a second)."""
        ...


class Leasing(Protocol):
    """Hands out leases."""

    def try_lease(self, model: str, task: Task = Task.CHAT) -> Lease | None:
        """The hot path: a lease at once if that child serves and has a free slot, else None. Never awaits, never spawns."""
        ...

    async def lease(self, ask: Ask) -> Lease:
        """Resolve, load when needed, wait in line. Raises Refusal or Fault; cancelling it leaves nothing behind."""
        ...
