"""When a model gets one slot more."""

import pytest

from blazar.domain.admission.slots import LULL_SECS, SUSTAINED_SECS, Crowd, one_more


def test_a_minute_of_waiting_is_a_crowd():
    """From the moment somebody had to wait (D18)."""
    crowd = Crowd()
    assert not crowd.lasts(1e9)
    crowd.note(10.0, waiting=True)
    assert not crowd.lasts(10.0 + SUSTAINED_SECS - 0.1)
    assert crowd.lasts(10.0 + SUSTAINED_SECS)


def test_turns_leave_gaps_that_do_not_count():
    """Two clients on one slot: nobody waits between an answer and the next request."""
    crowd = Crowd()
    for second in range(0, 60, 2):
        crowd.note(float(second), waiting=True)
        assert crowd.gathers
        crowd.note(second + 1.0, waiting=False)
        assert not crowd.gathers
    assert crowd.lasts(60.0)


def test_a_lull_ends_it():
    """The minute begins anew; a crowd that has gone adopts nothing any more."""
    crowd = Crowd()
    crowd.note(0.0, waiting=True)
    crowd.note(50.0, waiting=False)
    assert not crowd.lasts(61.0)
    crowd.note(50.0 + LULL_SECS + 0.1, waiting=True)
    assert not crowd.lasts(110.0)
    assert crowd.lasts(116.0)


def test_what_was_adopted_is_not_adopted_again():
    """The next slot takes another minute."""
    crowd = Crowd()
    crowd.note(0.0, waiting=True)
    crowd.forget()
    assert not crowd.lasts(60.0)
    crowd.note(60.0, waiting=True)
    assert [crowd.lasts(119.0), crowd.lasts(120.0)] == [False, True]


def test_nobody_who_waits_is_no_crowd():
    """However long that goes on."""
    crowd = Crowd()
    crowd.note(0.0, waiting=False)
    crowd.note(100.0, waiting=False)
    assert not crowd.lasts(100.0)


@pytest.mark.parametrize(("slots", "adopted"), [(1, 2), (2, 3), (3, 4), (4, 4), (9, 9)])
def test_one_more_up_to_four(slots, adopted):
    """Whoever has more keeps them."""
    assert one_more(slots) == adopted
