"""The waiting requests of one child: order, bounds, slots."""

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.admission.ceiling import raw_ceiling
from blazar.domain.admission.fairness import Credits
from blazar.domain.admission.queue import AdmissionQueue, Depth, Full, Grant, Late
from blazar.domain.admission.work import Priority, Work, WorkClass

HIGH, NORMAL, LOW = Priority
TOOL, INTERACTIVE, RAW = WorkClass
CHAT, LONG = Work(wait=30.0), Work(kind=RAW)


def serving(slots=1, bound=512):
    """A queue whose child serves."""
    queue = AdmissionQueue(bound)
    assert queue.open(slots, now=0.0) == []
    return queue


def within(seconds, **more):
    """An ordinary request with this bound."""
    return Work(wait=seconds, **more)


def drained(queue):
    """The tickets of those who wait, as one slot after the other becomes free."""
    found, raw = [], False
    while effects := queue.release(raw=raw):
        found += [effect.ticket for effect in effects]
        raw = effects[-1].raw
    return found


# Slots and turns


def test_a_free_slot_is_granted_at_once():
    """Nobody waits while there is a slot."""
    queue = serving(slots=2)
    assert queue.arrive(1, CHAT, 0.0) == [Grant(1)]
    assert queue.arrive(2, CHAT, 0.0) == [Grant(2)]
    assert queue.arrive(3, CHAT, 0.0) == []
    assert (queue.in_flight, queue.waiting) == (2, 1)


def test_among_equals_first_in_is_first_out():
    """Slots go round in order of arrival."""
    queue = serving()
    for ticket in (1, 2, 3):
        queue.arrive(ticket, CHAT, 0.0)
    assert queue.release() == [Grant(2)]
    assert queue.release() == [Grant(3)]
    assert queue.release() == []
    assert queue.idle


def test_nobody_overtakes_whoever_waits():
    """The fast path gives way to the queue, whatever its priority."""
    queue = serving()
    queue.arrive(1, CHAT, 0.0)
    queue.arrive(2, CHAT, 0.0)
    assert not queue.try_take(Work(HIGH, TOOL))
    queue.release()
    assert not queue.try_take(Work(HIGH, TOOL))
    queue.release()
    assert queue.try_take()


def test_the_bound_holds_while_loading_and_while_serving():
    """One slot, one place in the queue, six at once: exactly four are refused (case L1)."""
    queue = serving(bound=1)
    outcome = [effect for ticket in range(6) for effect in queue.arrive(ticket, CHAT, 0.0)]
    assert outcome == [Grant(0), *(Full(ticket, 1) for ticket in range(2, 6))]
    loading = AdmissionQueue(bound=1)
    assert [e for ticket in range(3) for e in loading.arrive(ticket, CHAT, 0.0)] == [Full(1, 1), Full(2, 1)]


def test_the_default_bound_lets_a_crowd_wait():
    """Thirty at once are no reason to refuse anybody (case L2), 513 are (D17)."""
    queue = serving()
    effects = [effect for ticket in range(513) for effect in queue.arrive(ticket, CHAT, 0.0)]
    assert effects == [Grant(0)]
    assert queue.arrive(513, CHAT, 0.0) == [Full(513, 512)]


def test_whoever_waits_too_long_is_let_go():
    """Each by its own bound, with the number of those who still wait."""
    queue = serving()
    queue.arrive(1, within(30.0), 0.0)
    queue.arrive(2, within(30.0), 1.0)
    queue.arrive(3, within(5.0), 2.0)
    assert queue.next_deadline() == 7.0
    assert queue.tick(6.9) == []
    assert queue.tick(7.0) == [Late(3, 5.0, 1)]
    assert queue.next_deadline() == 31.0
    assert queue.tick(31.0) == [Late(2, 30.0, 0)]
    assert queue.next_deadline() is None


