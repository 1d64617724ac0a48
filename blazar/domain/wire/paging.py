"""Which part of a listing is asked for, and what such a part looks like in OpenAI's dialect. The same sentence for the same mistake everywhere."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed

USUAL_PAGE: Final = 20
LARGEST_PAGE: Final = 100
"""OpenAI's bounds of `limit`, but for files."""


class Page(NamedTuple):
    """`limit` things behind the one called `after` ("" from the start), newest first or oldest first; `field` said `after`."""

    limit: int = USUAL_PAGE
    after: str = ""
    ascending: bool = False
    field: str = "after"


def size_of(query: Mapping[str, str], usual: int = USUAL_PAGE, largest: int = LARGEST_PAGE) -> int:
    """`limit`, as far as it was given."""
    text = query.get("limit")
    if text is None:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= largest):
        raise Malformed(teaching.page_size_wrong(largest), "limit")
    return int(text)


def page_asked(
    query: Mapping[str, str], usual: int = USUAL_PAGE, largest: int = LARGEST_PAGE, *, ascending: bool = False
) -> Page:
    """Read from a query; `ascending` is the order of a listing that is not told any."""
    order = query.get("order", "asc" if ascending else "desc")
    if order not in ("asc", "desc"):
        raise Malformed(teaching.field_must("order", "order"), "order")
    return Page(size_of(query, usual, largest), query.get("after", ""), order == "asc")


def follows(page: Page, *, there: bool) -> None:
    """Raise `Malformed` where a page is to go on behind something that is not there: an empty page would be taken for the end."""
    if page.after and not there:
        raise Malformed(teaching.page_after_unknown(page.after), page.field)


def page_of(items: Sequence[dict[str, Any]], page: Page) -> dict[str, Any]:
    """The part of `items`, which stand oldest first. Raises `Malformed` for a page behind an id that is not among them."""
    rows = list(items) if page.ascending else list(reversed(items))
    if page.after:
        ids = [row.get("id") for row in rows]
        follows(page, there=page.after in ids)
        rows = rows[ids.index(page.after) + 1 :]
    return listing(rows[: page.limit], more=len(rows) > page.limit)


def listing(rows: Sequence[dict[str, Any]], *, more: bool) -> dict[str, Any]:
    """Rows as OpenAI lists things."""
    return {
        "object": "list",
        "data": list(rows),
        "first_id": rows[0].get("id") if rows else None,
        "last_id": rows[-1].get("id") if rows else None,
        "has_more": more,
    }
