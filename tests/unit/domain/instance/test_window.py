"""Windows asked for by callers (case B8)."""

from blazar.domain.instance.window import WindowWish


def test_a_smaller_or_equal_wish_changes_nothing():
    """Neither against the child that runs nor against an earlier wish."""
    wish = WindowWish()
    assert not wish.widen(4096, trained=8192, have=4096)
    assert wish.ctx == 0
    assert wish.widen(6000, trained=8192, have=4096)
    assert not wish.widen(5000, trained=8192, have=0)
    assert wish.ctx == 6000


def test_a_larger_wish_stops_at_the_trained_window():
    """More than the model knows is no larger wish."""
    wish = WindowWish()
    assert wish.widen(10**9, trained=8192, have=4096)
    assert wish.ctx == 8192
    assert not wish.widen(10**9, trained=8192, have=8192)


def test_an_unknown_trained_window_grants_nothing():
    """Without a bound there is no wish."""
    assert not WindowWish().widen(10**9, trained=0, have=4096)


def test_a_wish_that_could_not_be_loaded_is_forgotten():
    """And nothing as large is tried again; smaller wishes still count."""
    wish = WindowWish()
    wish.widen(8000, trained=8192, have=4096)
    wish.on_failed_load()
    assert wish.ctx == 0
    assert not wish.widen(8000, trained=8192, have=4096)
    assert wish.widen(6000, trained=8192, have=4096)
    wish.on_failed_load()
    wish.on_failed_load()
    assert wish.widen(5000, trained=8192, have=4096)
