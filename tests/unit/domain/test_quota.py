"""What a key may still use: boundaries, sliding minutes, days of UTC, and clocks that jump."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.keys import Key
from blazar.domain.quota import (
    _GRAIN,
    DAY,
    EXACT,
    MINUTE,
    SOON,
    Account,
    Exhausted,
    Limit,
    Minute,
    Standing,
    day_name,
    day_number,
)

NOON = 20_000 * DAY + DAY // 2


def account(**limits: int) -> Account:
    return Account(Key("a", "k", **limits))  # type: ignore[arg-type]


def rpm_at(one: Account, now: float) -> Exhausted | None:
    """A request at that moment: charged, unless it is refused."""
    found = one.exhausted(now, NOON, minute=True, chat=True)
    if found is None:
        one.requests.charge(now, 1)
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_a_limit_admits_exactly_so_many(limit: int) -> None:
    """Neither one less (L4) nor one more."""
    one = account(rpm=limit)
    assert [rpm_at(one, 5.0) for _ in range(limit)] == [None] * limit
    assert rpm_at(one, 5.0) == Exhausted(Limit.REQUESTS, limit, MINUTE)
    places = account(max_concurrent=limit)
    assert [places.enter() for _ in range(limit)] == [None] * limit
    assert places.enter() == Exhausted(Limit.CONCURRENT, limit, SOON)
    places.leave()
    assert places.enter() is None


def test_no_limit_is_none() -> None:
    """A key without limits is never refused, and remembers no minute."""
    one = account()
    for _ in range(1000):
        assert one.enter() is None
        assert one.exhausted(0, NOON, minute=True, chat=True) is None
        one.spend(0, NOON, (10, 10), chat=True)
    assert (one.running, one.requests.total, one.tokens.total) == (1000, 0, 0)


def test_a_minute_slides() -> None:
    """What was used is free sixty seconds later, neither at the turn of the minute nor all at once."""
    one = account(rpm=2)
    assert rpm_at(one, 58.0) is None
    assert rpm_at(one, 59.5) is None
    assert rpm_at(one, 61.0) == Exhausted(Limit.REQUESTS, 2, 57.0)
    assert rpm_at(one, 117.999) is not None
    assert rpm_at(one, 118.0) is None
    assert rpm_at(one, 118.0) == Exhausted(Limit.REQUESTS, 2, 1.5)


def test_tokens_count_when_they_are_known() -> None:
    """They may go beyond the limit once; the next request waits until enough of them is a minute old."""
    one = account(tpm=100)
    one.spend(0, NOON, (60, 30), chat=True)
    assert one.exhausted(1, NOON, minute=True, chat=True) is None
    one.spend(10, NOON, (5, 200), chat=True)
    assert one.exhausted(20, NOON, minute=True, chat=True) == Exhausted(Limit.TOKENS, 100, 50)
    assert one.exhausted(20, NOON, minute=True, chat=False) is None, "tpm is for the chat family"
    assert one.exhausted(20, NOON, minute=False, chat=True) is None, "nobody waits for a batch"
    assert one.exhausted(69, NOON, minute=True, chat=True) == Exhausted(Limit.TOKENS, 100, 1)
    assert one.exhausted(70, NOON, minute=True, chat=True) is None
    one.spend(70, NOON, (500, 0), chat=False)
    assert one.exhausted(70, NOON, minute=True, chat=True) is None, "embeddings are not of the chat family"


def test_the_order_in_which_limits_are_told() -> None:
    """rpm, then tpm, then the day's, whatever else is used up (max_concurrent comes before all, at the door)."""
    one = account(rpm=1, tpm=1, daily_tokens=1)
    one.requests.charge(0, 1)
    one.spend(0, NOON, (1, 0), chat=True)
    assert _limit(one, 0) is Limit.REQUESTS
    one.key = one.key._replace(rpm=None)
    assert _limit(one, 0) is Limit.TOKENS
    one.key = one.key._replace(tpm=None)
    assert _limit(one, 0) is Limit.DAILY


def _limit(one: Account, now: float) -> Limit | None:
    found = one.exhausted(now, NOON, minute=True, chat=True)
    return found and found.limit


def test_a_day_ends_at_midnight_of_utc() -> None:
    """Until its last second tokens of the day count, and the refusal says how long that is."""
    one = account(daily_tokens=10)
    midnight = (20_000 + 1) * DAY
    one.spend(0, midnight - 30, (4, 6), chat=False)
    assert one.exhausted(0, midnight - 30, minute=True, chat=False) == Exhausted(Limit.DAILY, 10, 30)
    assert one.exhausted(0, midnight - 0.5, minute=False, chat=True) == Exhausted(Limit.DAILY, 10, 0.5)
    assert one.exhausted(0, midnight, minute=True, chat=True) is None
    one.count(midnight)
    assert [(day.number, day.requests, day.tokens) for day in one.days()] == [(20_000, 0, 10), (20_001, 1, 0)]


def test_a_clock_that_is_set_back_over_midnight() -> None:
    """Finds the day before as it was, and loses nothing of either."""
    one = account(daily_tokens=10)
    midnight = 20_001 * DAY
    one.spend(0, midnight - 1, (10, 0), chat=True)
    one.spend(0, midnight + 1, (3, 0), chat=True)
    assert one.exhausted(0, midnight - 5, minute=True, chat=True) is not None
    assert one.today(midnight + 5).tokens == 3
    assert [day.tokens for day in one.days()] == [10, 3]


