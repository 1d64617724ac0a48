"""The waiting requests of one child."""

import random

from blazar.domain.instance.line import Full, Grant, Late, Line


def serving(slots=1, bound=512):
    """A line whose child serves."""
    line = Line(bound)
    assert line.open(slots, now=0.0) == []
    return line


def test_a_free_slot_is_granted_at_once():
    """Nobody waits while there is a slot."""
    line = serving(slots=2)
    assert line.arrive(1, 30.0, 0.0) == [Grant(1)]
    assert line.arrive(2, 30.0, 0.0) == [Grant(2)]
    assert line.arrive(3, 30.0, 0.0) == []
    assert (line.in_flight, line.waiting) == (2, 1)


def test_first_in_is_first_out():
    """Slots go round in order of arrival."""
    line = serving()
    for ticket in (1, 2, 3):
        line.arrive(ticket, 30.0, 0.0)
    assert line.release() == [Grant(2)]
    assert line.release() == [Grant(3)]
    assert line.release() == []
    assert line.idle


def test_nobody_overtakes_whoever_waits():
    """The fast path gives way to the queue."""
    line = serving()
    line.arrive(1, 30.0, 0.0)
    line.arrive(2, 30.0, 0.0)
    assert not line.try_take()
    line.release()
    assert not line.try_take()
    line.release()
    assert line.try_take()


def test_the_bound_holds_while_loading_and_while_serving():
    """One slot, one place in the queue, six at once: exactly four are refused (case L1)."""
    line = serving(bound=1)
    outcome = [effect for ticket in range(6) for effect in line.arrive(ticket, 30.0, 0.0)]
    assert outcome == [Grant(0), *(Full(ticket, 1) for ticket in range(2, 6))]
    loading = Line(bound=1)
    assert [effect for ticket in range(3) for effect in loading.arrive(ticket, 30.0, 0.0)] == [Full(1, 1), Full(2, 1)]


def test_the_default_bound_lets_a_crowd_wait():
    """Thirty at once are no reason to refuse anybody (case L2)."""
    line = serving()
    effects = [effect for ticket in range(513) for effect in line.arrive(ticket, 30.0, 0.0)]
    assert effects == [Grant(0)]
    assert line.arrive(513, 30.0, 0.0) == [Full(513, 512)]


def test_whoever_waits_too_long_is_let_go():
    """Each by its own bound, with the number of those who still wait."""
    line = serving()
    line.arrive(1, 30.0, 0.0)
    line.arrive(2, 30.0, 1.0)
    line.arrive(3, 5.0, 2.0)
    assert line.next_deadline() == 7.0
    assert line.tick(6.9) == []
    assert line.tick(7.0) == [Late(3, 5.0, 1)]
    assert line.next_deadline() == 31.0
    assert line.tick(31.0) == [Late(2, 30.0, 0)]
    assert line.next_deadline() is None


def test_the_bound_does_not_run_while_the_child_loads():
    """A load may take longer than any wait; the bound starts when it serves."""
    line = Line()
    line.arrive(1, 5.0, 0.0)
    line.arrive(2, 5.0, 0.0)
    assert line.next_deadline() is None
    assert line.tick(1000.0) == []
    assert line.open(1, now=1000.0) == [Grant(1)]
    assert line.next_deadline() == 1005.0


def test_nor_while_it_is_being_replaced():
    """A closed line suspends every bound."""
    line = serving()
    line.arrive(1, 5.0, 0.0)
    line.arrive(2, 5.0, 0.0)
    line.close()
    assert line.next_deadline() is None
    assert line.release() == []
    line.forget_running()
    assert line.open(1, now=50.0) == [Grant(2)]


