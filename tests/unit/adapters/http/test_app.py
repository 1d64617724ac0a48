"""The cold shell as a whole: one error shape per dialect, whatever goes wrong."""

import asyncio
import logging
from typing import Any

import pytest

from blazar.adapters.http.layers.doors import Key
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble
from tests.unit.adapters.http.asgi_calls import KEY, Answer, call, doors, run, scope_of
from tests.unit.adapters.http.gateway import SMALL, Parts


def message_of(answer: Answer, path: str) -> str:
    """The sentence, once the envelope is the dialect's."""
    body = answer.json()
    if path.startswith("/v1/messages"):
        assert body["type"] == "error"
        assert body["request_id"] == answer.header("request-id")
        assert set(body["error"]) == {"type", "message"}
        return str(body["error"]["message"])
    if path in ("/api/chat", "/api/tags", "/api/show", "/api/ps", "/api/nope"):
        assert set(body) == {"error"}
        return str(body["error"])
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert body["error"]["code"] == answer.status
    assert body["error"]["type"] == "blazar_error"
    return str(body["error"]["message"])


@pytest.mark.parametrize("path", ["/v1/nope", "/nope", "/api/nope", "/v1/messages/nope"])
def test_404_teaches(path: str) -> None:
    """No HTML, no framework words (A11)."""
    answer = call(Parts(SMALL).app, "GET", path)
    assert answer.status == 404
    assert message_of(answer, path) == teaching.route_not_found("GET", path)
    assert answer.header("content-type") == "application/json"


