"""The outermost layer."""

import asyncio
import json
import logging

import pytest

from blazar.adapters.http.asgi import Receive, Scope, Send
from blazar.adapters.http.layers.request_log import request_log
from blazar.adapters.http.record import CLIENT_LEFT, record_of
from blazar.domain import teaching
from blazar.domain.errors import Busy, ModelNotFound
from tests.unit.adapters.http.asgi_calls import Spy, call, doors, fine, run, scope_of


def test_every_response_names_its_trace_three_times() -> None:
    """x-blazar-trace-id, x-request-id and request-id carry plm-<hex>-<seq> (D11), counting up."""
    app = request_log(fine, doors())
    first, second = call(app, "GET", "/a"), call(app, "GET", "/b")
    assert first.header("x-blazar-trace-id") == "plm-abababab-1"
    assert first.header("x-request-id") == first.header("request-id") == "plm-abababab-1"
    assert second.header("x-blazar-trace-id") == "plm-abababab-2"


def test_a_well_formed_trace_is_echoed() -> None:
    """The caller's own trace is kept."""
    assert (
        call(request_log(fine, doors()), "GET", "/", [("X-Blazar-Trace-Id", "plm-0f-77")]).header("request-id")
        == "plm-0f-77"
    )


@pytest.mark.parametrize("text", ["", "x", "plm-xyz-1", "plm-ab-", "plm-ab-1\t", "plm-" + "a" * 33 + "-1", "é"])
def test_any_other_trace_is_replaced(text: str) -> None:
    """Arbitrary text never reaches logs or headers."""
    answer = call(request_log(fine, doors()), "GET", "/", [("x-blazar-trace-id", text)])
    assert answer.header("x-blazar-trace-id") == "plm-abababab-1"


def test_the_meter_hears_of_each_request() -> None:
    """One Served with facts from the record, the scope and the clock."""
    parts = doors()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        record.model, record.prompt_tokens, record.status = "m", 7, 200  # a lane may set the status itself
        parts.clock.time += 2  # type: ignore[attr-defined]
        await fine(scope, receive, send)
        parts.clock.time += 3  # type: ignore[attr-defined]

    answer = call(request_log(app, parts), "POST", "/api/chat", body=b"{}")
    assert answer.header("x-request-id")
    (served,) = parts.meter.served  # type: ignore[attr-defined]
    assert (served.method, served.path, served.status, served.dialect) == ("POST", "/api/chat", 200, "ollama")
    assert (served.model, served.prompt_tokens, served.seconds, served.first_byte_seconds) == ("m", 7, 5.0, 2.0)
    assert (served.peer, served.ended) == ("127.0.0.1", parts.clock.wall())


def test_a_shared_head_is_never_written_to() -> None:
    """A constant response head stays as it is, however often it is sent."""
    headers = [(b"content-type", b"text/plain")]
    head = {"type": "http.response.start", "status": 200, "headers": headers}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(head)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    wrapped = request_log(app, doors())
    call(wrapped, "GET", "/")
    assert len(call(wrapped, "GET", "/").headers) == 4
    assert head["headers"] is headers
    assert len(headers) == 1


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/v1/chat/completions", {"error": {"message": "?", "type": "blazar_error", "param": None, "code": 500}}),
        ("/api/chat", {"error": "?"}),
        ("/api/load", {"error": {"message": "?", "type": "blazar_error", "param": None, "code": 500}}),
        (
            "/v1/messages",
            {"type": "error", "error": {"type": "api_error", "message": "?"}, "request_id": "plm-abababab-1"},
        ),
    ],
)
def test_a_bug_is_a_500_with_the_trace(path: str, want: object, caplog: pytest.LogCaptureFixture) -> None:
    """The user gets the sentence in the dialect's envelope, the log gets the traceback."""

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise KeyError("/secret/path")

    with caplog.at_level(logging.ERROR):
        answer = call(request_log(broken, doors()), "POST", path)
    sentence = teaching.internal("plm-abababab-1")
    assert answer.status == 500
    assert answer.body.decode().replace(sentence, "?") == json.dumps(want, separators=(",", ":"))
    assert b"secret" not in answer.body
    assert "KeyError" in caplog.text
    assert "plm-abababab-1" in caplog.text


def test_a_refusal_that_nobody_answered_is_answered_here(caplog: pytest.LogCaptureFixture) -> None:
    """A BlazarError is no bug: its own status, no traceback."""

    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        raise ModelNotFound("x")

    answer = call(request_log(refusing, doors()), "GET", "/api/ps")
    assert (answer.status, answer.json()) == (404, {"error": teaching.model_not_found("x", ())})
    assert caplog.text == ""


def test_busy_says_when_to_come_back() -> None:
    """503 carries retry-after in whole seconds, at least one."""

    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        raise Busy("later", retry_after=2.2)

    answer = call(request_log(busy, doors()), "POST", "/v1/completions")
    assert (answer.status, answer.header("retry-after")) == (503, "3")


def test_an_answer_that_began_is_not_begun_again(caplog: pytest.LogCaptureFixture) -> None:
    """After the head nothing is added: the server cuts the connection, which is the truth."""

    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("half way")

    parts = doors()
    with caplog.at_level(logging.ERROR):
        answer = call(request_log(half, parts), "GET", "/")
    assert [message["type"] for message in answer.messages] == ["http.response.start"]
    assert parts.meter.served[0].status == 200  # type: ignore[attr-defined]


def test_a_cancelled_request_is_counted_and_stays_cancelled() -> None:
    """A client that left before a status was decided shows as 499."""
    parts = doors()

    async def cancelled(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        call(request_log(cancelled, parts), "GET", "/")
    assert parts.meter.served[0].status == CLIENT_LEFT  # type: ignore[attr-defined]


def test_lifespan_passes_untouched() -> None:
    """No record, no meter for what is no request."""
    spy, parts = Spy(), doors()
    scope: Scope = {"type": "lifespan", "asgi": {}}
    asyncio.run(run(request_log(spy, parts), scope))
    assert spy.scopes == [{"type": "lifespan", "asgi": {}}]
    assert parts.meter.served == []  # type: ignore[attr-defined]


def test_a_websocket_gets_a_record_and_its_bug_closes_it(caplog: pytest.LogCaptureFixture) -> None:
    """Closing before accepting is the server's 403; the meter hears of it."""
    parts = doors()

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        assert record_of(scope).trace == "plm-abababab-1"
        raise RuntimeError

    with caplog.at_level(logging.ERROR):
        answer = asyncio.run(run(request_log(broken, parts), scope_of(path="/v1/realtime", kind="websocket")))
    assert [message["type"] for message in answer.messages] == ["websocket.close"]
    assert parts.meter.served[0].status == 403  # type: ignore[attr-defined]
