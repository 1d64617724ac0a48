"""How fast bytes come, and how long the rest will take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.pace import Pace, amount, size_told


def paced(*told: tuple[float, int]) -> Pace:
    pace = Pace()
    for now, done in told:
        pace.tell(now, done)
    return pace


def test_amounts_of_one_line_have_one_unit() -> None:
    """That of the whole; nothing that is there reads as nothing."""
    mib, gib = 2**20, 2**30
    assert [amount(mib, 2 * gib), amount(3 * gib, 3 * gib), amount(mib, 3 * mib)] == ["0.00 GiB", "3.00 GiB", "1.0 MiB"]
    assert amount(2 * gib, 0) == "2.00 GiB"
    assert [amount(512, 2048), amount(0, 100), amount(100, 100)] == ["0.5 KiB", "0 bytes", "100 bytes"]


def test_a_size_is_told_in_gib_where_that_says_something() -> None:
    """Below a tenth of one as its progress has it; nothing at all is GiB, as what stands beside it."""
    assert all(size_told(count) == amount(count, count) for count in (1, 1023, 1024, 2**20, 10**8, 2**30, 2**40))
    assert [size_told(count) for count in (0, 2**29)] == ["0.00 GiB", "0.50 GiB"]


def test_a_steady_stream_has_its_speed_from_the_second_sample_on() -> None:
    """Also the first guess is no fraction of it."""
    pace = paced((10.0, 0), (10.1, 100))
    assert pace.rate == pytest.approx(1000)
    assert pace.left(1000) == pytest.approx(1.0)


def test_what_was_there_already_was_not_fetched() -> None:
    """A resumed download would else begin at an enormous speed."""
    assert paced((0.0, 5_000_000), (1.0, 5_000_100)).rate == pytest.approx(100)


def test_a_change_of_speed_is_seen_within_seconds() -> None:
    """Neither at once nor after minutes."""
    steady = [(float(second), 1000 * second) for second in range(31)]
    slower = [(30.0 + second, 30_000 + 100 * second) for second in range(1, 16)]
    assert 700 < paced(*steady, *slower[:1]).rate < 1000
    assert 100 < paced(*steady, *slower).rate < 200


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    """Nothing told, told once, nothing has come."""
    assert Pace().left(100) is None
    assert paced((0.0, 0)).left(100) is None
    assert paced((0.0, 0), (1.0, 0)).left(100) is None


def test_more_than_all_leaves_nothing() -> None:
    """A registry that said too small a size."""
    assert paced((0.0, 0), (1.0, 10)).left(-5) == 0.0


def test_two_samples_of_one_moment_are_one() -> None:
    """Nothing is divided by no time."""
    assert paced((0.0, 0), (0.0, 50), (1.0, 100)).rate == pytest.approx(100)


def test_less_than_before_is_no_speed() -> None:
    """A part that is fetched again."""
    assert paced((0.0, 100), (1.0, 50)).rate == 0.0


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 2**45)), max_size=30), st.integers(0, 2**45))
def test_it_is_never_negative(told: list[tuple[float, int]], total: int) -> None:
    """Whatever the clock and the counts do."""
    pace = paced(*told)
    assert pace.rate >= 0
    left = pace.left(total)
    assert left is None or left >= 0
