"""The life of one child, as a table."""

import itertools
from pathlib import Path

import pytest

from blazar.domain.instance.machine import (
    GONE,
    LADDER,
    LOST_AFTER,
    SIGKILL,
    SIGTERM,
    STALL_SECS,
    TRANSITIONS,
    Effect,
    Event,
    IllegalEventError,
    LoadWatch,
    State,
    step,
)

PAIRS = list(itertools.product(State, Event))
DESIGN = Path(__file__).parents[4] / "blazar" / "application" / "supervise" / "design.md"


@pytest.mark.parametrize(("state", "event"), [pair for pair in PAIRS if pair not in TRANSITIONS])
def test_a_pair_outside_the_table_raises(state, event):
    """What cannot happen is a bug and says so."""
    with pytest.raises(IllegalEventError, match=f"{event} while {state}"):
        step(state, event)


@pytest.mark.parametrize(("state", "event"), list(TRANSITIONS))
def test_every_row_is_followed(state, event):
    """`step` is the table and nothing beside it."""
    assert step(state, event) is TRANSITIONS[state, event]


def test_an_exit_after_our_own_signal_is_never_a_crash():
    """A SIGKILL after grace lands in evicted (D31)."""
    assert step(State.STOPPING, Event.EXITED).to is State.EVICTED
    assert Effect.CRASHED not in step(State.STOPPING, Event.EXITED).effects


@pytest.mark.parametrize("state", [State.LOADING, State.SERVING, State.DRAINING])
def test_an_exit_without_a_signal_is_a_crash(state):
    """A child that leaves by itself failed, whatever it was doing."""
    assert step(state, Event.EXITED).to is State.FAILED
    assert Effect.CRASHED in step(state, Event.EXITED).effects


@pytest.mark.parametrize("state", [state for state in State if state not in GONE])
def test_every_dead_process_is_buried(state):
    """No exit forgets pid file, key file and connections."""
    assert Effect.BURY in step(state, Event.EXITED).effects


@pytest.mark.parametrize("state", list(State))
def test_every_state_leads_to_a_state_without_a_child(state):
    """No state is a trap: from everywhere a path ends where a new child may start."""
    reached, frontier = {state}, [state]
    while frontier:
        here = frontier.pop()
        for (start, _), follows in TRANSITIONS.items():
            if start is here and follows.to not in reached:
                reached.add(follows.to)
                frontier.append(follows.to)
    assert reached & GONE
    assert all((gone, Event.WANTED) in TRANSITIONS for gone in GONE)


def test_whoever_waits_for_a_failed_load_is_told():
    """Each way a load can fail ends with the waiters' error."""
    for event in (Event.REFUSED, Event.UNSTARTED, Event.EXITED, Event.GAVE_UP):
        assert {Effect.FAIL, Effect.DOOM} & set(step(State.LOADING, event).effects)


def test_a_detour_fails_nobody_and_blames_nobody():
    """Another build takes over: the dead child is buried, and whoever waits goes on waiting."""
    follows = step(State.LOADING, Event.REROUTED)
    assert (follows.to, follows.effects) == (State.COLD, (Effect.BURY,))


def test_the_drawing_in_the_design_is_the_table():
    """design.md shows exactly these rows, in this order."""
    rows = [
        f"| {state} | {event} | {follows.to} | {', '.join(follows.effects)} |"
        for (state, event), follows in TRANSITIONS.items()
    ]
    text = DESIGN.read_text()
    assert "\n".join(rows) in text
    assert text.count("\n| ") == len(rows) + 2


def test_the_ladder_is_term_term_kill():
    """D31: TERM, 10 s, TERM again, 2 s, KILL."""
    assert [tuple(rung) for rung in LADDER] == [(0.0, SIGTERM), (10.0, SIGTERM), (12.0, SIGKILL)]
    assert LADDER[-1].at < LOST_AFTER


def test_a_load_that_moves_is_given_time_until_the_cap():
    """Progress re-arms the stall deadline, not the cap (D34)."""
    watch = LoadWatch(now=0.0, cap=100.0)
    assert [watch.verdict(second, float(second)) for second in range(0, 100, 20)] == [None] * 5
    assert watch.verdict(100, 100.0) is Event.GAVE_UP
    assert watch.too_slow(100.0)


def test_a_load_that_stands_still_is_given_up():
    """30 s without a byte is a stall, not a slow load."""
    watch = LoadWatch(now=0.0, cap=100.0)
    assert watch.verdict(7, 5.0) is None
    assert watch.verdict(7, 5.0 + STALL_SECS - 0.1) is None
    assert watch.verdict(7, 5.0 + STALL_SECS) is Event.GAVE_UP
    assert not watch.too_slow(5.0 + STALL_SECS)
