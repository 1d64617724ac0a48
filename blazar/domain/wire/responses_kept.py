"""What is kept of a response, and the pages in which its input is listed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.quoting import dump

LARGEST_PAGE: Final = 100
USUAL_PAGE: Final = 20
"""The service's own numbers."""
UNFINISHED: Final = frozenset({"queued", "in_progress"})


class KeptResponse(NamedTuple):
    """A response, the input items that were its own, and the id of the one before it ("": it began a conversation)."""

    response: dict[str, Any]
    items: Sequence[dict[str, Any]] = ()
    previous: str = ""


def packed(kept: KeptResponse) -> bytes:
    """As it is written down."""
    return dump({"response": kept.response, "input": list(kept.items), "previous": kept.previous})


def unpacked(body: bytes) -> KeptResponse:
    """What was written down."""
    read = json.loads(body)
    return KeptResponse(read["response"], read["input"], read["previous"])


def turns(chain: Sequence[KeptResponse]) -> list[dict[str, Any]]:
    """The items of a conversation, oldest first: what was asked and what was answered. `chain` is newest first."""
    return [item for kept in reversed(chain) for item in (*kept.items, *kept.response.get("output", ()))]


def lost(response: dict[str, Any]) -> dict[str, Any]:
    """A response that nobody works on any more: the daemon that did has ended."""
    return {
        **response,
        "status": "failed",
        "error": {"code": "server_error", "message": teaching.response_lost()},
    }


class Paging(NamedTuple):
    """Which part of a listing is asked for."""

    limit: int = USUAL_PAGE
    after: str = ""
    ascending: bool = False


def paging_of(query: Mapping[str, str], *, ascending: bool = False) -> Paging:
    """Read from a query; `ascending` is the order of a listing that is not told any."""
    limit, order = query.get("limit"), query.get("order") or ("asc" if ascending else "desc")
    size = USUAL_PAGE
    if limit is not None:
        if not (limit.isascii() and limit.isdigit()) or not 1 <= int(limit[:9]) <= LARGEST_PAGE:
            raise Malformed(teaching.page_size_wrong(LARGEST_PAGE), "limit")
        size = int(limit)
    if order not in ("asc", "desc"):
        raise Malformed(teaching.field_must("order", "order"), "order")
    return Paging(size, query.get("after") or "", order == "asc")


def page_of(items: Sequence[dict[str, Any]], paging: Paging) -> dict[str, Any]:
    """The part of `items`, which stand oldest first. Behind an id that is not among them there is nothing."""
    rows = list(items) if paging.ascending else list(reversed(items))
    if paging.after:
        ids = [row.get("id") for row in rows]
        rows = rows[ids.index(paging.after) + 1 :] if paging.after in ids else []
    return listing(rows[: paging.limit], more=len(rows) > paging.limit)


def listing(rows: Sequence[dict[str, Any]], *, more: bool) -> dict[str, Any]:
    """Rows as OpenAI lists things."""
    return {
        "object": "list",
        "data": list(rows),
        "first_id": rows[0].get("id") if rows else None,
        "last_id": rows[-1].get("id") if rows else None,
        "has_more": more,
    }
