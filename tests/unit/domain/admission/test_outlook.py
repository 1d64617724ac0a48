"""When it is worth asking again."""

from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.admission.outlook import LEAST, MOST, Outlook


def test_nothing_known_is_a_second():
    """As before anybody's turn has come, or only one's."""
    one = Outlook()
    assert one.after(500) == LEAST
    one.note(3.0)
    assert one.after(500) == LEAST


def test_it_grows_with_those_who_wait():
    """By how fast turns came."""
    one = Outlook()
    for now in (0.0, 2.0, 4.0, 6.0):
        one.note(now)
    assert [one.after(waiting) for waiting in (0, 1, 5, 1000)] == [LEAST, 2.0, 10.0, MOST]


def test_a_time_without_turns_tells_nothing():
    """The model rested, or was loaded anew."""
    one = Outlook()
    for now in (0.0, 2.0, 5000.0, 5002.0):
        one.note(now)
    assert one.after(5) == 10.0


@given(st.lists(st.floats(0, 1e6), max_size=20), st.integers(0, 10_000))
def test_it_is_always_a_wait_that_clients_take(times, waiting):
    """Between a second and a minute."""
    one = Outlook()
    for now in sorted(times):
        one.note(now)
    assert LEAST <= one.after(waiting) <= MOST