def test_the_bound_does_not_run_while_the_child_loads():
    """A load may take longer than any wait; the bound starts when it serves."""
    queue = AdmissionQueue()
    queue.arrive(1, within(5.0), 0.0)
    queue.arrive(2, within(5.0), 0.0)
    assert queue.next_deadline() is None
    assert queue.tick(1000.0) == []
    assert queue.open(1, now=1000.0) == [Grant(1)]
    assert queue.next_deadline() == 1005.0


def test_nor_while_it_is_being_replaced():
    """A closed queue suspends every bound."""
    queue = serving()
    queue.arrive(1, within(5.0), 0.0)
    queue.arrive(2, within(5.0), 0.0)
    queue.close()
    assert queue.next_deadline() is None
    assert queue.release() == []
    queue.forget_running()
    assert queue.open(1, now=50.0) == [Grant(2)]


def test_a_held_queue_lets_nobody_in_and_goes_on_counting():
    """Free slots or not; those who run go on, and everybody is let in when it is over."""
    queue = serving(slots=2)
    queue.arrive(1, within(5.0), 0.0)
    queue.hold()
    assert queue.arrive(2, within(5.0), 0.0) == []
    assert (queue.try_take(), queue.is_open, queue.in_flight) == (False, True, 1)
    assert queue.next_deadline() == 5.0
    assert queue.release() == []
    queue.arrive(3, within(9.0), 0.0)
    assert queue.tick(5.0) == [Late(2, 5.0, 1)]
    assert queue.resume() == [Grant(3)]
    assert queue.try_take()


def test_a_new_child_is_not_held():
    """Nor is a queue that is closed, where nobody gets in anyway."""
    queue = serving()
    queue.hold()
    queue.close()
    assert not queue.held
    queue.hold()
    assert queue.arrive(1, CHAT, 0.0) == []
    assert queue.open(1, 0.0) == [Grant(1)]


def test_a_cancelled_ticket_is_never_granted():
    """Whoever left while waiting is out of the queue (case K4)."""
    queue = serving()
    for ticket in (1, 2, 3):
        queue.arrive(ticket, CHAT, 0.0)
    queue.cancel(2)
    queue.cancel(99)
    assert queue.release() == [Grant(3)]
    assert queue.next_deadline() is None


def test_slots_of_a_dead_child_do_not_count_for_its_successor():
    """A late release must not free what was never taken."""
    queue = serving()
    queue.arrive(1, LONG, 0.0)
    queue.close()
    queue.forget_running()
    queue.open(1, now=1.0)
    assert queue.arrive(2, CHAT, 1.0) == [Grant(2)]
    assert (queue.in_flight, queue.raw_in_flight) == (1, 0)


def test_everybody_can_be_taken_out_at_once():
    """Oldest first, whatever their priority; then nobody waits."""
    queue = AdmissionQueue()
    for ticket, priority in ((3, NORMAL), (1, LOW), (2, HIGH)):
        queue.arrive(ticket, Work(priority), 0.0)
    assert queue.empty() == [3, 1, 2]
    assert queue.idle


def test_an_abandoned_answer_keeps_its_slot_and_is_not_busy():
    """Who comes next waits for the slot; whoever wants the child gone waits for nobody."""
    queue = serving()
    queue.arrive(1, CHAT, 0.0)
    assert (queue.busy, queue.idle) == (True, False)
    queue.abandon()
    assert (queue.in_flight, queue.abandoned, queue.busy, queue.idle) == (1, 1, False, True)
    assert not queue.try_take()
    assert queue.arrive(2, CHAT, 0.0) == []
    assert not queue.idle
    assert queue.release(abandoned=True) == [Grant(2)]
    assert (queue.in_flight, queue.abandoned, queue.busy) == (1, 0, True)


def test_a_successor_starts_with_nothing_abandoned():
    """As with nothing in flight."""
    for after in (AdmissionQueue.forget_running, lambda queue: queue.open(1, 0.0)):
        queue = serving()
        queue.arrive(1, CHAT, 0.0)
        queue.abandon()
        after(queue)
        assert (queue.in_flight, queue.abandoned) == (0, 0)
        queue.abandon()
        assert queue.abandoned == 0


