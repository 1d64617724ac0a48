"""Which children must go so that one more may come. Ranks only idle ones: policy never takes a busy child (D4).

The longest idle goes first, and of those that have been idle for about as long the one whose cache is colder: the prompts of the other
would have to be read anew.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from blazar.domain.instance.hints import Worth

ALIKE_SECS: Final = 60.0
"""Idle times of one such span are alike: children are asked for their hints as often."""


class Occupant(NamedTuple):
    """One place taken: a child that loads, serves or stops. `idle_since` is None while it has or awaits requests."""

    key: str
    idle_since: float | None
    pinned: bool = False
    leaving: bool = False  # on its way out already: wait for it, do not evict it again
    worth: Worth = Worth()


class Room(NamedTuple):
    """`free`: come in. Else evict these and wait; with nobody to evict and nobody leaving, all are busy: `refused`."""

    free: bool
    evict: tuple[str, ...] = ()
    refused: bool = False


class Excess(NamedTuple):
    """`evict` may go now; `over`: there are too many as long as those, and any that leave already, are there."""

    over: bool
    evict: tuple[str, ...] = ()


def excess(occupants: Iterable[Occupant], cap: int) -> Excess:
    """Who is beyond a cap that was lowered: as many idle ones as there are too many, the oldest first. Busy ones may end."""
    there = list(occupants)
    surplus = len(there) - cap
    if cap <= 0 or surplus <= 0:
        return Excess(over=False)
    return Excess(over=True, evict=_oldest(there)[: max(0, surplus - sum(one.leaving for one in there))])


def evictions_for(target: str, occupants: Iterable[Occupant], cap: int) -> Room:
    """Whether `target` may be loaded beside the others under `cap` places (0: any number)."""
    others: Sequence[Occupant] = [one for one in occupants if one.key != target]
    surplus = len(others) + 1 - cap
    if cap <= 0 or surplus <= 0:
        return Room(free=True)
    leaving = sum(one.leaving for one in others)
    surplus -= leaving
    if surplus <= 0:
        return Room(free=False)
    oldest = _oldest(others)[:surplus]
    # Enough idle ones or none: evicting some without gaining a place would only cost their next users a load.
    if len(oldest) < surplus:
        return Room(free=False, refused=not leaving)
    return Room(free=False, evict=oldest)


def turn(idle_since: float, worth: Worth) -> tuple[float, Worth, float]:
    """Who goes first, the smallest."""
    return idle_since // ALIKE_SECS, worth, idle_since


def _oldest(occupants: Iterable[Occupant]) -> tuple[str, ...]:
    """Those that may go, in their order."""
    idle = [
        (turn(one.idle_since, one.worth), one.key)
        for one in occupants
        if one.idle_since is not None and not one.pinned and not one.leaving
    ]
    return tuple(key for _, key in sorted(idle))
