"""Whole numbers in JSON."""

from typing import Any

import pytest

from blazar.domain.whole_numbers import whole


@pytest.mark.parametrize(
    ("value", "number"),
    [(10, 10), (10.0, 10), (-1.0, -1), (1e3, 1000), (1.5, None), (True, None), ("1", None), (None, None)],
)
def test_an_integral_float_is_a_whole_number(value: Any, number: int | None) -> None:
    """JSON has one kind of number; some languages write all of them with a point."""
    assert whole(value) == number
