"""The requests that wait for one child: first in, first out, bounded (D17). No clock, no loop, no locks: the caller owns all three.

Decides who runs next and who has waited too long. A ticket is any number that the caller chose and never reuses. Its wait
bound runs only while the child serves, because waiting for a load is bounded by the load itself.
"""

from collections import OrderedDict
from typing import NamedTuple


class Grant(NamedTuple):
    """This ticket holds a slot now."""

    ticket: int


class Full(NamedTuple):
    """This ticket was never let in: as many as `bound` wait already."""

    ticket: int
    bound: int


class Late(NamedTuple):
    """This ticket waited `seconds`, its bound, in vain; `waiting` others still wait."""

    ticket: int
    seconds: float
    waiting: int


Effect = Grant | Full | Late


class _Waiting:
    __slots__ = ("deadline", "wait")

    def __init__(self, wait: float, deadline: float | None) -> None:
        self.wait, self.deadline = wait, deadline


class Line:
    """Slots of one child and the queue before them."""

    __slots__ = ("_bound", "_queue", "_slots", "abandoned", "held", "in_flight")

    def __init__(self, bound: int = 512) -> None:
        self._bound = bound
        self._queue: OrderedDict[int, _Waiting] = OrderedDict()
        self._slots = 0
        self.held = False  # open, and nobody new is let in for a while
        self.in_flight = 0
        self.abandoned = 0  # of those in flight: they keep their slots, nobody listens, and nothing else waits for them

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_open(self) -> bool:
        return self._slots > 0

    @property
    def busy(self) -> bool:
        """Somebody listens to what runs."""
        return self.in_flight > self.abandoned

    @property
    def idle(self) -> bool:
        """Nobody listens and nobody waits."""
        return not self.busy and not self._queue

    def try_take(self) -> bool:
        """A slot at once or not at all. Never overtakes somebody who waits."""
        if self.in_flight < self._slots and not self._queue and not self.held:
            self.in_flight += 1
            return True
        return False

    def arrive(self, ticket: int, wait: float, now: float) -> list[Effect]:
        """Get in line."""
        if self.try_take():
            return [Grant(ticket)]
        if len(self._queue) >= self._bound:
            return [Full(ticket, self._bound)]
        self._queue[ticket] = _Waiting(wait, now + wait if self.is_open else None)
        return []

    def abandon(self) -> None:
        """Nobody listens any more to one that runs on."""
        self.abandoned = min(self.in_flight, self.abandoned + 1)

    def release(self, *, abandoned: bool = False) -> list[Effect]:
        """A slot is free again; also for a grant whose ticket had left when it was made. `abandoned`: that of such an answer."""
        self.in_flight = max(0, self.in_flight - 1)
        self.abandoned = max(0, self.abandoned - abandoned)
        return self._grants()

    def cancel(self, ticket: int) -> None:
        """The ticket left while it waited (unknown tickets: nothing happens)."""
        self._queue.pop(ticket, None)

    def tick(self, now: float) -> list[Effect]:
        """Let go whoever has waited too long."""
        late = [ticket for ticket, one in self._queue.items() if one.deadline is not None and one.deadline <= now]
        gone = [(ticket, self._queue.pop(ticket)) for ticket in late]
        return [Late(ticket, one.wait, len(self._queue)) for ticket, one in gone]

    def next_deadline(self) -> float | None:
        """When `tick` must be called."""
        return min((one.deadline for one in self._queue.values() if one.deadline is not None), default=None)

    def open(self, slots: int, now: float) -> list[Effect]:
        """The child serves: everybody's bound starts now."""
        self._slots, self.held, self.in_flight, self.abandoned = slots, False, 0, 0
        for one in self._queue.values():
            one.deadline = now + one.wait
        return self._grants()

    def close(self) -> None:
        """The child takes nothing new; whoever waits, waits for its successor, unbounded by the wait."""
        self._slots, self.held = 0, False
        for one in self._queue.values():
            one.deadline = None

    def hold(self) -> None:
        """Let nobody in; unlike in a closed line, the bounds of those who wait go on running."""
        self.held = self.is_open

    def resume(self) -> list[Effect]:
        """Let them in again."""
        self.held = False
        return self._grants()

    def forget_running(self) -> None:
        """The child is gone and its slots with it: late releases must not count for the successor."""
        self.in_flight = self.abandoned = 0

    def empty(self) -> list[int]:
        """Take everybody out who waits; their tickets, oldest first."""
        tickets = list(self._queue)
        self._queue.clear()
        return tickets

    def _grants(self) -> list[Effect]:
        granted: list[Effect] = []
        while self._queue and self.in_flight < self._slots and not self.held:
            ticket, _ = self._queue.popitem(last=False)
            self.in_flight += 1
            granted.append(Grant(ticket))
        return granted
