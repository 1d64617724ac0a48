"""When a download is none any more."""

import pytest

from blazar.adapters.net.pace import Pace


def test_what_comes_too_slowly_is_a_trickle() -> None:
    """Within any such time as much must come; each time that it does is counted from there."""
    pace = Pace(60.0, 100, 0.0, 0)
    assert not _looked(pace, 0.0, 59.0, 99)
    assert not _looked(pace, 59.0, 59.5, 100)
    assert not _looked(pace, 59.5, 119.0, 199)
    assert pace.is_trickle(119.5, 199)


def _looked(pace: Pace, since: float, until: float, came: int, *, pauses: int = 0) -> bool:
    """Several times a second, as a transfer does."""
    looks = range(1, int((until - since) * 4) + 1)
    return any(pace.is_trickle(since + look / 4, came, pauses=pauses) for look in looks)


@pytest.mark.parametrize("gap", [6.0, 120.0, 86400.0])
def test_while_the_process_stood_still_nobody_crawled(gap: float) -> None:
    """Stopped by Ctrl-Z, or with its container: what was before counts on, and so does what is afterwards."""
    pace = Pace(60.0, 100, 0.0, 0)
    assert not _looked(pace, 0.0, 30.0, 50)
    assert not _looked(pace, 30.0 + gap, 59.75 + gap, 50)
    assert pace.is_trickle(60.25 + gap, 50)


def test_a_look_that_comes_late_is_no_standing_still() -> None:
    """On a machine that is busy."""
    pace = Pace(60.0, 100, 0.0, 0)
    assert not any(pace.is_trickle(5.0 * look, 0) for look in range(1, 12))
    assert pace.is_trickle(60.0, 0)


def test_time_that_the_host_is_given_does_not_count() -> None:
    """It is left out, and what was there before it counts on: a byte before each pause is no new beginning."""
    pace = Pace(60.0, 100, 0.0, 0)
    assert not _looked(pace, 0.0, 50.0, 1)
    assert not pace.is_trickle(50.0, 1, pauses=1)
    assert not pace.is_trickle(500.0, 2, pauses=1, resting=True)
    assert not _looked(pace, 500.0, 509.0, 2, pauses=1)
    assert pace.is_trickle(510.0, 2, pauses=1)


def _attempts(at_once: int, drip: int) -> int:
    """How many of ten go by, of 20 s each and a pause of 3 s, `drip` bytes at the beginning of each, before it is a trickle."""
    pace, now, came = Pace(60.0, 100, 0.0, 0), 0.0, 99
    for attempt in range(10):
        came += drip
        for look in range(230):
            now += 0.1
            over, resting = look >= 200, at_once == 1 and look >= 200
            pauses = at_once * attempt + (min(at_once, look - 199) if over else 0)
            if pace.is_trickle(now, came, pauses=pauses, resting=resting):
                return attempt
    return 10


@pytest.mark.parametrize("at_once", [1, 8])
def test_silence_is_left_to_who_counts_the_tries(at_once: int) -> None:
    """With bytes before it, however many connections fall silent, and whether or not they all wait at the same moment."""
    assert _attempts(at_once, 0) == 10


def test_a_few_bytes_before_each_silence_are_a_trickle() -> None:
    """After the third."""
    assert _attempts(1, 1) in (2, 3)
