"""Which children make room."""

from blazar.domain.instance.eviction import ALIKE_SECS, Excess, Occupant, Room, evictions_for, excess
from blazar.domain.instance.hints import Worth

A, B, C = Occupant("a", 10.0), Occupant("b", 5.0), Occupant("c", None)


def test_without_a_cap_there_is_always_room():
    """0 means unlimited."""
    assert evictions_for("x", [A, B, C], 0) == Room(free=True)


def test_below_the_cap_there_is_room():
    """As many as the cap allows, the new one included."""
    assert evictions_for("x", [A, B], 3) == Room(free=True)


def test_the_one_idle_for_longest_goes():
    """Least recently used first."""
    assert evictions_for("x", [A, B, C], 3) == Room(free=False, evict=("b",))


def test_as_many_go_as_are_needed():
    """A lowered cap may need more than one place."""
    assert evictions_for("x", [A, B], 1) == Room(free=False, evict=("b", "a"))


def test_a_busy_child_never_goes():
    """Policy refuses instead (D4)."""
    assert evictions_for("x", [C], 1) == Room(free=False, refused=True)
    assert evictions_for("x", [C, A], 1) == Room(free=False, refused=True)


def test_a_pinned_child_never_goes():
    """Pins are skipped even when idle for longest."""
    assert evictions_for("x", [A, B._replace(pinned=True)], 2) == Room(free=False, evict=("a",))
    assert evictions_for("x", [B._replace(pinned=True)], 1) == Room(free=False, refused=True)


def test_one_that_is_leaving_is_waited_for():
    """Its place counts as coming free, nobody else is evicted for it."""
    assert evictions_for("x", [A, B._replace(leaving=True)], 2) == Room(free=False)


def test_the_target_does_not_compete_with_itself():
    """Its own place is not another's."""
    assert evictions_for("c", [C], 1) == Room(free=True)


def test_nobody_is_beyond_a_cap_that_is_kept():
    """Nor beyond none."""
    assert excess([A, B, C], 3) == Excess(over=False)
    assert excess([A, B, C], 0) == Excess(over=False)


def test_the_oldest_idle_ones_are_beyond_a_lowered_cap():
    """As many as are too many; busy and pinned ones stay, and are too many until they go by themselves."""
    assert excess([A, B, C], 2) == Excess(over=True, evict=("b",))
    assert excess([A, B, C], 1) == Excess(over=True, evict=("b", "a"))
    assert excess([A._replace(pinned=True), C], 1) == Excess(over=True)


def test_who_leaves_already_is_counted():
    """Else one more would go than has to."""
    assert excess([A, B._replace(leaving=True), C], 2) == Excess(over=True)
    assert excess([A, B._replace(leaving=True), C], 1) == Excess(over=True, evict=("a",))


def test_among_equals_the_colder_cache_goes():
    """Its prompts are read anew anyway; a child that is idle for longer goes first all the same."""
    warm, cold = B._replace(worth=Worth(0.9)), A._replace(worth=Worth(0.1))
    assert evictions_for("x", [warm, cold], 2).evict == ("a",)
    assert evictions_for("x", [warm, cold._replace(idle_since=10.0 + ALIKE_SECS)], 2).evict == ("b",)
    assert excess([warm, cold], 1).evict == ("a",)
    guesses = A._replace(worth=Worth(0.9, 0.5))
    assert evictions_for("x", [warm, guesses], 2).evict == ("b",)
