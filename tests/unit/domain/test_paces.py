"""How fast children speak, by a clock of the test's."""

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from blazar.domain.paces import MOST, SHORTEST_SECS, SILENT_SECS, Paces, SpeakingPace


def test_a_stream_shows_its_speed_while_it_runs() -> None:
    """Within the first second, and after many."""
    pace, now = SpeakingPace(), 100.0
    for piece in range(100):
        now = 100.0 + piece / 20
        pace.piece(now)
        if piece == 10:
            assert pace.read(now) == pytest.approx(20, rel=0.2)
    assert pace.read(now) == pytest.approx(20, rel=0.1)


def test_answers_of_one_child_add_up() -> None:
    """Two streams at ten a second are twenty."""
    pace = SpeakingPace()
    for step in range(60):
        pace.piece(step / 10)
        pace.piece(step / 10 + 0.05)
    assert pace.read(6.0) == pytest.approx(20, rel=0.1)


def test_who_is_silent_has_no_speed() -> None:
    """A minute later the last answer is no news, and the next one does not begin with its figure."""
    pace = SpeakingPace()
    assert pace.read(0.0) is None
    for step in range(40):
        pace.piece(step / 20)
    assert pace.read(2.0 + SILENT_SECS / 2) is not None
    assert pace.read(2.0 + SILENT_SECS * 2) is None
    for step in range(8):
        pace.piece(100 + step / 4)
    assert pace.read(101.75) == pytest.approx(4, rel=0.4)


def test_a_buffered_answer_counts_when_it_is_there() -> None:
    """What came at once, or has nothing to count, does not."""
    pace = SpeakingPace()
    pace.whole(10.0, 100, 10.0 - SHORTEST_SECS / 2)
    pace.whole(10.0, 0, 5.0)
    assert pace.read(10.0) is None
    pace.whole(10.0, 100, 5.0)
    assert pace.read(10.0) == 20
    pace.piece(10.5)
    assert pace.read(10.5) == 20


@seed(7)
@given(st.lists(st.floats(0, 20), max_size=60), st.floats(0, 30))
def test_whatever_the_gaps_a_speed_is_a_number_above_nothing(gaps: list[float], later: float) -> None:
    """No division by nothing, and nothing below it."""
    pace, now = SpeakingPace(), 0.0
    for gap in gaps:
        now += gap
        pace.piece(now)
    speed = pace.read(now + later)
    assert speed is None or 0 < speed <= len(gaps) / SHORTEST_SECS


def test_children_are_told_apart_and_bounded() -> None:
    """The one that began first is forgotten; a child that nobody asked has no speed."""
    paces = Paces()
    for number in range(MOST + 1):
        paces.of(str(number)).whole(10.0, 10, 5.0)
    assert paces.of("1") is paces.of("1")
    assert (paces.read("0", 10.0), paces.read("1", 10.0), paces.read("nobody", 10.0)) == (None, 2, None)
