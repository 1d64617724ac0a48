"""What keys have spent."""

import pytest

from blazar.domain.admission.fairness import RESET_AT, Credits


def test_a_grant_costs_the_inverse_of_the_weight():
    """Twice the weight, half the price (D16)."""
    purse = Credits()
    assert purse.of("a") == 0.0
    for _ in range(3):
        assert not purse.charge("a", 2.0)
        assert not purse.charge("b", 1.0)
    assert (purse.of("a"), purse.of("b")) == (1.5, 3.0)


def test_all_begin_anew_when_one_has_spent_256():
    """Also those who had spent less; and nobody is remembered."""
    purse = Credits()
    purse.charge("b", 1.0)
    assert [purse.charge("a", 1.0) for _ in range(int(RESET_AT))] == [False] * 255 + [True]
    assert (purse.of("a"), purse.of("b")) == (0.0, 0.0)


@pytest.mark.parametrize("weight", [1 / 256, 1e-9, 5e-324])
def test_the_lightest_key_begins_anew_with_every_grant(weight):
    """No weight is too small to count with."""
    assert Credits().charge("a", weight)


def test_the_heaviest_key_hardly_spends():
    """And never loses count."""
    purse = Credits()
    assert not any(purse.charge("a", 1e308) for _ in range(1000))
    assert purse.of("a") < 1.0
