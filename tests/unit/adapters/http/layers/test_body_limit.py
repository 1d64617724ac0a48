"""How large a body may be (D12)."""

import asyncio

import pytest

from blazar.adapters.http import routes
from blazar.adapters.http.asgi import ARRIVED, App, Message, Receive, Scope, Send
from blazar.adapters.http.layers import body_limit as body_limit_layer
from blazar.adapters.http.layers.body_limit import body_limit
from blazar.adapters.http.layers.doors import BODY_LIMIT
from blazar.adapters.http.layers.patience import SILENCE
from blazar.domain import teaching
from tests.fakes.clock import FakeClock
from tests.unit.adapters.http.asgi_calls import Spy, call, doors, fine, run, scope_of

LIMIT = 100
SENTENCE = teaching.body_too_large(LIMIT)


def limited(app: App = fine) -> App:
    return body_limit(app, doors(body_limit=LIMIT))


def streamed(app: App, *chunks: bytes, path: str = "/v1/chat/completions") -> object:
    scope = scope_of("POST", path, [("transfer-encoding", "chunked")])
    return asyncio.run(run(app, scope, chunks))


def test_the_limit_is_50_mib() -> None:
    """D12."""
    assert doors().body_limit == BODY_LIMIT == 50 * 1024 * 1024


def test_a_body_of_exactly_the_limit_passes() -> None:
    """Announced or streamed."""
    assert call(limited(), "POST", "/x", body=b"x" * LIMIT).body == b"/x 100"
    assert streamed(limited(), b"x" * 60, b"x" * 40).status == 200  # type: ignore[attr-defined]


def test_an_announced_body_is_refused_unread() -> None:
    """The app never runs; what arrives is dropped, so that the client reads our answer instead of a reset."""
    spy = Spy()
    answer = call(limited(spy), "POST", "/v1/chat/completions", body=b"x" * (LIMIT + 1))
    assert (answer.status, answer.json()["error"]["message"]) == (413, SENTENCE)
    assert spy.scopes == []


@pytest.mark.parametrize("path", ["/api/chat", "/v1/messages", "/v1/embeddings", "/api/load"])
def test_the_413_wears_the_dialect(path: str) -> None:
    """D10."""
    body = call(limited(), "POST", path, body=b"x" * 101).json()
    if path == "/api/chat":
        assert body == {"error": SENTENCE}
    elif path == "/v1/messages":
        assert body["error"] == {"type": "request_too_large", "message": SENTENCE}
    else:
        assert body["error"] == {"message": SENTENCE, "type": "blazar_error", "param": None, "code": 413}


def test_a_streamed_body_is_counted() -> None:
    """Without a length it is refused where it goes over, and the rest is dropped."""
    answer = streamed(limited(), b"x" * 60, b"x" * 60, b"x" * 60)
    assert answer.status == 413  # type: ignore[attr-defined]


def test_an_endless_body_is_not_read_for_ever() -> None:
    """Beyond a few times the limit the connection is given up."""
    taken = 0

    async def main() -> None:
        nonlocal taken

        async def receive() -> dict[str, object]:
            nonlocal taken
            taken += 1
            return {"type": "http.request", "body": b"x" * LIMIT, "more_body": True}

        async def send(message: object) -> None: ...

        await limited()(scope_of("POST", "/", [("transfer-encoding", "chunked")]), receive, send)

    asyncio.run(main())
    assert taken < 10


def test_who_waits_for_100_continue_is_answered_at_once() -> None:
    """It has not begun to send, so there is nothing to drop."""
    headers = [("expect", "100-continue"), ("content-length", "101")]
    answer = asyncio.run(run(limited(), scope_of("POST", "/", headers), ()))
    assert answer.status == 413


def test_who_announces_too_much_hears_so_before_it_has_sent_it() -> None:
    """The answer is whole by its length before a byte of the body is asked for; it ends when the body does, or when that stops."""
    silent = asyncio.Event()

    async def main() -> list[Message]:
        sent: list[Message] = []

        async def receive() -> Message:
            await silent.wait()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        clock = FakeClock()
        layer = body_limit(fine, doors(body_limit=LIMIT, clock=clock))
        task = asyncio.ensure_future(layer(scope_of("POST", "/", [("content-length", "101")]), receive, send))
        await clock.settle()
        assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
        assert dict(sent[0]["headers"])[b"content-length"] == str(len(sent[1]["body"])).encode()
        assert not task.done()
        await clock.advance(SILENCE + 1)
        await task
        return sent

    *_, end = asyncio.run(main())
    assert (end["body"], end["more_body"]) == (b"", False)


def test_an_answer_that_began_is_left_alone() -> None:
    """An app that answers before it has read everything is not answered twice."""

    async def eager(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await send({"type": "http.response.body", "body": b"never", "more_body": False})

    answer = streamed(limited(eager), b"x" * 101)
    assert [message["type"] for message in answer.messages] == ["http.response.start"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("length", ["", "-1", "1x", "9" * 30])
def test_a_length_that_is_no_length_is_refused(length: str) -> None:
    """400, or 413 where it is a number beyond all bounds."""
    assert call(limited(), "POST", "/", [("content-length", length)]).status in (400, 413)


def test_other_scopes_and_no_body_pass() -> None:
    """A GET and the lifespan have nothing to limit."""
    spy = Spy()
    assert call(limited(spy), "GET", "/").status == 200
    asyncio.run(run(limited(spy), {"type": "lifespan"}))
    asyncio.run(run(limited(spy), scope_of(kind="websocket")))
    assert len(spy.scopes) == 3


@pytest.mark.parametrize("announced", [True, False])
def test_a_row_that_takes_uploads_has_its_own_limit(announced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Announced or streamed; every other row keeps that of JSON (D12)."""
    row = next(route for route in routes.ROUTES if route.upload)
    monkeypatch.setattr(
        body_limit_layer, "upload_at", lambda *at: row._replace(upload=250) if at[1] == row.path else None
    )

    def sent(path: str, size: int) -> int:
        if announced:
            return call(limited(), "POST", path, body=b"x" * size).status
        return streamed(limited(), *[b"x"] * size, path=path).status  # type: ignore[attr-defined,no-any-return]

    assert [sent(row.path, size) for size in (100, 101, 250, 251)] == [200, 200, 200, 413]
    assert [sent("/v1/batches", size) for size in (100, 101)] == [200, 413]


def test_files_may_have_512_mib() -> None:
    """And a little around them."""
    row = routes.upload_at("POST", "/v1/files")
    assert row is not None
    assert 512 * 2**20 < row.upload <= 514 * 2**20


@pytest.mark.parametrize(("arrived", "length", "watched"), [(True, 100, False), (False, 100, True), (True, 101, True)])
def test_only_a_body_that_is_still_to_come_is_watched(*, arrived: bool, length: int, watched: bool) -> None:
    """What lies in our memory can be neither slow nor longer than it said; too long it can be."""
    seen: list[Receive] = []

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(receive)
        await fine(_scope, receive, send)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * length, "more_body": False}

    async def send(_message: Message) -> None: ...

    scope = {**scope_of("POST", "/x", [("content-length", str(length))]), ARRIVED: arrived}
    asyncio.run(limited(app)(scope, receive, send))  # type: ignore[arg-type]
    assert (seen != [receive]) is watched
