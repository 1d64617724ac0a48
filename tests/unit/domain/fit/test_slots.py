"""How many requests at once, where nobody said."""

import pytest

from blazar.domain.fit.settings import Settings
from blazar.domain.fit.slots import MOST, chosen, engine_ctx, shared


@pytest.mark.parametrize(
    ("trained", "window", "tried"),
    [
        (131072, 16384, [4, 3, 2]),
        (32768, 16384, [2]),
        (16384, 16384, []),
        (8192, 16384, []),
        (0, 16384, [4, 3, 2]),
        (49152, 16384, [3, 2]),
    ],
)
def test_slots_stay_within_the_trained_context(trained, window, tried):
    """Most first, at most four (`adaptive_slots`), one always being had."""
    assert list(chosen(trained, window)) == tried
    assert all(slots <= MOST for slots in tried)


def test_every_request_keeps_its_window():
    """The engine divides what it is told by its slots (D30)."""
    assert engine_ctx(Settings(), 4096, 3) == 12288
    assert engine_ctx(Settings(ctx=4096), 4096, 3) == 12288
    assert engine_ctx(Settings(parallel=3), 4096, 3) == 12288


def test_what_is_configured_in_full_is_passed_on():
    """`ctx` is the engine's own figure then."""
    assert engine_ctx(Settings(ctx=8192, parallel=2), 4096, 2) == 8192


def test_configured_slots_that_share_a_cache_share_one_window():
    """It is not multiplied; slots chosen here bring their windows along."""
    assert engine_ctx(Settings(parallel=4, kv_unified=True), 4096, 4) == 4096
    assert engine_ctx(Settings(kv_unified=True), 4096, 4) == 16384


def test_slots_with_windows_of_their_own_do_not_share_one():
    """In one cache as in several: what the planner chooses itself, asked for in so many words."""
    assert engine_ctx(Settings(parallel=4, kv_unified=True, own_windows=True), 4096, 4) == 16384
    assert [shared(Settings(kv_unified=unified, own_windows=own)) for unified, own in ((1, 0), (1, 1), (0, 0))] == [
        1,
        0,
        0,
    ]