@pytest.mark.parametrize("path", ["/v1/realtime", "/v1/chat/completions", "/"])
def test_a_websocket_that_no_route_takes_is_refused_quietly(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A handshake is no request to the framework; the refusal must not stumble over that and fill the log."""
    answer = asyncio.run(run(Parts(SMALL).app, scope_of(path=path, kind="websocket")))
    assert [message["type"] for message in answer.messages] == ["websocket.close"]
    assert not caplog.records


@pytest.mark.parametrize("path", ["//v1/models", "/v1/models/"])
def test_slashes_at_the_ends_are_forgiven(path: str) -> None:
    """Base URLs are configured with and without one; a redirect would lose bodies."""
    assert call(Parts(SMALL).app, "GET", path).json()["object"] == "list"


def test_a_post_that_the_lane_did_not_take_is_a_404() -> None:
    """Never "POST is not allowed: use POST"."""
    answer = call(Parts(SMALL).app, "POST", "/v1/chat/completions/", body=b"{}")
    assert answer.status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/chat/completions", ["GET", "HEAD", "POST"]),
        ("GET", "/v1/responses", ["POST"]),
        ("GET", "/v1/messages", ["POST"]),
        ("DELETE", "/api/chat", ["POST"]),
        ("POST", "/api/tags", ["GET", "HEAD"]),
        ("PUT", "/v1/models/x", ["GET", "HEAD"]),
        ("PATCH", "/api/load", ["POST"]),
        ("DELETE", "/api/ps", ["GET", "HEAD", "POST"]),
        ("POST", "/health", ["GET", "HEAD"]),
    ],
)
def test_405_lists_what_is_allowed(method: str, path: str, allowed: list[str]) -> None:
    """In the body and in Allow, also on paths that the lane answers."""
    parts = Parts(SMALL)
    answer = call(parts.app, method, path)
    assert (answer.status, answer.header("allow")) == (405, ", ".join(allowed))
    assert message_of(answer, path) == teaching.method_not_allowed(method, path, allowed)
    assert parts.lane == []


@pytest.mark.parametrize("path", ["/v1/responses/compact", "/v1/responses/anything/"])
def test_a_word_where_an_id_would_stand_is_a_route_that_is_not_there(path: str) -> None:
    """Not a response that cannot do this."""
    answer = call(Parts(SMALL).app, "POST", path)
    assert answer.status == 404
    assert message_of(answer, path) == teaching.route_not_found("POST", path)
    assert call(Parts(SMALL).app, "POST", "/v1/responses/resp_1").status == 405


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/chat/completions", "GET, HEAD, POST, OPTIONS"),
        ("/v1/messages", "POST, OPTIONS"),
        ("/v1/files", "GET, HEAD, POST, OPTIONS"),
        ("/v1/batches/x/cancel", "POST, OPTIONS"),
    ],
)
def test_options_lists_what_is_allowed(path: str, allowed: str) -> None:
    """Also on paths that the lane and the doors for uploads answer; one that there is not is a 404."""
    answer = call(Parts(SMALL).app, "OPTIONS", path)
    assert (answer.status, answer.header("allow"), answer.body) == (200, allowed, b"")
    assert call(Parts(SMALL).app, "OPTIONS", path + "/nope/nope").status == 404


BODIES: list[tuple[bytes, str]] = [
    (b"", "it is empty"),
    (b"  ", "it is empty"),
    (b"{", "ends too early"),
    (b"\xff\xfe", "UTF-8"),
    (b"[]", "must be a JSON object"),
    (b'"x"', "must be a JSON object"),
    (b"null", "must be a JSON object"),
    (b"[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize("path", ["/api/show", "/api/load", "/api/evict", "/api/copy", "/api/ps"])
@pytest.mark.parametrize(("body", "says"), BODIES)
def test_a_bad_body_is_a_400_that_says_why(path: str, body: bytes, says: str) -> None:
    """A21, on every route that reads a body."""
    answer = call(Parts(SMALL).app, "POST", path, body=body)
    assert answer.status == 400
    assert says in (answer.json()["error"] if path not in {"/api/load", "/api/evict"} else message_of(answer, path))


@pytest.mark.parametrize(
    ("path", "body", "field", "sentence"),
    [
        ("/api/load", {}, "model", teaching.field_missing("model")),
        ("/api/load", {"model": None}, "model", teaching.field_missing("model")),
        ("/api/load", {"model": 5}, "model", teaching.field_must("model", "model")),
        ("/api/load", {"model": ""}, "model", teaching.field_must("model", "model")),
        ("/api/load", {"model": "smollm2", "keep_alive": "soon"}, "keep_alive", teaching.keep_alive_wrong("soon")),
        ("/api/evict", {"model": "smollm2", "force": "yes"}, "force", teaching.field_must("force", "boolean")),
    ],
)
def test_a_wrong_field_is_named(path: str, body: Any, field: str, sentence: str) -> None:
    """In our words, with the field as param."""
    error = call(Parts(SMALL).app, "POST", path, body=body).json()["error"]
    assert (error["message"], error["param"], error["code"]) == (sentence, field, 400)


@pytest.mark.parametrize("path", ["/v1/models", "/api/tags", "/api/ps"])
def test_a_bug_shows_only_its_trace(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Quart hands it to the request boundary instead of making a page of it."""
    parts = Parts(SMALL)
    parts.broken = ZeroDivisionError("inner detail")
    with caplog.at_level(logging.ERROR):
        answer = call(parts.app, "GET", path)
    assert answer.status == 500
    assert message_of(answer, path) == teaching.internal(answer.header("request-id") or "")
    assert b"inner" not in answer.body
    assert "ZeroDivisionError" in caplog.text


def test_a_fault_of_ours_keeps_its_sentence() -> None:
    """A BlazarError out of a handler is mapped by the table."""
    parts = Parts(SMALL)
    parts.broken = StoreTrouble("the disk is full")
    answer = call(parts.app, "GET", "/api/tags")
    assert (answer.status, answer.json()) == (500, {"error": "the disk is full"})


def test_a_streamed_body_above_the_limit_is_a_413() -> None:
    """Through Quart too, where nothing announces the length."""
    parts = Parts(SMALL, layers=doors(body_limit=1000))
    answer = call(parts.app, "POST", "/api/show", [("transfer-encoding", "chunked")], b"x" * 2000)
    assert (answer.status, answer.json()) == (413, {"error": teaching.body_too_large(1000)})


def test_quart_neither_times_out_nor_limits_below_the_layer() -> None:
    """Its defaults cut slow answers after 60 s and bodies at 16 MiB."""
    config = Parts().quart.config
    assert config["RESPONSE_TIMEOUT"] is None
    assert config["BODY_TIMEOUT"] is None
    assert config["MAX_CONTENT_LENGTH"] == 50 * 2**20


@pytest.mark.parametrize("path", ["/api/evict", "//api/evict", "/api/evict/", "/api//evict"])
def test_no_spelling_of_a_path_gets_around_its_gate(path: str) -> None:
    """What Quart forgives is not forgiven to a scoped key."""
    parts = Parts(SMALL, layers=doors(keys=(Key("kiosk", "plm_small", ("other",)),)))
    answer = call(parts.app, "POST", path, [("x-api-key", "plm_small")], {"model": "smollm2"})
    assert answer.status in (403, 404)
    assert parts.supervising.evictions == []


def test_the_layers_stand_around_it() -> None:
    """A cold answer carries the trace, CORS and needs the key."""
    parts = Parts(SMALL, layers=doors(keys=(KEY,)))
    page = ("origin", "http://localhost:1")
    assert call(parts.app, "GET", "/api/tags", [page]).status == 401
    answer = call(parts.app, "GET", "/api/tags", [page, ("authorization", "Bearer plm_secret")])
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") == "http://localhost:1"
    assert answer.header("x-blazar-trace-id")


def test_a_path_of_ollamas_cloud_is_told_so() -> None:
    """In the envelope that ollama's clients print."""
    answer = call(Parts().app, "POST", "/api/me", body={})
    assert (answer.status, answer.json()) == (404, {"error": teaching.ollama_cloud_not_here()})
