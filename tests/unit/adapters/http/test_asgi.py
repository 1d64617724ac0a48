"""The few ASGI words that everything in the shell shares."""

import asyncio
from typing import Any

from blazar.adapters.http.asgi import answer, headers_of


def test_headers_are_scanned_once() -> None:
    """Of a repeated name the last counts; a later look sees the same dict."""
    scope: dict[str, Any] = {"headers": [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]}
    found = headers_of(scope)
    assert found == {b"a": b"3", b"b": b"2"}
    scope["headers"] = []
    assert headers_of(scope) is found


def test_an_answer_is_two_messages_with_its_length() -> None:
    """Whole, so that the server need not chunk it; the caller's headers come first and are not changed."""
    sent: list[Any] = []
    headers = [(b"content-type", b"text/plain")]

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(answer(send, 418, headers, "é".encode()))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["headers"] == [(b"content-type", b"text/plain"), (b"content-length", b"2")]
    assert (sent[0]["status"], sent[1]["body"], sent[1]["more_body"]) == (418, "é".encode(), False)
    assert len(headers) == 1