def test_a_wider_child_lets_in_who_waits():
    """At once; it never becomes narrower, and one that does not serve stays closed."""
    queue = serving()
    for ticket in (1, 2, 3):
        queue.arrive(ticket, CHAT, 0.0)
    assert queue.widen(2) == [Grant(2)]
    assert queue.widen(1) == []
    assert queue.slots == 2
    queue.close()
    assert queue.widen(4) == []
    assert not queue.is_open


# Order (D16)


def test_priority_comes_first_then_class_then_what_the_key_has_spent_then_deadline_then_arrival():
    """Each counts only among those whom nothing before it told apart."""
    queue = serving()
    queue.arrive(0, Work(key="spender"), 0.0)
    order = [
        Work(HIGH, RAW, 99.0, "spender"),
        Work(NORMAL, TOOL, 99.0, "spender"),
        Work(NORMAL, INTERACTIVE, 99.0, "saver"),
        Work(NORMAL, INTERACTIVE, 9.0, "spender"),
        Work(NORMAL, INTERACTIVE, 20.0, "spender"),
        Work(NORMAL, RAW, 1.0, "saver"),
        Work(LOW, TOOL, 1.0, "saver"),
    ]
    for ticket in reversed(range(len(order))):
        queue.arrive(ticket + 1, order[ticket], 0.0)
    assert drained(queue) == [1, 2, 3, 4, 5, 6, 7]


def test_of_two_deadlines_the_earlier_goes_first():
    """Not who came first (EDF)."""
    queue = serving()
    queue.arrive(0, CHAT, 0.0)
    for ticket, wait in ((1, 30.0), (2, 5.0), (3, 10.0)):
        queue.arrive(ticket, within(wait), 0.0)
    assert drained(queue) == [2, 3, 1]


def test_a_load_does_not_change_the_order():
    """Who came long before has the earlier deadline still, although everybody's bound starts anew."""
    queue = AdmissionQueue()
    queue.arrive(1, within(30.0), 0.0)
    queue.arrive(2, within(29.0), 60.0)
    assert queue.open(1, 100.0) == [Grant(1)]
    assert queue.next_deadline() == 129.0


def test_what_a_key_spends_while_nobody_waits_counts_too():
    """Each grant does."""
    queue = serving()
    for _ in range(3):
        assert queue.try_take(Work(key="a"))
        queue.release()
    queue.try_take(Work(key="b"))
    queue.arrive(1, Work(key="a"), 0.0)
    queue.arrive(2, Work(key="b"), 0.0)
    assert drained(queue) == [2, 1]


def test_at_256_everybody_begins_anew():
    """Nobody has saved up turns: only the grant that did it counts already, and from the next one on arrival decides between keys."""
    queue = serving()
    for _ in range(254):
        queue.try_take(Work(key="a"))
        queue.release()
    queue.try_take(Work(key="a"))
    for ticket in (1, 2):
        queue.arrive(ticket, Work(key="a"), 0.0)
    queue.arrive(3, Work(key="b"), 0.0)
    assert queue.release() == [Grant(3)]
    assert queue.release() == [Grant(1)]  # with which a has spent 256
    queue.arrive(4, Work(key="b"), 0.0)
    queue.arrive(5, Work(key="b"), 0.0)
    assert drained(queue) == [4, 2, 5]


def test_who_waits_is_told_by_level():
    """First those whose turn comes first."""
    queue = AdmissionQueue()
    for ticket, work in enumerate([CHAT, LONG, CHAT, Work(LOW), Work(HIGH, TOOL)]):
        queue.arrive(ticket, work, 0.0)
    assert queue.depths() == (
        Depth(HIGH, TOOL, 1),
        Depth(NORMAL, INTERACTIVE, 2),
        Depth(NORMAL, RAW, 1),
        Depth(LOW, INTERACTIVE, 1),
    )
    queue.cancel(4)
    assert queue.depths()[0] == Depth(NORMAL, INTERACTIVE, 2)


# What raw generations may hold