def test_a_held_line_lets_nobody_in_and_goes_on_counting():
    """Free slots or not; those who run go on, and everybody is let in when it is over."""
    line = serving(slots=2)
    line.arrive(1, 5.0, 0.0)
    line.hold()
    assert line.arrive(2, 5.0, 0.0) == []
    assert (line.try_take(), line.is_open, line.in_flight) == (False, True, 1)
    assert line.next_deadline() == 5.0
    assert line.release() == []
    line.arrive(3, 9.0, 0.0)
    assert line.tick(5.0) == [Late(2, 5.0, 1)]
    assert line.resume() == [Grant(3)]
    assert line.try_take()


def test_a_new_child_is_not_held():
    """Nor is a line that is closed, where nobody gets in anyway."""
    line = serving()
    line.hold()
    line.close()
    assert not line.held
    line.hold()
    assert line.arrive(1, 5.0, 0.0) == []
    assert line.open(1, 0.0) == [Grant(1)]


def test_a_cancelled_ticket_is_never_granted():
    """Whoever left while waiting is out of the line (case K4)."""
    line = serving()
    for ticket in (1, 2, 3):
        line.arrive(ticket, 30.0, 0.0)
    line.cancel(2)
    line.cancel(99)
    assert line.release() == [Grant(3)]


def test_slots_of_a_dead_child_do_not_count_for_its_successor():
    """A late release must not free what was never taken."""
    line = serving()
    line.arrive(1, 30.0, 0.0)
    line.close()
    line.forget_running()
    line.open(1, now=1.0)
    assert line.arrive(2, 30.0, 1.0) == [Grant(2)]
    assert line.in_flight == 1


def test_everybody_can_be_taken_out_at_once():
    """Oldest first; then nobody waits."""
    line = Line()
    for ticket in (3, 1, 2):
        line.arrive(ticket, 30.0, 0.0)
    assert line.empty() == [3, 1, 2]
    assert line.idle


def test_fuzz_every_ticket_ends_and_no_slot_is_lost():
    """Under any sequence of events each ticket is granted, refused, late or cancelled exactly once."""
    chance = random.Random(7)
    for slots in (1, 3):
        line, now, running, waiting, ended = serving(slots, bound=5), 0.0, 0, set(), 0
        for ticket in range(3000):
            now += chance.random()
            effects = list(line.tick(now))
            action = chance.choice(("arrive", "arrive", "release", "cancel", "reopen"))
            if action == "arrive":
                waiting.add(ticket)
                effects += line.arrive(ticket, chance.random() * 4, now)
            elif action == "release" and running:
                running -= 1
                effects += line.release()
            elif action == "cancel" and waiting:
                gone = chance.choice(sorted(waiting))
                if gone not in {effect.ticket for effect in effects}:
                    waiting.discard(gone)
                    line.cancel(gone)
            elif action == "reopen":
                line.close()
                line.forget_running()
                running = 0
                effects += line.open(slots, now)
            for effect in effects:
                waiting.remove(effect.ticket)
                ended += 1
                running += isinstance(effect, Grant)
            assert (line.in_flight, line.waiting) == (running, len(waiting))
            assert running <= slots
            assert not (waiting and running < slots)
        assert ended


def test_an_abandoned_answer_keeps_its_slot_and_is_not_busy():
    """Who comes next waits for the slot; whoever wants the child gone waits for nobody."""
    line = serving()
    line.arrive(1, 30.0, 0.0)
    assert (line.busy, line.idle) == (True, False)
    line.abandon()
    assert (line.in_flight, line.abandoned, line.busy, line.idle) == (1, 1, False, True)
    assert not line.try_take()
    assert line.arrive(2, 30.0, 0.0) == []
    assert not line.idle
    assert line.release(abandoned=True) == [Grant(2)]
    assert (line.in_flight, line.abandoned, line.busy) == (1, 0, True)


def test_a_successor_starts_with_nothing_abandoned():
    """As with nothing in flight."""
    for after in (Line.forget_running, lambda line: line.open(1, 0.0)):
        line = serving()
        line.arrive(1, 30.0, 0.0)
        line.abandon()
        after(line)
        assert (line.in_flight, line.abandoned) == (0, 0)
        line.abandon()
        assert line.abandoned == 0
