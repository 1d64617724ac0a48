"""Slots of one child and who waits for them: order and bounds of D16 and D17. No clock, no loop, no locks: the caller owns all three.

Decides who runs next and who has waited too long. A ticket is any number that the caller chose and never reuses. The bound of its tier
runs only while the child serves, because waiting for a load is bounded by the load itself; one that its caller named runs from its
arrival (D17). Its deadline in the order is never moved.

With n waiting every event costs O(log n) comparisons and moves at most n pointers, which for the 512 of D17 is a microsecond: levels
(priority, class) hold their tickets key by key in sorted lists, so that a grant that changes what its key has spent moves one entry a
level. `open`, and the reset of what was spent, sort anew: O(n log n).
"""

from bisect import bisect_left, insort
from itertools import count
from typing import Final, NamedTuple

from blazar.domain.admission.ceiling import raw_ceiling
from blazar.domain.admission.fairness import Credits
from blazar.domain.admission.work import ORDINARY, Priority, Work, WorkClass

WAITING_MOST: Final = 512
"""Tickets that wait for one model (D17)."""
_CLASSES: Final = len(WorkClass)


class Grant(NamedTuple):
    """This ticket holds a slot now; a `raw` one counts against what raw generations may hold until it is given back."""

    ticket: int
    raw: bool = False


class Full(NamedTuple):
    """This ticket was never let in: as many as `bound` wait already."""

    ticket: int
    bound: int


class Late(NamedTuple):
    """This ticket waited `seconds`, its bound, in vain; `waiting` others still wait.

    `hurried`: with another priority it would have been let wait longer.
    """

    ticket: int
    seconds: float
    waiting: int
    hurried: bool = False


Effect = Grant | Full | Late


class Depth(NamedTuple):
    """How many of one priority and class wait."""

    priority: Priority
    kind: WorkClass
    waiting: int


class _Waiting(NamedTuple):
    work: Work
    place: tuple[float, int, int]  # deadline, arrival, ticket
    bound: float | None  # when it has waited too long; None while the child does not serve, unless it is firm

    def begun(self, now: float) -> "_Waiting":
        """While the child serves."""
        return self if self.work.firm else self._replace(bound=now + self.work.wait)

    def stayed(self) -> "_Waiting":
        """While it does not."""
        return self if self.work.firm else self._replace(bound=None)


class _Level:
    """Tickets of one priority and class: the key that has spent least goes first, and of its tickets the most urgent."""

    __slots__ = ("_heads", "_keys", "waiting")

    def __init__(self) -> None:
        self._keys: dict[str, list[tuple[float, int, int]]] = {}
        self._heads: list[tuple[float, float, int, str]] = []  # spent, deadline and arrival of the first ticket, key
        self.waiting = 0

    def add(self, key: str, place: tuple[float, int, int], spent: float) -> None:
        self.waiting += 1
        if (line := self._keys.get(key)) is None:
            self._keys[key] = [place]
        elif place > line[0]:
            insort(line, place)
            return
        else:
            self._drop_head(key, spent)
            line.insert(0, place)
        insort(self._heads, (spent, place[0], place[1], key))

    def remove(self, key: str, place: tuple[float, int, int], spent: float) -> None:
        self.waiting -= 1
        line = self._keys[key]
        if place != line[0]:
            del line[bisect_left(line, place)]
            return
        self._drop_head(key, spent)
        del line[0]
        if line:
            insort(self._heads, (spent, line[0][0], line[0][1], key))
        else:
            del self._keys[key]

    def first(self) -> int:
        """The ticket whose turn it is; there is one."""
        return self._keys[self._heads[0][3]][0][2]

    def recharge(self, key: str, before: float, after: float) -> None:
        if (line := self._keys.get(key)) is not None:
            self._drop_head(key, before)
            insort(self._heads, (after, line[0][0], line[0][1], key))

    def begin_anew(self, purse: Credits) -> None:
        """Everybody's figure is another one."""
        self._heads = sorted((purse.of(key), line[0][0], line[0][1], key) for key, line in self._keys.items())

    def _drop_head(self, key: str, spent: float) -> None:
        first = self._keys[key][0]
        del self._heads[bisect_left(self._heads, (spent, first[0], first[1], key))]


