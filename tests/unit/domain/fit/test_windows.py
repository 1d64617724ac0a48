"""How large a window can be."""

from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.fit.windows import STEP, widest


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1 << 20), st.integers(256, 1 << 20), st.integers(1, 1 << 20), st.integers(0, 1 << 20))
def test_the_search_finds_the_largest_that_fits(limit, low, high, guess):
    """Whatever is guessed, in about twice as many steps as halving takes."""
    asked = []

    def fits(window):
        asked.append(window)
        return window <= limit

    fitting = [window for window in range(-(-low // STEP) * STEP, high, STEP) if window <= limit]
    assert widest(fits, low, high, guess) == (fitting[-1] if fitting else None)
    assert len(asked) == len(set(asked)) <= 26


def test_a_good_guess_is_only_confirmed():
    """That it fits, and that the next does not."""
    asked = []

    def fits(window):
        asked.append(window)
        return window <= 300_000

    right = 300_000 // STEP * STEP
    assert widest(fits, 4096, 1 << 20, right) == right
    assert len(asked) == 2
