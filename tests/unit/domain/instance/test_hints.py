"""Hints: shares of what was counted since the last reading, smoothed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.child_metrics import Readings
from blazar.domain.instance.hints import CacheHints, Worth, smoothed


def read(prompts: float | None = None, cached: float | None = None, **more: float) -> Readings:
    return Readings(prompt_tokens=prompts, cached_tokens=cached, **more)


def test_the_first_reading_counts_whole_and_the_next_less():
    """0.7 of what was known, 0.3 of what is new; only what was added since counts."""
    hints = CacheHints().after(read(100, 50))
    assert hints.cache_hint == 0.5
    assert hints.after(read(200, 150)).cache_hint == pytest.approx(0.7 * 0.5 + 0.3 * 1.0)


def test_a_quiet_minute_changes_nothing():
    """Nor does an engine that tells nothing."""
    hints = CacheHints().after(read(100, 50))
    assert hints.after(read(100, 50)) == hints
    assert hints.after(Readings()) == hints
    assert CacheHints().after(Readings()) == CacheHints()


def test_counters_that_went_back_began_anew():
    """All that they say then is new."""
    hints = CacheHints().after(read(1000, 0)).after(read(10, 10))
    assert hints.cache_hint == pytest.approx(0.3)
    assert (hints.prompts, hints.cached) == (10, 10)


def test_guesses_are_a_hint_of_their_own():
    """From counts, or from the share where an engine tells no counts."""
    counted = CacheHints().after(Readings(drafted_tokens=40, accepted_tokens=30))
    assert (counted.spec_accept, counted.cache_hint) == (0.75, None)
    assert CacheHints().after(Readings(acceptance=0.6)).spec_accept == 0.6


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=20))
def test_a_hint_is_always_a_share(readings: list[tuple[float, float]]):
    """Whatever an engine claims."""
    hints = CacheHints()
    for prompts, cached in readings:
        hints = hints.after(read(prompts, cached))
        assert hints.cache_hint is None or 0 <= hints.cache_hint <= 1


def test_smoothing_keeps_what_is_known():
    """None is no news."""
    assert smoothed(0.4, None) == 0.4
    assert smoothed(None, 2.0) == 1.0


def test_old_hints_are_none():
    """Where reading them fails for as long as a child is used, nothing is known; while it rests nothing changes."""
    hints = CacheHints(cache_hint=0.8, spec_accept=0.5)
    assert hints.worth(None, 100.0, 180.0) == Worth()
    assert hints.worth(100.0, 280.0, 180.0) == Worth(0.8, 0.5)
    assert hints.worth(100.0, 280.1, 180.0) == Worth()
    assert hints.worth(100.0, 40.0, 180.0) == Worth(0.8, 0.5)
    assert CacheHints().worth(100.0, 100.0, 180.0) == Worth()
