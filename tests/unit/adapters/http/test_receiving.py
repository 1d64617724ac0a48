"""Doors for large bodies, and what comes before their first byte."""

import asyncio
from typing import Any

import pytest

from blazar.adapters.http.asgi import Message
from blazar.adapters.http.receiving import announced, before_reading, in_front, read_on
from blazar.domain.errors import Malformed


class Body:
    """What a client sends, piece by piece."""

    def __init__(self, *pieces: bytes, gone: bool = False) -> None:
        last = {"type": "http.disconnect"} if gone else {"type": "http.request", "body": b"", "more_body": False}
        self.messages: list[Message] = [
            *({"type": "http.request", "body": piece, "more_body": True} for piece in pieces),
            last,
        ]

    async def receive(self) -> Message:
        return self.messages.pop(0)


def refuse() -> None:
    raise Malformed("no", "file")


def test_only_its_own_row_goes_through_the_door() -> None:
    """By the route table; another method, path or protocol goes on."""
    went: list[str] = []

    def to(name: str) -> Any:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            del scope, receive, send
            went.append(name)

        return app

    layer: Any = in_front(to("app"), "files.upload", to("door"))
    for kind, method, path in (
        ("http", "POST", "/v1/files"),
        ("http", "GET", "/v1/files"),
        ("http", "POST", "/v1/batches"),
        ("websocket", "POST", "/v1/files"),
    ):
        asyncio.run(layer({"type": kind, "method": method, "path": path}, None, None))
    assert went == ["door", "app", "app", "app"]


@pytest.mark.parametrize(("said", "size"), [(b"12", 12), (b"", 0), (b"-1", 0), (b"x", 0)])
def test_what_is_announced(said: bytes, size: int) -> None:
    """A length that is none counts as unknown."""
    assert announced({b"content-length": said}) == size


@pytest.mark.parametrize(("headers", "left"), [({}, 0), ({b"expect": b"100-continue"}, 3)])
def test_a_refusal_reads_what_is_being_sent(headers: dict[bytes, bytes], left: int) -> None:
    """Unless the client waits for our leave."""
    body = Body(b"a", b"b")
    with pytest.raises(Malformed):
        asyncio.run(before_reading(refuse, headers, body.receive))
    assert len(body.messages) == left


def test_a_client_that_leaves_ends_the_reading() -> None:
    """Nothing is waited for that will never come."""
    body = Body(b"a", gone=True)
    asyncio.run(read_on(body.receive))
    assert body.messages == []


def test_what_holds_is_handed_on() -> None:
    """And no byte was taken."""
    body = Body(b"a")
    assert asyncio.run(before_reading(lambda: 7, {}, body.receive)) == 7
    assert len(body.messages) == 2
