"""The speed limit."""

import pytest

from blazar.adapters.net.throttle import MEGABYTE, Throttle


class Watch:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waited = 0.0

    def read(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.waited += seconds


def test_no_limit_waits_for_nothing() -> None:
    """Zero means as fast as it comes."""
    watch = Watch()
    Throttle(lambda: 0, watch.read).take(10**12, watch.wait)
    assert watch.waited == 0


def test_a_second_is_free_and_the_rest_is_paid_for() -> None:
    """The bucket holds one second's worth, and never more, however long nothing was taken."""
    watch = Watch()
    throttle = Throttle(lambda: 2, watch.read)
    watch.now += 3600
    throttle.take(2 * MEGABYTE, watch.wait)
    assert watch.waited == 0
    for _ in range(10):
        throttle.take(2 * MEGABYTE, watch.wait)
    assert watch.waited == pytest.approx(10, rel=0.01)


def test_all_who_take_share_it() -> None:
    """Twice as many takers get half as much each."""
    watch = Watch()
    throttle = Throttle(lambda: 1, watch.read)
    for _ in range(10):
        throttle.take(MEGABYTE // 2, watch.wait)
        throttle.take(MEGABYTE // 2, watch.wait)
    assert watch.waited == pytest.approx(9, rel=0.01)


def test_a_changed_limit_counts_at_once() -> None:
    """Also for who waits: no wait is longer than a moment."""
    watch, limit = Watch(), [1]
    throttle = Throttle(lambda: limit[0], watch.read)

    def wait(seconds: float) -> None:
        assert seconds <= 0.25
        watch.wait(seconds)
        limit[0] = 0

    throttle.take(100 * MEGABYTE, wait)
    assert watch.waited <= 0.25


def test_who_is_told_to_stop_raises_out_of_the_wait() -> None:
    """The wait may raise; nothing is caught."""
    watch = Watch()

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Throttle(lambda: 1, watch.read).take(9 * MEGABYTE, stop)
