"""The units of compute buffers: each has a place of its own."""

from blazar.domain.fit.compute_units import F16, F32, PARTS, Units


def test_units_are_added_one_by_one() -> None:
    """A sum mixes no unit with another, and what nobody names is 0."""
    assert Units(tokens=1, turned=2).plus(Units(tokens=3, picked=4)) == Units(tokens=4, picked=4, turned=2)
    assert sum(Units()) == 0


def test_parts_keep_small_floats_whole() -> None:
    """A byte of either float is a whole number of parts."""
    assert PARTS % F32 == PARTS % F16 == 0
