"""What is no request is told in a dialect, and a body is asked for only when somebody wants it."""

import asyncio
import json
from typing import Any

import pytest

from blazar.domain import teaching
from tests.unit.adapters.http.server.test_plain import GET, app, both, said, serving

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


@pytest.mark.parametrize(
    ("head", "status", "sentence"),
    [
        (b"GET a:/echo HTTP/1.1\r\nhost: a", 400, teaching.request_target_wrong()),
        (b"GET echo;x HTTP/1.1\r\nhost: a", 400, teaching.request_target_wrong()),
        (b"GET * HTTP/1.1\r\nhost: a", 400, teaching.request_target_wrong()),
        (b"GET ftp://a/echo HTTP/1.1\r\nhost: a", 400, teaching.request_target_wrong()),
        (b"HEAD a:/echo HTTP/1.1\r\nhost: a", 400, None),
        (b"CONNECT a:443 HTTP/1.1\r\nhost: a", 400, teaching.request_target_wrong()),
        (b"head / HTTP/1.1\r\nhost: a", 400, teaching.method_in_small_letters("head")),
        (b"Get /v1/models HTTP/1.1\r\nhost: a", 400, teaching.method_in_small_letters("Get")),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 5000, 431, teaching.request_head_too_large()),
        (b"GET /echo HTTP/1.1\r\nhost: a\r\nx:\t" + b"y" * 5000, 431, teaching.request_head_too_large()),
        (b"GET /echo?" + b"y" * 5000 + b" HTTP/1.1\r\nhost: a", 414, teaching.request_url_too_long()),
        (b"PUT /" + b"y" * 5000 + b" HTTP/1.1\r\nhost: a", 414, teaching.request_url_too_long()),
    ],
)
def test_a_head_is_judged_as_a_whole(head: bytes, status: int, sentence: str | None) -> None:
    """What it asks for, how it asks, and how large it is, also where all of it came at once; nothing of it reaches an application."""

    async def go(*pieces: bytes) -> bytes:
        async with serving(ours=True) as port:
            return await said(port, *pieces)

    whole = head + b"\r\n\r\n"
    for pieces in ((whole,), (GET, whole)):
        line, headers, body = apart(asyncio.run(go(*pieces)))
        assert line.startswith(b"HTTP/1.1 %d " % status)
        assert headers[b"connection"] == b"close"
        if sentence is None:
            assert body == b""
        else:
            assert json.loads(body)["error"]["message"] == sentence


def test_a_first_line_without_an_end_is_a_url_too_long() -> None:
    """Nobody need wait for the rest of it."""
    line, _, body = apart(both(b"GET /echo?" + b"y" * 5000)[0])
    assert line.startswith(b"HTTP/1.1 414 ")
    assert json.loads(body)["error"]["message"] == teaching.request_url_too_long()


@pytest.mark.parametrize("target", [b"http://b/echo?q=1", b"HTTP://b/echo?q=1"])
def test_a_whole_url_is_the_path_in_it(target: bytes) -> None:
    """As a proxy's client sends it (RFC 9112, 3.2.2); its host is the one that is judged."""
    seen: list[Any] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)
        await app(scope, receive, send)

    async def go(raw: bytes) -> bytes:
        async with serving(ours=True, of=noting) as port:
            return await said(port, raw)

    got = asyncio.run(go(b"GET %b HTTP/1.1\r\nhost: a\r\nx: y\r\n\r\n" % target))
    assert got.startswith(b"HTTP/1.1 200 ")
    assert (seen[0]["path"], seen[0]["raw_path"], seen[0]["query_string"]) == ("/echo", b"/echo", b"q=1")
    assert seen[0]["headers"] == [(b"host", b"b"), (b"x", b"y")]
    asyncio.run(go(b"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"))
    assert seen[-1]["path"] == "/"


def test_a_body_of_two_lengths_ends_its_connection() -> None:
    """The coding counts, and nobody is told of the other one; what stands behind may be meant as a part of it (RFC 9112, 6.1)."""
    seen: list[Any] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)
        await app(scope, receive, send)

    raw = b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"

    async def go() -> bytes:
        async with serving(ours=True, of=noting) as port:
            return await said(port, raw + GET)

    got = asyncio.run(go())
    assert got.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in got.lower()
    assert [name for name, _ in seen[0]["headers"]] == [b"host", b"transfer-encoding"]


def test_an_application_that_ends_unread_holds_no_connection() -> None:
    """However much of a body still comes: it is for nobody, and the connection ends with its client at the latest."""
    piece = b"1\r\nx\r\n"

    async def go() -> bytes:
        async with serving(ours=True) as port:
            head = b"POST /unread HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
            return await said(port, head + piece * 200, piece * 200 + b"0\r\n\r\n")

    assert apart(asyncio.run(go()))[0].startswith(b"HTTP/1.1 200 ")