def test_raw_generations_borrow_every_slot_while_nobody_else_waits():
    """Nothing stands empty for somebody who may come."""
    queue = serving(slots=4)
    assert [queue.arrive(ticket, LONG, 0.0) for ticket in range(4)] == [
        [Grant(ticket, raw=True)] for ticket in range(4)
    ]
    assert queue.raw_in_flight == 4
    assert queue.arrive(4, LONG, 0.0) == []
    assert queue.release(raw=True) == [Grant(4, raw=True)]


def test_once_somebody_else_waits_they_give_slots_back_as_they_end():
    """Also where they are first in the order: a quarter of the slots is kept for others."""
    queue = serving(slots=4)
    for ticket in range(4):
        queue.arrive(ticket, LONG, 0.0)
    queue.arrive(10, Work(HIGH, RAW), 0.0)
    queue.arrive(11, CHAT, 0.0)
    queue.arrive(12, CHAT, 0.0)
    assert queue.release(raw=True) == [Grant(11)]
    assert queue.release(raw=True) == [Grant(10, raw=True)]  # two of three that they may hold
    assert queue.release(raw=True) == [Grant(12)]
    assert queue.raw_in_flight == 2


def test_a_single_slot_is_nobodys():
    """One they may always hold, so that the order alone decides."""
    queue = serving()
    queue.arrive(0, CHAT, 0.0)
    queue.arrive(1, Work(HIGH, RAW), 0.0)
    queue.arrive(2, CHAT, 0.0)
    assert drained(queue) == [1, 2]


def test_a_raw_ticket_whose_owner_left_gives_its_place_back():
    """Both counts of it."""
    queue = serving(slots=2)
    queue.arrive(1, LONG, 0.0)
    queue.release(raw=True)
    assert (queue.in_flight, queue.raw_in_flight) == (0, 0)


# Everything at once

WORKS = [
    Work(priority, kind, wait, key, weight)
    for priority, kind, wait, (key, weight) in product(
        Priority, WorkClass, (0.5, 3.0), (("a", 1.0), ("b", 3.0), ("c", 0.02))
    )
]
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.sampled_from(WORKS)),
        st.tuples(st.sampled_from(["release", "cancel", "leave"]), st.integers(0, 99)),
        st.tuples(st.sampled_from(["reopen", "close", "hold", "resume", "widen", "empty"]), st.just(0)),
        st.tuples(st.just("wait"), st.floats(0.01, 2.0)),
    ),
    max_size=80,
)


