"""Which part of a listing is asked for, read from the query. The same sentence for the same mistake on every listing."""

from quart import request

from blazar.domain import teaching
from blazar.domain.errors import Malformed


def page_size(usual: int, largest: int) -> int:
    """`limit`, as far as it was given."""
    text = request.args.get("limit")
    if text is None:
        return usual
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= largest or len(text) > 9:
        raise Malformed(teaching.page_size_wrong(largest), "limit")
    return int(text)


def order_asked() -> str:
    """`order`: newest first unless it says otherwise."""
    order = request.args.get("order", "desc")
    if order not in ("asc", "desc"):
        raise Malformed(teaching.field_must("order", "order"), "order")
    return order