class AdmissionQueue:
    """Slots of one child and the queue before them."""

    __slots__ = (
        "_arrivals",
        "_bound",
        "_bounds",
        "_credits",
        "_levels",
        "_waiting",
        "abandoned",
        "held",
        "in_flight",
        "raw_in_flight",
        "slots",
    )

    def __init__(self, bound: int = WAITING_MOST) -> None:
        self._bound = bound
        self._waiting: dict[int, _Waiting] = {}
        self._levels = tuple(_Level() for _ in range(len(Priority) * _CLASSES))
        self._bounds: list[tuple[float, int]] = []  # with their tickets, while the child serves
        self._credits = Credits()
        self._arrivals = count()
        self.slots = 0  # 0: it does not serve
        self.held = False  # open, and nobody new is let in for a while
        self.in_flight = 0
        self.raw_in_flight = 0
        self.abandoned = 0  # of those in flight: they keep their slots, nobody listens, and nothing else waits for them

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_open(self) -> bool:
        return self.slots > 0

    @property
    def busy(self) -> bool:
        """Somebody listens to what runs."""
        return self.in_flight > self.abandoned

    @property
    def idle(self) -> bool:
        """Nobody listens and nobody waits."""
        return not self.busy and not self._waiting

    def depths(self) -> tuple[Depth, ...]:
        """Who waits, by priority and class, first those whose turn comes first."""
        found = ((divmod(index, _CLASSES), level.waiting) for index, level in enumerate(self._levels) if level.waiting)
        return tuple(Depth(Priority(at[0]), WorkClass(at[1]), waiting) for at, waiting in found)

    def try_take(self, work: Work = ORDINARY) -> bool:
        """A slot at once or not at all. Never overtakes somebody who waits; while nobody does, raw generations may borrow all."""
        if self.in_flight < self.slots and not self._waiting and not self.held:
            self.in_flight += 1
            self.raw_in_flight += work.kind is WorkClass.RAW_LONG
            self._credits.charge(work.key, work.weight)
            return True
        return False

    def arrive(self, ticket: int, work: Work, now: float) -> list[Effect]:
        """Get in line."""
        if self.try_take(work):
            return [Grant(ticket, work.raw)]
        if len(self._waiting) >= self._bound:
            return [Full(ticket, self._bound)]
        until = now + work.wait
        bounded = self.is_open or work.firm
        one = _Waiting(work, (until, next(self._arrivals), ticket), until if bounded else None)
        self._waiting[ticket] = one
        self._level(work).add(work.key, one.place, self._credits.of(work.key))
        if bounded:
            insort(self._bounds, (until, ticket))
        return []

    def abandon(self) -> None:
        """Nobody listens any more to one that runs on."""
        self.abandoned = min(self.in_flight, self.abandoned + 1)

    def release(self, *, raw: bool = False, abandoned: bool = False) -> list[Effect]:
        """A slot is free again; also for a grant whose ticket had left when it was made. `abandoned`: that of such an answer."""
        self.in_flight = max(0, self.in_flight - 1)
        self.raw_in_flight = max(0, self.raw_in_flight - raw)
        self.abandoned = max(0, self.abandoned - abandoned)
        return self._grants()

    def cancel(self, ticket: int) -> None:
        """The ticket left while it waited (unknown tickets: nothing happens)."""
        if ticket in self._waiting:
            self._take_out(ticket)

    def tick(self, now: float) -> list[Effect]:
        """Let go whoever has waited too long."""
        gone: list[tuple[int, _Waiting]] = []
        while self._bounds and self._bounds[0][0] <= now:
            ticket = self._bounds[0][1]
            gone.append((ticket, self._take_out(ticket)))
        waiting = len(self._waiting)
        return [Late(ticket, one.work.wait, waiting, _hurried(one.work)) for ticket, one in gone]

    def next_deadline(self) -> float | None:
        """When `tick` must be called."""
        return self._bounds[0][0] if self._bounds else None

    def open(self, slots: int, now: float) -> list[Effect]:
        """The child serves: the bound of everybody's tier starts now."""
        self.slots, self.held = slots, False
        self.forget_running()
        self._waiting = {ticket: one.begun(now) for ticket, one in self._waiting.items()}
        self._sort_bounds()
        return self._grants()

    def widen(self, slots: int) -> list[Effect]:
        """The child that serves takes so many at once from now on, never fewer than before."""
        if self.is_open:
            self.slots = max(self.slots, slots)
        return self._grants()

    def close(self) -> None:
        """The child takes nothing new; whoever waits, waits for its successor, unbounded but by what it named itself."""
        self.slots, self.held = 0, False
        self._waiting = {ticket: one.stayed() for ticket, one in self._waiting.items()}
        self._sort_bounds()

    def hold(self) -> None:
        """Let nobody in; unlike in a closed line, the bounds of those who wait go on running."""
        self.held = self.is_open

    def resume(self) -> list[Effect]:
        """Let them in again."""
        self.held = False
        return self._grants()

    def forget_running(self) -> None:
        """The child is gone and its slots with it: late releases must not count for the successor."""
        self.in_flight = self.raw_in_flight = self.abandoned = 0

    def empty(self) -> list[int]:
        """Take everybody out who waits; their tickets, oldest first."""
        tickets = list(self._waiting)
        for ticket in tickets:
            self._take_out(ticket)
        return tickets

    def refund(self, work: Work) -> None:
        """A grant that turned out to be of no use is no turn."""
        before = self._credits.of(work.key)
        self._credits.refund(work.key, work.weight)
        for level in self._levels:
            if level.waiting:
                level.recharge(work.key, before, self._credits.of(work.key))

    def _sort_bounds(self) -> None:
        bounds = ((one.bound, ticket) for ticket, one in self._waiting.items())
        self._bounds = sorted((bound, ticket) for bound, ticket in bounds if bound is not None)

    def _grants(self) -> list[Effect]:
        granted: list[Effect] = []
        while self._waiting and self.in_flight < self.slots and not self.held:
            ticket = self._next()
            work = self._take_out(ticket).work
            self.in_flight += 1
            self.raw_in_flight += work.raw
            self._charge(work)
            granted.append(Grant(ticket, work.raw))
        return granted

    def _next(self) -> int:
        """Whose turn it is. Above their ceiling raw generations are passed over, never to leave a slot empty."""
        waiting = [level for level in self._levels if level.waiting]
        others = [level for index, level in enumerate(self._levels) if level.waiting and not _is_raw(index)]
        full = self.raw_in_flight >= raw_ceiling(self.slots, contended=bool(others))
        return (others if full and others else waiting)[0].first()

    def _charge(self, work: Work) -> None:
        before = self._credits.of(work.key)
        anew = self._credits.charge(work.key, work.weight)
        for level in self._levels:
            if level.waiting and anew:
                level.begin_anew(self._credits)
            elif level.waiting:
                level.recharge(work.key, before, self._credits.of(work.key))

    def _take_out(self, ticket: int) -> _Waiting:
        one = self._waiting.pop(ticket)
        self._level(one.work).remove(one.work.key, one.place, self._credits.of(one.work.key))
        if one.bound is not None:
            del self._bounds[bisect_left(self._bounds, (one.bound, ticket))]
        return one

    def _level(self, work: Work) -> _Level:
        return self._levels[work.priority * _CLASSES + work.kind]


def _hurried(work: Work) -> bool:
    return work.priority is Priority.HIGH and not work.firm


def _is_raw(level: int) -> bool:
    return level % _CLASSES == WorkClass.RAW_LONG
