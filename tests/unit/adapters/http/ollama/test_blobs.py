"""Blobs on their way in."""

import asyncio
import hashlib
from typing import Any

import pytest

from blazar.adapters.http.asgi import Message
from blazar.adapters.http.ollama.blobs import PIECE, blob_uploads
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble
from tests.fakes.blobs import MemoryBlobs
from tests.unit.adapters.http.asgi_calls import Answer, Spy, call, run, scope_of
from tests.unit.adapters.http.gateway import SMALL, Parts

DATA = b"x" * (2 * PIECE + 5)
DIGEST = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


class Side:
    """The door over fakes."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.behind = Spy()
        self.door = blob_uploads(self.behind, self.blobs)

    def scope(self, digest: str) -> Any:
        scope = scope_of("POST", f"/api/blobs/{digest}")
        scope[RECORD] = RequestRecord("plm-1-1", 0.0)
        return scope

    def send(self, data: bytes = DATA, digest: str = DIGEST) -> Answer:
        chunks = [data[at : at + 65_536] for at in range(0, len(data), 65_536)] or [b""]
        return asyncio.run(run(self.door, self.scope(digest), chunks))


def test_a_blob_is_taken_once() -> None:
    """201, and 200 for one that is there already, read to its end for nothing."""
    side = Side()
    assert side.send().status == 201
    assert side.blobs.blobs == {DIGEST: DATA}
    assert side.send(b"anything").status == 200
    assert side.blobs.blobs == {DIGEST: DATA}
    assert side.behind.scopes == []


def test_other_bytes_are_a_400() -> None:
    """And nothing of them stays."""
    side = Side()
    answer = side.send(b"other")
    found = hashlib.sha256(b"other").hexdigest()
    assert (answer.status, answer.json()) == (400, {"error": teaching.blob_digest_differs(found)})
    assert (side.blobs.blobs, side.blobs.discarded) == ({}, 1)


def test_an_empty_body_is_none() -> None:
    """No model has no bytes: something ate them."""
    assert Side().send(b"", f"sha256:{hashlib.sha256(b'').hexdigest()}").status == 400


def test_what_is_no_digest_is_named() -> None:
    """After its body was read: a client that is still sending hears a reset instead."""
    answer = Side().send(digest="latest")
    assert (answer.status, answer.json()) == (400, {"error": teaching.field_must("digest", "digest")})


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all has been read."""
    side = Side()
    begin = side.blobs.begin

    def begun(digest: str, expected: int = 0) -> Any:
        intake = begin(digest, expected)

        def full(_: bytes) -> None:
            raise StoreTrouble("the disk is full")

        intake.write = full  # type: ignore[method-assign]
        return intake

    monkeypatch.setattr(side.blobs, "begin", begun)
    answer = side.send()
    assert (answer.json(), side.blobs.discarded) == ({"error": "the disk is full"}, 1)


def test_a_client_that_leaves_leaves_nothing() -> None:
    """Half a blob is none."""
    side = Side()
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    messages: list[Message] = [
        {"type": "http.request", "body": DATA[:PIECE], "more_body": True},
        {"type": "http.disconnect"},
    ]
    asyncio.run(side.door(side.scope(DIGEST), receive, send))  # type: ignore[arg-type]
    assert (sent, side.blobs.blobs, side.blobs.discarded) == ([], {}, 1)


def test_everything_else_is_handed_on() -> None:
    """Also a look at the same path."""
    side = Side()
    for method, path in (("HEAD", f"/api/blobs/{DIGEST}"), ("POST", "/api/create")):
        asyncio.run(run(side.door, scope_of(method, path)))
    assert len(side.behind.scopes) == 2


def test_a_look_tells_whether_it_is_there() -> None:
    """By its status, without a body."""
    parts = Parts(SMALL)
    assert call(parts.app, "HEAD", f"/api/blobs/{DIGEST}").status == 404
    parts.blobs.blobs[DIGEST] = DATA
    assert call(parts.app, "HEAD", f"/api/blobs/{DIGEST}").status == 200
    assert call(parts.app, "HEAD", "/api/blobs/x").status == 400
    assert "content-type" not in dict(call(parts.app, "HEAD", f"/api/blobs/{DIGEST}").headers)
