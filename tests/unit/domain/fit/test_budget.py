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
    ("exact", "devices", "weights", "charged"),
    [
        (9 * GIB, 2, 8 * GIB, 11 * GIB),
        (9 * GIB, 0, 0, 9 * GIB),
        (8 * GIB, 1, 8 * GIB, budget.admission_floor(8 * GIB)),
        (0, 0, 0, budget.admission_floor(0)),
    ],
)
def test_admission_charges_the_larger_of_the_sum_and_the_floor(exact, devices, weights, charged):
    """One margin for each device used, as each of them has other tenants."""
    assert budget.admission_bytes(exact, devices, weights) == charged


CHARGES = st.tuples(SIZES, st.integers(0, 16), SIZES)


@given(CHARGES, CHARGES)
def test_more_never_costs_less(load, more):
    """A load with more bytes, devices or weights is charged at least as much, and never less than its sum."""
    larger = tuple(one + further for one, further in zip(load, more, strict=True))
    assert budget.admission_bytes(*larger) >= budget.admission_bytes(*load) >= load[0]
    assert budget.rough_bytes(larger[2], larger[0]) >= budget.rough_bytes(load[2], load[0])


def test_shares_of_memory_are_whole_bytes():
    """90 % for the ladder, 30 % for cached weights; exact for sizes beyond what a float holds."""
    assert budget.ladder_room(24 * GIB) == 24 * GIB * 9 // 10
    assert budget.cache_ram_cap(10 * 2**60 + 10) == 3 * 2**60 + 3
    assert budget.rough_bytes(GIB, GIB) == 2 * GIB + 700 * MIB
