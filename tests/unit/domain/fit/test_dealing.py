"""How layers are dealt out to devices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.fit.dealing import Room, fill, shared_out, within
from blazar.domain.fit.machine import GIB
from tests.support.fit_shapes import CLOSED, DENSE, MIB, billed

NOTHING = (0, 0)


@pytest.mark.parametrize("counts", [(17, 16), (1, 32), (11, 11, 11), (30, 2, 1), (5, 0, 28), (0, 7, 26)])
def test_the_split_makes_the_engine_place_what_was_planned(counts):
    """Layer counts as ratios come back as the same counts by the engine's own rule."""
    assert shared_out(sum(counts), [float(count) for count in counts]) == counts


def test_ratios_are_the_engines_upper_bound():
    """Running sums 3/4 and 1 over 33 layers: i/33 < 3/4 holds for the first 25."""
    assert shared_out(33, (3, 1)) == (25, 8)
    assert shared_out(33, (0, 0)) == (0, 0)
    assert shared_out(0, (1, 1)) == (0, 0)


def test_ratios_are_counted_in_single_precision():
    """As the engine does: in double precision 0.1 + 0.2 passes 3/10 and the first two devices get a layer more."""
    assert shared_out(10, (0.1, 0.2, 0.7)) == (1, 2, 7)


def room(size: int) -> Room:
    """So much of everything, weights or not."""
    return Room(size, max(size, 0))


def test_filling_takes_the_last_device_first():
    """From the output layer down, as far as each goes."""
    one = billed(DENSE, CLOSED)
    block = one.moving[1]
    assert fill(one, NOTHING, [room(block * 40), room(block * 3 + 256 * MIB)]) == (29, 4)
    assert fill(one, NOTHING, [room(block * 2), room(0)]) == (2, 0)
    assert fill(one, NOTHING, [room(-1), room(-1)]) == (0, 0)


def test_filling_stops_where_weights_have_no_more_room():
    """Their floor would not be free."""
    one = billed(DENSE, CLOSED)
    weights = one.weights[1]
    assert fill(one, NOTHING, [Room(GIB * 99, weights * 4), Room(GIB * 99, weights * 3 + 256 * MIB)]) == (4, 4)
    assert fill(one, NOTHING, [Room(GIB * 99, 0), Room(GIB * 99, -1)]) == (0, 0)


def test_counts_are_within_what_there_is_room_for():
    """Each device alone, scratch included."""
    one = billed(DENSE, CLOSED)
    first, second = room(one.moving[10]), room(one.moving[33])
    assert within(one, NOTHING, [10, 23], [first, second])
    assert not within(one, (1, 1), [10, 23], [first, second])
    assert not within(one, NOTHING, [10, 23], [first._replace(weights=one.weights[10] - 1), second])


ROOMS = st.lists(st.builds(Room, st.integers(0, 12 * GIB), st.integers(0, 9 * GIB)), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(ROOMS, st.integers(0, 4), st.integers(0, 4 * GIB), st.integers(0, 4 * GIB))
def test_more_room_never_holds_fewer_layers(rooms, index, more, weights):
    """On whichever device it is."""
    one = billed(DENSE, CLOSED)
    scratch = (100 * MIB, 200 * MIB)
    larger = list(rooms)
    grown = larger[index % len(rooms)]
    larger[index % len(rooms)] = Room(grown.all + more, grown.weights + weights)
    assert sum(fill(one, scratch, larger)) >= sum(fill(one, scratch, rooms))


@settings(max_examples=60, deadline=None)
@given(ROOMS)
def test_what_is_filled_is_within(rooms):
    """No device overflows."""
    one = billed(DENSE, CLOSED)
    assert within(one, (7, 9), fill(one, (7, 9), rooms), rooms)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(any))
def test_every_split_comes_back(counts):
    """Whatever the counts, in single precision too: i/n and sum/n are the same division where they meet."""
    assert shared_out(sum(counts), [float(count) for count in counts]) == tuple(counts)


def test_a_layer_can_be_kept_for_the_first_device():
    """It has guests, which would go on to the next one."""
    one = billed(DENSE, CLOSED)
    assert fill(one, NOTHING, [room(99 * GIB), room(99 * GIB)], 20) == (0, 13)
    assert fill(one, NOTHING, [room(99 * GIB), room(99 * GIB)], 20, 1) == (1, 12)
    assert fill(one, NOTHING, [room(0), room(99 * GIB)], 20, 1) == (0, 12)


def test_what_is_too_much_for_its_device_spoils_every_layout():
    """A projector lies where it is sent, however few layers lie beside it."""
    one = billed(DENSE, CLOSED)
    full = Room(-1, GIB, taken=2 * GIB)
    assert fill(one, NOTHING, [room(99 * GIB), full]) == (0, 0)
    assert not within(one, NOTHING, [33, 0], [room(99 * GIB), full])
    assert within(one, NOTHING, [33, 0], [room(99 * GIB), full._replace(taken=0)])