@pytest.mark.parametrize("jump", [-400 * DAY, 400 * DAY, -DAY, 3 * DAY])
def test_a_clock_that_jumps_locks_nobody_out(jump: int) -> None:
    """The day that the clock says counts; minutes go by monotonic time and do not notice."""
    one = account(daily_tokens=10, rpm=1)
    one.spend(0, NOON, (10, 0), chat=True)
    assert one.exhausted(0, NOON + jump, minute=True, chat=True) is None
    one.requests.charge(0, 1)
    assert one.exhausted(30, NOON + jump, minute=True, chat=True) == Exhausted(Limit.REQUESTS, 1, 30)


def test_what_was_used_before_the_start_counts() -> None:
    """On the same day it is added to what came meanwhile."""
    one, two = account(daily_tokens=10), account()
    two.count(NOON)
    for each in (one, two):
        each.recall(before := _day(each, NOON))
        assert each.today(NOON).tokens == before.tokens == 12
    assert one.exhausted(0, NOON, minute=True, chat=True) is not None
    assert two.today(NOON).requests == 8


def _day(one: Account, wall: float):  # type: ignore[no-untyped-def]
    return type(one.day)(day_number(wall), 7, 4, 8)


def test_days_have_names() -> None:
    """As the table of the store has them."""
    assert [day_name(day_number(wall)) for wall in (0, 1_700_000_000, NOON)] == [
        "1970-01-01",
        "2023-11-14",
        "2024-10-04",
    ]


def test_who_writes_days_down_hears_once_of_many_changes() -> None:
    """And again after it has looked."""
    told: list[Account] = []
    one = Account(Key("a", "k"), told.append)
    one.count(NOON)
    one.spend(0, NOON, (1, 1), chat=True)
    assert told == [one]
    one.settled()
    one.count(NOON)
    assert told == [one, one]
    one.spoil()
    assert len(told) == 2


def test_what_is_taken_back_was_never_used() -> None:
    """Also after its minute, where there is nothing left to take back, and never twice."""
    minute = Minute()
    early, late = minute.charge(0, 1), minute.charge(30, 1)
    minute.take_back(late, 1)
    assert minute.settle(30) == 1
    assert minute.settle(60) == 0
    minute.take_back(early, 1)
    minute.take_back(late, 1)
    assert minute.total == 0


def test_how_a_limit_stands() -> None:
    """What is left, never below nothing, and when all of it is free; a charge that was taken back keeps nobody waiting."""
    minute = Minute()
    assert minute.standing(3, 0) == Standing(3, 3, 0)
    minute.charge(0, 2)
    given = minute.charge(20, 1)
    assert minute.standing(3, 20) == Standing(3, 0, 60)
    minute.take_back(given, 1)
    assert minute.standing(3, 30) == Standing(3, 1, 30)
    minute.charge(30, 9)
    assert minute.standing(3, 30) == Standing(3, 0, 60)


def test_a_busy_minute_is_bounded_and_never_too_generous() -> None:
    """A hundred thousand charges take a few hundred places, and none of them is forgotten before its minute is over."""
    minute, rng, now, log = Minute(), random.Random(7), 0.0, []
    for _ in range(100_000):
        now += rng.random() * 0.004
        minute.settle(now)
        minute.charge(now, 1)
        log.append(now)
        assert len(minute._charges) <= 2 * EXACT + 2
    exact = sum(at > now - MINUTE for at in log)
    assert exact <= minute.settle(now) <= sum(at > now - MINUTE - _GRAIN for at in log) + 1
    assert minute.settle(now + MINUTE) == 0


@given(
    st.lists(st.tuples(st.floats(0, 40), st.sampled_from(["ask", "ask", "ask", "back"])), max_size=60),
    st.integers(1, 5),
)
def test_no_sixty_seconds_ever_hold_more_than_the_limit(steps: list[tuple[float, str]], limit: int) -> None:
    """Whatever comes and whatever is given back; and who is told to wait so long gets through then."""
    one, now, kept = account(rpm=limit), 0.0, []
    for pause, what in steps:
        now += pause
        if what == "back" and kept:
            _, charge = kept.pop()
            one.requests.take_back(charge, 1)
            continue
        found = one.exhausted(now, NOON, minute=True, chat=True)
        if found is None:
            kept.append((now, one.requests.charge(now, 1)))
        else:
            assert 0 < found.wait <= MINUTE
            assert one.requests.free_in(limit, now) == found.wait
    times = sorted(at for at, _ in kept)
    assert all(late - early >= MINUTE - 1e-9 for early, late in zip(times, times[limit:], strict=False))
    assert one.requests.settle(now + MINUTE) == 0


@pytest.mark.parametrize("wall", [-1e18, -1.0, 0.0, 253_402_300_799.0, 253_402_300_800.0, 1e18])
def test_no_clock_is_too_odd_for_a_day(wall: float) -> None:
    """Before 1970 and beyond the year 9999 it is the first or the last day: usage goes on (B12)."""
    one = account(daily_tokens=5)
    one.count(wall)
    one.spend(0, wall, (3, 3), chat=True)
    assert one.exhausted(0, wall, minute=True, chat=True) is not None
    (day,) = one.days()
    assert day_name(day.number)
    assert day_name(day_number(wall) - 400)


def test_a_clock_that_jumps_and_is_set_right_finds_its_day() -> None:
    """By days, by years, more than once: what was used on it still counts."""
    one = account(daily_tokens=100)
    one.spend(0, NOON, (50, 50), chat=True)
    for jump in (3, 4, 1000, -2):
        assert one.exhausted(0, NOON + jump * DAY, minute=True, chat=True) is None
    assert one.exhausted(0, NOON, minute=True, chat=True) is not None
    one.spend(0, NOON + 3 * DAY, (1, 1), chat=True)
    one.spend(0, NOON, (1, 1), chat=True)
    assert [day.tokens for day in one.days()] == [102, 2]