class Watched:
    """The machine, and beside it what must be true of it: who waits, who runs, what each key has spent."""

    def __init__(self, slots, bound):
        self.queue, self.bound, self.slots, self.now = AdmissionQueue(bound), bound, slots, 0.0
        self.spent, self.arrivals = Credits(), 0
        self.waiting: dict[int, tuple[Work, float, int]] = {}
        self.since: dict[int, float | None] = {}
        self.running: dict[int, bool] = {}
        self.ended: Counter[int] = Counter()

    def step(self, event, detail):
        self.take(self.queue.tick(self.now), late=True)
        getattr(self, event)(detail)
        queue = self.queue
        assert (queue.waiting, queue.in_flight) == (len(self.waiting), len(self.running))
        assert queue.raw_in_flight == sum(self.running.values())
        assert queue.in_flight <= max(queue.slots, len(self.running) if not queue.is_open else 0)
        assert not (queue.waiting and queue.in_flight < queue.slots and not queue.held), "a slot stands empty"
        assert sum(depth.waiting for depth in queue.depths()) == len(self.waiting)
        bounds = [self.since[ticket] + work.wait for ticket, (work, *_) in self.waiting.items() if queue.is_open]
        assert queue.next_deadline() == min(bounds, default=None)
        assert all(count == 1 for count in self.ended.values())
        assert not self.ended.keys() & self.waiting.keys()

    def take(self, effects, *, late=False):
        """Follow what the machine says, and check that it was its turn."""
        for effect in effects:
            work, arrived, number = self.waiting.pop(effect.ticket)
            self.ended[effect.ticket] += 1
            since = self.since.pop(effect.ticket)
            if isinstance(effect, Late):
                assert late
                assert self.now >= since + work.wait
                continue
            assert not isinstance(effect, Full)
            self.expect(work, arrived, number)
            self.running[effect.ticket] = work.raw
            self.spent.charge(work.key, work.weight)

    def expect(self, work, arrived, number):
        """D16, spelled out, among those who may have a slot."""

        def order(work, arrived, number):
            return work.priority, work.kind, self.spent.of(work.key), arrived + work.wait, number

        everybody = [(work, arrived, number), *self.waiting.values()]
        others = [one for one in everybody if not one[0].raw]
        ceiling = raw_ceiling(self.queue.slots, contended=bool(others))
        may = others if others and sum(self.running.values()) >= ceiling else everybody
        assert order(work, arrived, number) == min(order(*one) for one in may)

    def arrive(self, work):
        ticket = self.arrivals
        self.arrivals += 1
        full = len(self.waiting) >= self.bound
        effects = self.queue.arrive(ticket, work, self.now)
        if effects and isinstance(effects[0], Full):
            assert full
            self.ended[ticket] += 1
            return
        self.waiting[ticket] = (work, self.now, ticket)
        self.since[ticket] = self.now if self.queue.is_open else None
        self.take(effects)

    def release(self, which):
        if self.running:
            raw = self.running.pop(sorted(self.running)[which % len(self.running)])
            self.take(self.queue.release(raw=raw))

    def cancel(self, which):
        if self.waiting:
            ticket = sorted(self.waiting)[which % len(self.waiting)]
            del self.waiting[ticket], self.since[ticket]
            self.ended[ticket] += 1
            self.queue.cancel(ticket)

    def leave(self, which):
        """Cancelled twice: the second time it is unknown."""
        self.cancel(which)
        self.queue.cancel(-1)

    def reopen(self, _):
        self.running.clear()
        self.since = dict.fromkeys(self.waiting, self.now)
        self.queue.close()
        self.queue.forget_running()
        self.take(self.queue.open(self.slots, self.now))

    def close(self, _):
        self.queue.close()

    def hold(self, _):
        self.queue.hold()

    def resume(self, _):
        self.take(self.queue.resume())

    def widen(self, _):
        self.take(self.queue.widen(self.queue.slots + 1))

    def empty(self, _):
        assert self.queue.empty() == list(self.waiting)
        self.ended.update(self.waiting.keys())
        self.waiting.clear()
        self.since.clear()

    def wait(self, seconds):
        self.now += seconds
        self.take(self.queue.tick(self.now), late=True)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(1, 4), st.integers(1, 9), EVENTS)
def test_any_sequence_of_events_keeps_order_slots_and_bounds(slots, bound, events):
    """Every grant is D16's next, none exceeds the slots, no slot stands empty, and every ticket ends once."""
    watched = Watched(slots, bound)
    watched.reopen(0)
    for event, detail in events:
        watched.step(event, detail)
    watched.step("reopen", 0)
    watched.step("wait", 1000.0)
    assert not watched.waiting
    assert set(watched.ended) == set(range(watched.arrivals))


def test_a_long_life_leaves_nothing_behind():
    """Twenty thousand events under load: every ticket ended once and every list is empty."""
    chance = random.Random(7)
    watched = Watched(3, 64)
    watched.reopen(0)
    for _ in range(20_000):
        event = chance.choice(("arrive", "arrive", "release", "cancel", "wait"))
        detail = (
            chance.choice(WORKS)
            if event == "arrive"
            else chance.random() / 4
            if event == "wait"
            else chance.randrange(99)
        )
        watched.step(event, detail)
    watched.step("wait", 1000.0)
    queue = watched.queue
    assert (queue.waiting, queue.next_deadline(), queue.depths()) == (0, None, ())
    assert not any(level._keys or level._heads for level in queue._levels)


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2, 4), (0.5, 1.5, 3, 5), (1, 10)])
def test_turns_are_shared_by_weight(slots, weights):
    """Over 10 000 requests of equal class and deadline within 5 % (D16)."""
    queue, chance, granted = serving(slots), random.Random(3), Counter()
    owners, running, ticket = {}, [], 0

    def ask(key):
        nonlocal ticket
        ticket += 1
        owners[ticket] = key
        follow(queue.arrive(ticket, Work(key=str(key), weight=weights[key], wait=30.0), 0.0))

    def follow(effects):
        for effect in effects:
            granted[owners[effect.ticket]] += 1
            running.append(effect.ticket)

    for key in range(len(weights)):
        for _ in range(slots + 2):
            ask(key)
    granted.clear()
    while granted.total() < 10_000:
        done = running.pop(chance.randrange(len(running)))
        follow(queue.release())
        ask(owners[done])
    for key, weight in enumerate(weights):
        share = weight / sum(weights)
        assert abs(granted[key] / granted.total() - share) <= 0.05 * share


