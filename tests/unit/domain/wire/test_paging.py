"""Which part of a listing is asked for, and what it looks like."""

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.paging import Page, follows, listing, page_asked, page_of, size_of

ITEMS = [{"id": str(number)} for number in range(5)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, Page(20, "", ascending=False)),
        ({"limit": "1", "order": "asc", "after": "x"}, Page(1, "x", ascending=True)),
        ({"limit": "100", "order": "desc"}, Page(100)),
        ({"limit": "007"}, Page(7)),
    ],
)
def test_what_was_asked_for(query: dict[str, str], expected: Page) -> None:
    """And what holds where nothing was: newest first, twenty at a time."""
    assert page_asked(query) == expected


def test_a_listing_has_bounds_and_an_order_of_its_own() -> None:
    """Files are listed by ten thousands, messages oldest first."""
    assert page_asked({}, 10_000, 10_000, ascending=True) == Page(10_000, "", ascending=True)
    assert size_of({"limit": "1000"}, 20, 1000) == 1000


@pytest.mark.parametrize(
    "query",
    [{"limit": text} for text in ("0", "101", "1e2", "٣", "²", "9" * 5000, "", "-1")]
    + [{"order": "up"}, {"order": ""}],
)
def test_what_makes_no_sense_is_refused(query: dict[str, str]) -> None:
    """Naming the parameter."""
    with pytest.raises(Malformed) as refused:
        page_asked(query)
    assert refused.value.field in query


def test_pages_follow_each_other() -> None:
    """In either order."""
    first = page_of(ITEMS, Page(2, "", ascending=True))
    assert ([row["id"] for row in first["data"]], first["has_more"]) == (["0", "1"], True)
    assert (first["first_id"], first["last_id"], first["object"]) == ("0", "1", "list")
    last = page_of(ITEMS, Page(2, "1"))
    assert ([row["id"] for row in last["data"]], last["has_more"]) == (["0"], False)
    assert page_of(ITEMS, Page(2, "0")) == listing([], more=False)


@pytest.mark.parametrize("field", ["after", "after_id", "before_id"])
def test_no_page_begins_behind_what_is_not_there(field: str) -> None:
    """An empty page would be taken for the end; the parameter that said it is named."""
    with pytest.raises(Malformed, match="nothing called '9' is in this list") as refused:
        page_of(ITEMS, Page(2, "9", field=field))
    assert refused.value.field == field
    follows(Page(), there=False)
    follows(Page(2, "9"), there=True)
