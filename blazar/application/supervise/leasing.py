"""What a door needs of the supervisor: a place at a child, held until the answer is drained or dropped."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from blazar.application.ports.upstream import Upstream
from blazar.domain.admission.work import ORDINARY, SLO, Priority, Work
from blazar.domain.errors import Fault
from blazar.domain.kinds import Task
from blazar.domain.manners import Manners
from blazar.domain.records import Model

DEFAULT_WAIT = SLO[Priority.NORMAL]
"""Seconds that a load waits for room: as long as an ordinary ticket for a slot."""


class Ask(NamedTuple):
    """What a request wants. The bound of `work` is for the queue, not for the load. `num_ctx` is ollama's window wish (0: none)."""

    model: str
    task: Task = Task.CHAT
    work: Work = ORDINARY
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
    charge: Callable[[], None] | None = None
    """Called once it is clear that the key may use the model: raises where its quota is used up. May be called twice."""
    scope: Callable[[], tuple[str, ...]] | None = None
    """The models that the key may use when its turn comes, empty for all: raises where it is no key any more."""


class Lease(Protocol):
    """One slot of one ready child."""

    model: Model
    key: str  # of its instance
    engine: str  # the tag of its build
    upstream: Upstream
    ctx: int
    ctx_key: str  # the setting that bounds it; "": none does, it is all that the model was trained for
    called: str  # what a request must call the model
    manners: Manners  # how the child wants to be asked
    blind: str  # why this child takes no pictures, "" where it does or where its engine alone knows
    toolless: bool  # its template has no place for tools
    late: str  # how one vector is made of those that its child gives for tokens, "" where it makes one itself
    guesses: bool  # it guesses tokens ahead, and has no log probabilities of those
    thoughtless: bool  # its template knows nothing of thinking
    load_seconds: float  # 0 when the child was serving already
    queue_seconds: float

    def release(self, keep_alive: float | None = None, *, failed: bool = False) -> None:
        """Give the slot back; idempotent. `keep_alive` in seconds replaces the idle deadline (0: now, -1: never).

        `failed` says that the child answered 5xx or broke: repeated failures open the breaker (case G6).
        """
        ...

    def hand_back(self, work: Work) -> None:
        """Give the slot back that `work` had no use for: it was no turn of its key's."""
        ...

    def abandon(self, keep_alive: float | None = None) -> None:
        """Nobody listens to the answer any more, and the child computes it to its end: the slot stays taken until `release`.

        Nothing else waits for it: the child counts as idle, and may go at any moment.
        """
        ...

    def condemn(self) -> None:
        """Its child computes nothing although it owes an answer: it gets no other request, and makes room for the next one (D4)."""
        ...

    async def explain(self, fault: Fault) -> Fault:
        """The same fault with what the child said last, once its exit has been noticed (bounded, under a second)."""
        ...


class Leasing(Protocol):
    """Hands out leases."""

    def try_lease(self, model: str, task: Task = Task.CHAT, work: Work = ORDINARY) -> Lease | None:
        """The hot path: a lease at once if that child serves and has a free slot that nobody waits for, else None.

        Never awaits, never spawns.
        """
        ...

    def check(self, ask: Ask) -> None:
        """Raise what `lease` would refuse by name alone: no such model, not this key's, not what it does. Nothing is loaded."""
        ...

    async def lease(self, ask: Ask) -> Lease:
        """Resolve, load when needed, wait in line. Raises Refusal or Fault; cancelling it leaves nothing behind."""
        ...
