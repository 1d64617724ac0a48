"""What configuration's numbers mean."""

import pytest

from blazar.application.supervise.surroundings import Limits
from blazar.domain.instance.idle import FOREVER, LONGEST_STAY


@pytest.mark.parametrize(
    ("seconds", "stay"),
    [(1800.0, 1800.0), (1, 1), (0, FOREVER), (-1, FOREVER), (LONGEST_STAY, LONGEST_STAY), (LONGEST_STAY + 1, FOREVER)],
)
def test_an_idle_timeout_of_zero_is_for_ever(seconds, stay):
    """And so is one that no timer can count."""
    assert Limits(idle_timeout_secs=seconds).keep_alive == stay
