"""How many slots raw generations may hold."""

import pytest

from blazar.domain.admission.ceiling import raw_ceiling


@pytest.mark.parametrize(
    ("slots", "ceiling"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (7, 5), (8, 6), (9, 6), (16, 12)]
)
def test_a_quarter_is_kept_for_others(slots, ceiling):
    """`max(1, N - ceil(N/4))` once somebody else waits, all while nobody does."""
    assert raw_ceiling(slots, contended=True) == ceiling
    assert raw_ceiling(slots, contended=False) == slots
