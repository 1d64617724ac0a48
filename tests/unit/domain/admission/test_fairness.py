"""What keys have spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.admission.fairness import DEAREST, RESET_AT, Credits

WEIGHTS = st.floats(1e-3, 1e3)


def test_a_grant_costs_the_inverse_of_the_weight():
    """Twice the weight, half the price (D16)."""
    purse = Credits()
    assert purse.of("a") == 0.0
    for _ in range(3):
        assert not purse.charge("a", 2.0)
        assert not purse.charge("b", 1.0)
    assert (purse.of("a"), purse.of("b")) == (1.5, 3.0)


def test_all_begin_anew_when_one_has_spent_256():
    """Also those who had spent less; only the grant that did it counts already."""
    purse = Credits()
    purse.charge("b", 1.0)
    assert [purse.charge("a", 1.0) for _ in range(int(RESET_AT))] == [False] * 255 + [True]
    assert (purse.of("a"), purse.of("b")) == (1.0, 0.0)


@pytest.mark.parametrize("weight", [1 / 256, 1e-9, 5e-324])
def test_the_lightest_key_wipes_nobody(weight):
    """No weight is too small to count with, and none takes from others what they have spent."""
    purse = Credits()
    for _ in range(3):
        purse.charge("a", 1.0)
    assert not purse.charge("b", weight)
    assert purse.of("a") == 3.0
    assert purse.of("b") == min(1 / weight, DEAREST)


@given(st.lists(WEIGHTS, min_size=2, max_size=5), st.integers(1, 3000))
def test_turns_are_as_the_weights(weights, grants):
    """Of keys that always wait none gets ahead of another by more than one turn of each, over any number of resets."""
    purse, turns = Credits(), [0] * len(weights)
    for _ in range(grants):
        chosen = min(range(len(weights)), key=lambda one: (purse.of(str(one)), one))
        purse.charge(str(chosen), weights[chosen])
        turns[chosen] += 1
    paid = [count / weight for count, weight in zip(turns, weights, strict=True)]
    for one, first in enumerate(weights):
        for other, second in enumerate(weights):
            assert paid[one] - paid[other] <= (1 / first + 1 / second) * 1.001


def test_one_to_a_thousand():
    """The lightest key that is of use beside an ordinary one."""
    purse, turns = Credits(), {"light": 0, "whole": 0}
    weights = {"light": 0.001, "whole": 1.0}
    for _ in range(10_010):
        chosen = min(turns, key=purse.of)
        purse.charge(chosen, weights[chosen])
        turns[chosen] += 1
    assert turns["light"] == 10


def test_the_heaviest_key_hardly_spends():
    """And never loses count."""
    purse = Credits()
    assert not any(purse.charge("a", 1e308) for _ in range(1000))
    assert purse.of("a") < 1.0


def test_a_turn_of_no_use_is_no_turn():
    """And nobody gets below nothing."""
    purse = Credits()
    purse.charge("a", 2.0)
    purse.charge("a", 2.0)
    purse.refund("a", 2.0)
    assert purse.of("a") == 0.5
    purse.refund("a", 2.0)
    purse.refund("a", 0.001)
    assert purse.of("a") == 0.0
