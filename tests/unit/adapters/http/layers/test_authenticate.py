"""Who may come in (D7)."""

import asyncio

import pytest

from blazar.adapters.http.layers.authenticate import KEY_MODELS, OPEN_PATHS, authenticate
from blazar.adapters.http.layers.doors import Key
from blazar.adapters.http.layers.order import wrap
from blazar.adapters.http.layers.request_log import request_log
from blazar.adapters.http.record import record_of
from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import KEY, Spy, call, doors, fine, run, scope_of

LOCKED = doors(keys=(KEY, Key("phone", "plm_other"), Key("kiosk", "plm_small", ("smollm2",))))
SENTENCE = "missing or invalid API key (Authorization: Bearer or x-api-key)"


def test_who_is_refused_is_told() -> None:
    """Where from and what was asked for; nobody who has a key, or asks for what needs none, and never what was shown."""
    told: list[tuple[str, str]] = []
    behind = doors(keys=(KEY,), refused=lambda *about: told.append(about))
    app = request_log(authenticate(fine, behind), behind)
    for path, key in (("/api/tags", "plm_wrong"), ("/api/tags", "plm_secret"), ("/health", "plm_wrong")):
        call(app, "GET", path, [("x-api-key", key)])
    assert told == [("127.0.0.1", "/api/tags")]


def test_without_keys_everything_is_open() -> None:
    """The layer is not there at all."""
    assert authenticate(fine, doors()) is fine


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", "Bearer plm_secret")],
        [("Authorization", "bearer   plm_secret ")],
        [("x-api-key", "plm_secret")],
        [("authorization", "Bearer dummy"), ("x-api-key", "plm_secret")],
        [("authorization", "Basic Og=="), ("x-api-key", "plm_secret")],
    ],
)
def test_a_configured_key_opens(headers: list[tuple[str, str]]) -> None:
    """Bearer, then x-api-key; the record learns the key's name."""
    spy = Spy()
    app = request_log(authenticate(spy, LOCKED), LOCKED)
    assert call(app, "POST", "/v1/chat/completions", headers).status == 200
    assert record_of(spy.scopes[0]).key == "laptop"
    assert KEY_MODELS not in spy.scopes[0]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", "Bearer plm_secre")],
        [("authorization", "Bearer plm_secrett")],
        [("authorization", "plm_secret")],
        [("authorization", "Basic plm_secret")],
        [("x-api-key", "")],
        [("x-api-key", "PLM_SECRET")],
        [("cookie", "plm_secret")],
    ],
)
def test_anything_else_gets_the_specifications_401(headers: list[tuple[str, str]]) -> None:
    """Byte by byte the body of the specification."""
    spy = Spy()
    answer = call(request_log(authenticate(spy, LOCKED), LOCKED), "GET", "/v1/models?api_key=plm_secret", headers)
    assert answer.status == 401
    assert answer.body == b'{"error":{"message":"%s","type":"blazar_error","code":401}}' % SENTENCE.encode()
    assert spy.scopes == []


def test_the_401_of_each_dialect() -> None:
    """D10: the same sentence in three envelopes."""
    app = wrap(fine, LOCKED)
    assert call(app, "POST", "/api/chat").json() == {"error": SENTENCE}
    claude = call(app, "POST", "/v1/messages")
    assert claude.json() == {
        "type": "error",
        "error": {"type": "authentication_error", "message": SENTENCE},
        "request_id": claude.header("request-id"),
    }
    assert call(app, "GET", "/v1/models", [("anthropic-version", "2023-06-01")]).json()["type"] == "error"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/healthz", 200),
        ("HEAD", "/", 200),
        ("GET", "/", 401),
        ("POST", "/", 401),
        ("GET", "/health/", 401),
        ("GET", "/healthz/x", 401),
        ("GET", "/HEALTH", 401),
        ("GET", "/nowhere", 401),
        ("GET", "/metrics", 401),
        ("OPTIONS", "/v1/models", 401),
    ],
)
def test_what_is_open_and_what_is_not(method: str, path: str, status: int) -> None:
    """Default-deny, also for paths that nobody knows."""
    assert call(wrap(fine, LOCKED), method, path).status == status
    assert frozenset({"/health", "/healthz"}) == OPEN_PATHS


def test_preflights_need_no_key_and_a_401_can_be_read_by_a_page() -> None:
    """CORS stands outside auth."""
    app = wrap(fine, LOCKED)
    page = ("origin", "http://localhost:3000")
    assert call(app, "OPTIONS", "/v1/models", [page, ("access-control-request-method", "GET")]).status == 204
    answer = call(app, "GET", "/v1/models", [page])
    assert (answer.status, answer.header("access-control-allow-origin")) == (401, "http://localhost:3000")


def test_a_scoped_key_carries_its_models_and_does_not_manage() -> None:
    """Management needs an unscoped key (contract)."""
    spy = Spy()
    app = wrap(spy, LOCKED)
    small = [("x-api-key", "plm_small")]
    assert call(app, "POST", "/api/chat", small).status == 200
    assert spy.scopes[0][KEY_MODELS] == frozenset({"smollm2"})
    answer = call(app, "DELETE", "/api/delete", small)
    assert (answer.status, answer.json()) == (403, {"error": teaching.key_is_scoped("kiosk")})
    assert call(app, "POST", "/api/evict", small).status == 403
    assert call(app, "POST", "/api/evict", [("x-api-key", "plm_other")]).status == 200


def test_websockets_need_a_key_and_lifespan_does_not() -> None:
    """A handshake without one is closed; a key in the query is no key (J12)."""
    spy = Spy()
    app = wrap(spy, LOCKED)
    answer = asyncio.run(run(app, scope_of(path="/v1/realtime?api_key=plm_secret", kind="websocket")))
    assert [message["type"] for message in answer.messages] == ["websocket.close"]
    asyncio.run(run(app, scope_of(path="/v1/realtime", kind="websocket", headers=[("x-api-key", "plm_secret")])))
    asyncio.run(run(app, {"type": "lifespan"}))
    assert [scope["type"] for scope in spy.scopes] == ["websocket", "lifespan"]
