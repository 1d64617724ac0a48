"""The specification's constants and what admission charges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.fit import budget

MIB, GIB = 2**20, 2**30
SIZES = st.integers(0, 2**45)


def test_the_floor_is_the_contracts():
    """(weights + 64 MiB) × 20/17: 8 GiB make 9712.9 MiB, rounded up to a byte."""
    floor = budget.admission_floor(8 * GIB)
    assert floor == -(-(8256 * MIB * 20) // 17)
    assert floor // MIB == 9712


@pytest.mark.parametrize(
    ("used", "weights", "charged"),
    [
        (9 * GIB, 8 * GIB, 10 * GIB),
        (8 * GIB, 8 * GIB, budget.admission_floor(8 * GIB)),
        (GIB, 0, 2 * GIB),
        (0, 0, GIB),
    ],
)
def test_a_card_is_charged_the_larger_of_its_part_and_its_floor(used, weights, charged):
    """With a margin, as each card has other tenants."""
    assert budget.charge(used, weights) == charged


def test_forty_gigabytes_do_not_lie_on_a_card_of_forty_four():
    """Their floor is 47.1 GiB."""
    assert budget.charge(41 * GIB, 40 * GIB) == budget.admission_floor(40 * GIB)
    assert 47.1 < budget.admission_floor(40 * GIB) / GIB < 47.2
    assert budget.weights_room(44 * GIB) < 40 * GIB


CARDS = st.tuples(SIZES, SIZES)


@given(CARDS, CARDS)
def test_more_never_costs_less(load, more):
    """A card with more bytes or weights is charged at least as much, and never less than what is there."""
    larger = tuple(one + further for one, further in zip(load, more, strict=True))
    assert budget.charge(*larger) >= budget.charge(*load) >= load[0]
    assert budget.rough_bytes(larger[1], larger[0]) >= budget.rough_bytes(load[1], load[0])


@given(SIZES, st.integers(-3, 3))
def test_the_room_for_weights_is_the_floor_turned_round(free, near):
    """To a byte: what has room has a floor that is free, and one more has not."""
    room = budget.weights_room(free) + near
    assert (budget.admission_floor(room) <= free) is (near <= 0)


def test_shares_of_memory_are_whole_bytes():
    """90 % for the ladder, 30 % for cached weights; exact for sizes beyond what a float holds."""
    assert budget.ladder_room(24 * GIB) == 24 * GIB * 9 // 10
    assert budget.cache_ram_cap(10 * 2**60 + 10) == 3 * 2**60 + 3
    assert budget.rough_bytes(GIB, GIB) == 2 * GIB + 700 * MIB
