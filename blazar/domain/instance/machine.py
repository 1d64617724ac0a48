"""The life of one child as a table. Everything that changes an instance's state is in this file.

Decides what follows from what: the state after an event and the effects the owner must carry out, in order. Starts, signals
and waits for nothing; a pair that is not in the table is a bug and raises.
"""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """Where an instance is. The values are what `ps` shows."""

    COLD = "cold"  # nothing was ever started, or a start was refused before a process existed
    LOADING = "loading"  # a process is being started, or runs and is not ready
    SERVING = "serving"
    DRAINING = "draining"  # no new requests, those in flight may end
    STOPPING = "stopping"  # our signals are on their way
    EVICTED = "evicted"  # gone because we wanted it
    FAILED = "failed"  # gone although we did not


class Event(StrEnum):
    """What may happen to an instance."""

    WANTED = "wanted"  # somebody waits and the breaker allows a start
    READY = "ready"
    REFUSED = "refused"  # no process was tried: no lane, no room, does not fit
    UNSTARTED = "unstarted"  # the program could not be started at all
    GAVE_UP = "gave_up"  # the load stalled or took too long
    EVICT = "evict"  # an explicit wish while requests are in flight: drain first
    STOP = "stop"  # it may go at once: idle, or the wish was without a drain
    SICK = "sick"  # healthy by its own account, but it fails every request (case G6)
    DRAINED = "drained"  # nothing in flight any more, or the drain's time is up
    EXITED = "exited"
    REROUTED = "rerouted"  # it ended over an architecture that it does not know, and another build knows it
    LOST = "lost"  # KILL had no effect: the kernel holds the process


class Effect(StrEnum):
    """What the owner must do."""

    SPAWN = "spawn"  # begin to bring a child up
    OPEN = "open"  # let the line run
    CLOSE = "close"  # grant nothing any more
    CLIMB = "climb"  # begin the stop ladder
    CRASHED = "crashed"  # it ended by itself: tell the breaker, the counters and the log
    BLAMED = "blamed"  # it never served, or not any more: tell the breaker and the log
    STOPPED = "stopped"  # tell the breaker that it ended as wished
    BURY = "bury"  # release what the dead child held
    FAIL = "fail"  # everybody waiting gets the error
    DOOM = "doom"  # everybody waiting now gets the error once the child is gone (case G24)


class Step(NamedTuple):
    """Where a pair leads."""

    to: State
    effects: tuple[Effect, ...] = ()


TRANSITIONS: dict[tuple[State, Event], Step] = {
    (State.COLD, Event.WANTED): Step(State.LOADING, (Effect.SPAWN,)),
    (State.FAILED, Event.WANTED): Step(State.LOADING, (Effect.SPAWN,)),
    (State.EVICTED, Event.WANTED): Step(State.LOADING, (Effect.SPAWN,)),
    (State.LOADING, Event.READY): Step(State.SERVING, (Effect.OPEN,)),
    (State.LOADING, Event.REFUSED): Step(State.COLD, (Effect.FAIL,)),
    (State.LOADING, Event.UNSTARTED): Step(State.FAILED, (Effect.BLAMED, Effect.FAIL)),
    (State.LOADING, Event.EXITED): Step(State.FAILED, (Effect.CRASHED, Effect.BURY, Effect.FAIL)),
    (State.LOADING, Event.REROUTED): Step(State.COLD, (Effect.BURY,)),  # whoever waits goes on waiting, for that one
    (State.LOADING, Event.GAVE_UP): Step(State.STOPPING, (Effect.BLAMED, Effect.DOOM, Effect.CLIMB)),
    (State.LOADING, Event.STOP): Step(State.STOPPING, (Effect.CLIMB,)),  # nothing is in flight: nothing to drain
    (State.SERVING, Event.EVICT): Step(State.DRAINING, (Effect.CLOSE,)),
    (State.SERVING, Event.SICK): Step(State.DRAINING, (Effect.BLAMED, Effect.CLOSE)),
    (State.SERVING, Event.STOP): Step(State.STOPPING, (Effect.CLOSE, Effect.CLIMB)),
    (State.SERVING, Event.EXITED): Step(State.FAILED, (Effect.CRASHED, Effect.CLOSE, Effect.BURY)),
    (State.DRAINING, Event.STOP): Step(State.STOPPING, (Effect.CLIMB,)),  # forced while it drained
    (State.DRAINING, Event.DRAINED): Step(State.STOPPING, (Effect.CLIMB,)),
    (State.DRAINING, Event.EXITED): Step(State.FAILED, (Effect.CRASHED, Effect.BURY)),  # no signal of ours was out yet
    (State.STOPPING, Event.EXITED): Step(
        State.EVICTED, (Effect.STOPPED, Effect.BURY)
    ),  # whatever its status: never a crash (D31)
    (State.STOPPING, Event.REFUSED): Step(State.EVICTED, (Effect.STOPPED,)),  # stopped before there was a process
    (State.STOPPING, Event.UNSTARTED): Step(State.EVICTED, (Effect.STOPPED,)),
    (State.STOPPING, Event.LOST): Step(State.FAILED, (Effect.FAIL,)),
}

GONE = frozenset({State.COLD, State.EVICTED, State.FAILED})
"""States without a child: never listed (case G5)."""


class IllegalEventError(RuntimeError):
    """A pair that the table does not know: a bug in the owner."""


def step(state: State, event: Event) -> Step:
    """What follows; raises `IllegalEventError` for what cannot happen."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalEventError(f"{event} while {state}") from None


SIGTERM, SIGKILL = 15, 9


class Rung(NamedTuple):
    """`number` goes out `at` seconds after the stop began."""

    at: float
    number: int


# D31. The second TERM ends a llama-server that waits for a client which stays; KILL is for whatever ignores both.
LADDER = (Rung(0.0, SIGTERM), Rung(10.0, SIGTERM), Rung(12.0, SIGKILL))
LOST_AFTER = 22.0
"""Seconds after which a killed child counts as lost: a process in uninterruptible sleep cannot be waited for (case G16)."""

STALL_SECS = 30.0
"""A load without log output or bytes read for this long is given up (D34)."""


class LoadWatch:
    """Whether a load still moves. Fed with the child's progress number; knows two deadlines, stall and cap."""

    __slots__ = ("_cap_at", "_moved_at", "_progress", "cap")

    def __init__(self, now: float, cap: float) -> None:
        self.cap = cap
        self._cap_at = now + cap
        self._moved_at = now
        self._progress = -1

    def verdict(self, progress: int, now: float) -> Event | None:
        """`GAVE_UP` when it is time to stop trying."""
        if progress != self._progress:
            self._progress, self._moved_at = progress, now
        if self.too_slow(now) or now - self._moved_at >= STALL_SECS:
            return Event.GAVE_UP
        return None

    def too_slow(self, now: float) -> bool:
        """Whether it is the cap (and not a stall) that ended it."""
        return now >= self._cap_at
