"""Crash history to permission (D33)."""

from blazar.domain.instance.breaker import LONGEST_PAUSE, Breaker, Verdict


def crash(breaker, now, served=None):
    """One child's life that ends badly; `served` seconds of service before."""
    breaker.on_spawn()
    if served is not None:
        breaker.on_ready(now - served)
    breaker.on_crash(now)


def test_a_fresh_breaker_lets_spawn():
    """Nothing happened, nothing is held back."""
    assert Breaker().verdict(0.0) == Verdict(open=False, wait=0.0)


def test_the_first_unclean_end_costs_nothing():
    """The next request starts a child at once."""
    breaker = Breaker()
    crash(breaker, 10.0)
    assert breaker.verdict(10.0) == Verdict(open=False, wait=0.0)


def test_the_second_is_followed_by_a_second_of_pause():
    """Requests wait for it; they are not refused."""
    breaker = Breaker()
    crash(breaker, 10.0)
    crash(breaker, 11.0)
    assert breaker.verdict(11.25) == Verdict(open=False, wait=0.75)
    assert breaker.verdict(12.0).wait == 0


def test_the_third_within_a_minute_opens_and_each_further_one_doubles():
    """Two seconds, four, eight … up to a minute; after each pause one trial."""
    breaker, now, pauses = Breaker(), 0.0, []
    for _ in range(2):
        crash(breaker, now)
    for _ in range(8):
        crash(breaker, now)
        verdict = breaker.verdict(now)
        assert verdict.open
        pauses.append(verdict.wait)
        now += verdict.wait
        assert breaker.verdict(now) == Verdict(open=False, wait=0.0)
    assert pauses == [2, 4, 8, 16, 32, 60, 60, LONGEST_PAUSE]


def test_ends_far_apart_do_not_add_up():
    """Three within two minutes are no series."""
    breaker = Breaker()
    for now in (0.0, 50.0, 100.0, 150.0):
        crash(breaker, now)
        assert not breaker.verdict(now).open
    assert breaker.verdict(150.0).wait == 1.0


def test_a_minute_of_service_forgets():
    """A child that served long enough starts a new history when it dies."""
    breaker = Breaker()
    for now in (0.0, 1.0, 3.0):
        crash(breaker, now)
    crash(breaker, 80.0, served=60.0)
    assert breaker.verdict(80.0) == Verdict(open=False, wait=0.0)


def test_less_than_a_minute_of_service_does_not():
    """An open breaker stays tripped across a short trial."""
    breaker = Breaker()
    for now in (0.0, 1.0, 3.0):
        crash(breaker, now)
    crash(breaker, 64.0, served=59.0)
    assert breaker.verdict(64.0) == Verdict(open=True, wait=4.0)


def test_a_clean_stop_forgets():
    """Eviction of a child that behaved clears the history."""
    breaker = Breaker()
    for now in (0.0, 1.0, 3.0):
        crash(breaker, now)
    breaker.on_spawn()
    breaker.on_stop()
    assert breaker.verdict(3.0) == Verdict(open=False, wait=0.0)
    assert not breaker.tripped


def test_odd_the_stop_of_a_blamed_child_is_no_clean_stop():
    """A stalled load that we ended, or a sick child, still counts."""
    breaker = Breaker()
    for now in (0.0, 1.0, 3.0):
        crash(breaker, now)
        breaker.on_stop()
    assert breaker.verdict(3.0).open


def test_reset_says_whether_it_was_open():
    """`ps --reset` lists only those that had tripped, and clears the others too."""
    breaker = Breaker()
    crash(breaker, 0.0)
    crash(breaker, 0.0)
    assert not breaker.reset()
    assert breaker.verdict(0.0).wait == 0
    for now in (0.0, 1.0, 3.0):
        crash(breaker, now)
    assert breaker.reset()
    assert breaker.verdict(3.0) == Verdict(open=False, wait=0.0)