def test_a_bound_that_its_caller_named_runs_from_its_arrival():
    """While the model loads, and across the end of a child; that of a tier begins when it serves (D17, A11)."""
    queue = AdmissionQueue()
    queue.arrive(1, Work(wait=5.0, firm=True), 0.0)
    queue.arrive(2, Work(wait=5.0), 0.0)
    assert queue.next_deadline() == 5.0
    assert queue.tick(4.9) == []
    assert queue.tick(5.0) == [Late(1, 5.0, 1)]
    assert queue.next_deadline() is None
    queue.arrive(3, Work(wait=9.0, firm=True), 5.0)
    assert queue.open(1, 10.0) == [Grant(2)]
    assert queue.next_deadline() == 14.0
    queue.arrive(4, Work(wait=3.0), 10.0)
    queue.close()
    assert queue.next_deadline() == 14.0
    queue.forget_running()
    assert queue.tick(14.0) == [Late(3, 9.0, 1)]
    assert queue.open(1, 20.0) == [Grant(4)]


@given(
    st.lists(
        st.tuples(st.sampled_from(["arrive", "open", "close", "tick", "release", "cancel"]), st.booleans()), max_size=60
    )
)
def test_a_firm_ticket_ends_within_its_bound_whatever_happens(events):
    """Granted, cancelled or late: never later than it said."""
    queue, until, now = AdmissionQueue(), {}, 0.0
    for number, (event, firm) in enumerate(events):
        now += 1.0
        effects = queue.tick(now)
        match event:
            case "arrive":
                until[number] = now + 3.0 if firm else None
                effects += queue.arrive(number, Work(wait=3.0, firm=firm), now)
            case "open":
                effects += queue.open(1, now)
            case "close":
                queue.close()
                queue.forget_running()
            case "release" if queue.in_flight:
                effects += queue.release()
            case "cancel" if until:
                queue.cancel(next(iter(until)))
                del until[next(iter(until))]
        for effect in effects:
            until.pop(effect.ticket, None)
        assert not [ticket for ticket, bound in until.items() if bound is not None and bound <= now]


def test_a_turn_that_was_of_no_use_is_given_back():
    """Its key is no further behind than before; who waits is ranked by it at once."""
    queue = serving()
    used = Work(key="a")
    queue.try_take(used)
    queue.arrive(1, Work(key="b"), 0.0)
    queue.arrive(2, Work(key="a"), 0.0)
    queue.refund(used)
    assert queue.release() == [Grant(1)]
    queue.arrive(3, Work(key="b"), 0.0)
    assert drained(queue) == [2, 3]


def test_the_most_urgent_hear_that_they_are_let_wait_briefly():
    """But not those who said themselves how long they wait."""
    queue = serving()
    queue.arrive(0, CHAT, 0.0)
    queue.arrive(1, Work(HIGH, wait=2.0), 0.0)
    queue.arrive(2, Work(HIGH, wait=2.0, firm=True), 0.0)
    queue.arrive(3, Work(wait=2.0), 0.0)
    assert [(one.ticket, one.hurried) for one in queue.tick(2.0)] == [(1, True), (2, False), (3, False)]
