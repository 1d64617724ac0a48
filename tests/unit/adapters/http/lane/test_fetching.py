"""Pictures by their address are in the request before anybody reads it."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.http.lane.fetching import MOST, Fetching
from blazar.application.ports.pictures import Fetched
from blazar.domain.errors import Malformed
from tests.fakes.pictures import FakePictures

URL = "https://example.com/cat.png"


@pytest.fixture
def network() -> FakePictures:
    return FakePictures(**{URL: Fetched("image/png", b"\0\0\0")})


@pytest.fixture
def fetching(network: FakePictures) -> Iterator[Fetching]:
    made = Fetching(network)
    yield made
    made.close()


def bring(fetching: Fetching, raw: bytes) -> bytes:
    """What becomes of a body."""
    return asyncio.run(fetching.bring(raw))


def body(*urls: str) -> bytes:
    """A request with these pictures."""
    parts: list[Any] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": parts}], "odd": 1}).encode()


def test_a_picture_is_put_where_its_address_was(fetching: Fetching) -> None:
    """Everything else stays."""
    brought = json.loads(bring(fetching, body(URL)))
    assert brought == json.loads(body("data:image/png;base64,AAAA"))


def test_a_request_without_addresses_is_the_same_bytes(fetching: Fetching, network: FakePictures) -> None:
    """Nothing is parsed for it, nothing is asked."""
    for raw in (body("data:image/png;base64,AAAA"), b'{"messages":"http://x"}', b"{"):
        assert bring(fetching, raw) is raw
    assert network.asked == []


def test_the_first_that_fails_is_named_by_its_place(fetching: Fetching) -> None:
    """With the fetcher's reason."""
    with pytest.raises(Malformed, match="nothing is there") as refused:
        bring(fetching, body(URL, "http://elsewhere/"))
    assert refused.value.field == "messages[0].content[1].image_url"


def test_too_many_are_refused_before_one_is_fetched(fetching: Fetching, network: FakePictures) -> None:
    """A request is not a crawler's list."""
    with pytest.raises(Malformed) as refused:
        bring(fetching, body(*[URL] * (MOST + 1)))
    assert refused.value.field == f"messages[0].content[{MOST}].image_url"
    assert network.asked == []
