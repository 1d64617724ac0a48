"""Which answers are of one version."""

import pytest

from blazar.adapters.net.entities import MOST_TAG, Entity, said_by

DAY, NEXT = "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"


@pytest.mark.parametrize(
    ("first", "later", "kept"),
    [
        (Entity('"a"'), Entity('"a"'), True),
        (Entity('"a"'), Entity('"b"'), False),
        (Entity('"a"'), Entity('W/"a"'), True),
        (Entity('"a"'), Entity(), False),
        (Entity('"a"', DAY), Entity('"a"', NEXT), True),
        (Entity('"a"', DAY), Entity('"a"'), True),
        (Entity('W/"a"'), Entity('W/"b"'), False),
        (Entity('W/"a"', DAY), Entity('W/"a"', NEXT), False),
        (Entity("", DAY), Entity("", DAY), True),
        (Entity("", DAY), Entity("", NEXT), False),
        (Entity("", DAY), Entity(), False),
    ],
)
def test_answers_are_put_together_where_all_say_the_same(first: Entity, later: Entity, kept: bool) -> None:
    """By the tag; by the date where no strong tag speaks. One that says less is not known to be the same."""
    assert first.is_kept_by(later) is kept


def test_what_is_said_is_read_as_it_stands() -> None:
    """A weak tag tells a change, and vouches for no bytes; who says nothing would change unseen."""
    said = said_by({"etag": ' W/"a" ', "last-modified": DAY})
    assert said == Entity('W/"a"', DAY)
    assert (said.strong, said.tells_changes, Entity('"a"').strong) == ("", True, '"a"')
    assert [Entity(tag).bare for tag in ('"a"', 'W/"a"', '"' + "a" * 999 + '"')] == ["a", "", "a" * MOST_TAG]
    assert not said_by({}).tells_changes
