"""Which part of a listing is asked for."""

import asyncio

import pytest
from quart import Quart

from blazar.adapters.http.paging import order_asked, page_size
from blazar.domain.errors import Malformed


def asked(query: str) -> tuple[int, str]:
    async def main() -> tuple[int, str]:
        async with Quart("test").test_request_context(f"/x?{query}"):
            return page_size(20, 100), order_asked()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", (20, "desc")),
        ("limit=1&order=asc", (1, "asc")),
        ("limit=100&order=desc", (100, "desc")),
        ("limit=007", (7, "desc")),
    ],
)
def test_what_was_asked_for(query: str, expected: tuple[int, str]) -> None:
    """And what holds where nothing was."""
    assert asked(query) == expected


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=1e2", "limit=%D9%A3", f"limit={'9' * 5000}", "limit=", "order="]
)
def test_what_makes_no_sense_is_refused(query: str) -> None:
    """Naming the parameter."""
    with pytest.raises(Malformed) as refused:
        asked(query)
    assert refused.value.field == query.partition("=")[0]
