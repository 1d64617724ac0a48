"""A batch request's place in line."""

from blazar.domain.admission.place import Place


def test_who_stands_there_leaves_once():
    """However often it is given up."""
    left = []
    place = Place()
    place.taken(lambda: left.append(1))
    assert (place.given_up, left) == (False, [])
    place.give_up()
    place.give_up()
    assert (place.given_up, left) == (True, [1])


def test_a_place_that_was_given_up_before_is_left_at_once():
    """The batch was cancelled between two of its steps."""
    left = []
    place = Place()
    place.give_up()
    place.taken(lambda: left.append(1))
    assert left == [1]
