"""What is no request is told in a dialect, and a body is asked for only when somebody wants it."""

import asyncio
import json
from typing import Any

import pytest

from blazar.domain import teaching
from tests.unit.adapters.http.server.test_plain import GET, both, said, serving

LONG = b"GET /echo HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 5000  # and no end in sight


def apart(raw: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """Status line, headers and body of the last answer in it."""
    head, _, body = raw[raw.rindex(b"HTTP/1.1 ") :].partition(b"\r\n\r\n")
    line, *rows = head.split(b"\r\n")
    return line, {name: value for name, _, value in (row.partition(b": ") for row in rows)}, body


@pytest.mark.parametrize(
    "pieces",
    [
        (b"GET /echo HTTP/1.1\r\n\r\n",),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",),
        (b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",),
        (b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\nx",),
        (b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\nx",),
        (b"GET /echo HTTP/1.1\r\nhost : a\r\n\r\n",),
        (b"\r\n" + GET,),
        (LONG,),
        (LONG[:3000], LONG[3000:]),
        (b"nonsense\r\n\r\n",),
        (GET, b"nonsense\r\n\r\n"),
    ],
)
def test_what_is_no_request_is_told_so(pieces: Any) -> None:
    """With the stock protocol's status and, unlike it, an error body; the connection ends."""
    ours, stock = both(*pieces)
    (line, headers, body), (stock_line, _, stock_body) = apart(ours), apart(stock)
    assert line == stock_line
    assert stock_body == b""
    error = json.loads(body)["error"]
    assert error["code"] == int(line.split()[1])
    assert headers[b"content-length"] == str(len(body)).encode()
    assert headers[b"connection"] == b"close"
    says = {
        400: teaching.request_unreadable,
        431: teaching.request_head_too_large,
        501: teaching.request_coding_unknown,
    }
    assert error["message"] == says[error["code"]]()


@pytest.mark.parametrize(
    ("path", "keys"),
    [("/api/chat", {"error"}), ("/v1/messages?beta=true", {"type", "error", "request_id"}), ("/v1/models", {"error"})],
)
def test_it_is_told_in_the_dialect_of_its_path(path: str, keys: set[str]) -> None:
    """Of a path that can be read; also where its head came in pieces."""
    head = f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 1, 2\r\n\r\n".encode()
    for pieces in ((head,), (head[:9], head[9:])):
        body = json.loads(apart(both(*pieces)[0])[2])
        assert set(body) == keys
    assert isinstance(body["error"], str) is (path == "/api/chat")


def test_odd_nobody_is_told_to_go_on_unasked() -> None:
    """Whoever is answered without it never hears `100 Continue`; the answer is the next that it hears."""

    async def go(path: bytes, *more: bytes) -> bytes:
        head = b"POST %b HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n" % path
        async with serving(ours=True) as port:
            return await said(port, head, *more)

    assert asyncio.run(go(b"/unread")).startswith(b"HTTP/1.1 200 ")
    told = asyncio.run(go(b"/echo", b"x"))
    assert told.startswith(b"HTTP/1.1 100 ")
    assert told.count(b"HTTP/1.1 100 ") == 1
    assert apart(told)[0] == b"HTTP/1.1 200 "
