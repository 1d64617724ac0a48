"""Whether a load may be tried."""

import pytest

from blazar.domain.fit import guard_bytes, may_load
from blazar.domain.fit.guard import MARGIN

GIB = 2**30


@pytest.mark.parametrize(("weights", "floor"), [(0, MARGIN), (8 * GIB, 4 * GIB + MARGIN), (3, 1 + MARGIN)])
def test_the_floor_is_half_the_weights_and_a_margin(weights, floor):
    """The rest is mapped and can be dropped by the kernel."""
    assert guard_bytes(weights) == floor


def test_it_loads_from_the_floor_on():
    """Exactly at the floor it may, a byte below it may not."""
    floor = guard_bytes(8 * GIB)
    assert may_load(8 * GIB, floor)
    assert not may_load(8 * GIB, floor - 1)


def test_unknown_memory_refuses_nothing():
    """A machine that does not tell must not be a machine that cannot load."""
    assert may_load(8 * GIB, 0)
