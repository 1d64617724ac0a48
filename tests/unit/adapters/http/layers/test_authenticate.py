"""Who may come in (D7)."""

import asyncio
import hmac
from typing import Any

import pytest

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send
from blazar.adapters.http.layers.authenticate import KEY_MODELS, OPEN_PATHS, authenticate, is_errand
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.layers.order import Doorway, wrap
from blazar.adapters.http.layers.request_log import request_log
from blazar.adapters.http.record import record_of
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.keys import Key
from blazar.domain.quota import Account
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


def guarded(app: App, *keys: Key, **more: Any) -> tuple[App, Doors]:
    """`app` behind keys."""
    behind = doors(keys=keys, **more)
    return request_log(authenticate(app, behind), behind), behind


def account_of(behind: Doors, name: str) -> Account:
    found = behind.accounts.find(name)
    assert found is not None
    return found


MINE = [("x-api-key", "plm_secret")]


def test_the_record_learns_weight_and_account() -> None:
    """For the queue, and for whoever charges."""
    spy = Spy()
    app, behind = guarded(spy, KEY._replace(weight=2.5))
    call(app, "POST", "/api/chat", MINE)
    record = record_of(spy.scopes[0])
    assert record.weight == 2.5
    assert record.tab is not None
    assert record.tab.account is account_of(behind, "laptop")
    assert record.tab.hurried


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_so_many_requests_at_once_and_no_more(limit: int) -> None:
    """Off by none (L4); the next is told which limit it is, and comes in when one has ended (its body drained)."""

    async def main() -> None:
        ends = [asyncio.Event() for _ in range(limit)]
        inside = iter(ends)

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            if (end := next(inside, None)) is not None:
                await end.wait()
            await fine(scope, receive, send)

        app, behind = guarded(slow, KEY._replace(max_concurrent=limit))
        held = [asyncio.create_task(run(app, scope_of("POST", "/api/chat", MINE))) for _ in range(limit)]
        await asyncio.sleep(0)
        refused = await run(app, scope_of("POST", "/v1/chat/completions", MINE))
        assert (refused.status, refused.header("retry-after")) == (429, "1")
        assert refused.json()["error"] == {
            "message": teaching.over_quota("laptop", "max_concurrent", limit, 1),
            "type": "blazar_error",
            "param": None,
            "code": 429,
        }
        assert account_of(behind, "laptop").running == limit
        ends[0].set()
        assert (await held[0]).status == 200
        assert (await run(app, scope_of("POST", "/api/chat", MINE))).status == 200
        for end in ends:
            end.set()
        await asyncio.gather(*held)
        assert account_of(behind, "laptop").running == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (b'{"messages": [], "model" : "qwen3:0.6b"}', "qwen3:0.6b"),
        (b'{"model": ""}', ""),
        (b'{"model": "a\\u0062"}', ""),
        (b"no JSON", ""),
        (b"", ""),
    ],
)
def test_odd_a_refusal_for_too_many_at_once_names_the_model(body: bytes, model: str) -> None:
    """In its record, by what the beginning of the body says; nothing else is read of it."""
    app, behind = guarded(fine, KEY._replace(max_concurrent=1))
    account_of(behind, "laptop").enter()
    scope = scope_of("POST", "/v1/chat/completions", MINE)
    assert asyncio.run(run(app, scope, (body,))).status == 429
    assert record_of(scope).model == model


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """The refusal goes out all the same, and so it does where the client has left, or sends too much."""

    async def silent() -> Message:
        return await asyncio.Event().wait()  # type: ignore[return-value] # it never ends

    async def too_large() -> Message:
        raise Malformed("too large")

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    for receive in (silent, too_large, gone):
        app, behind = guarded(fine, KEY._replace(max_concurrent=1))
        account_of(behind, "laptop").enter()
        sent = list[Message]()

        async def send(message: Message, sent: list[Message] = sent) -> None:
            sent.append(message)

        asyncio.run(app(scope_of("POST", "/api/chat", MINE), receive, send))  # type: ignore[arg-type] # a coroutine it is
        assert sent[0]["status"] == 429


def test_two_hundred_at_once_against_three() -> None:
    """Checked and taken in one step (L5): never more than three inside, whatever the order in which they come."""

    async def main() -> None:
        inside = most = 0

        async def work(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1
            await fine(scope, receive, send)

        app, behind = guarded(work, KEY._replace(max_concurrent=3))
        answers = await asyncio.gather(*(run(app, scope_of("POST", "/api/chat", MINE)) for _ in range(200)))
        assert most == 3
        assert {answer.status for answer in answers} == {200, 429}
        assert account_of(behind, "laptop").running == 0

    asyncio.run(main())


async def _fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise RuntimeError("a fault of ours")


async def _says_nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """As where the client has left."""


@pytest.mark.parametrize("app", [fine, _fails, _says_nothing, Spy()])
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/chat"), ("HEAD", "/nowhere"), ("POST", "/api/evict")])
def test_a_place_comes_back_however_it_ends(app: App, method: str, path: str) -> None:
    """An answer, a fault of ours, a client that left, a path that nobody knows, a refusal of the scope."""
    guard, behind = guarded(app, KEY._replace(max_concurrent=1, models=("m",)))
    for _ in range(3):
        call(guard, method, path, MINE)
    assert account_of(behind, "laptop").running == 0


def test_a_place_comes_back_when_the_request_is_cancelled() -> None:
    """As the server does with those that are under way at its end."""

    async def main() -> None:
        async def never(_scope: Scope, _receive: Receive, _send: Send) -> None:
            await asyncio.Event().wait()

        app, behind = guarded(never, KEY._replace(max_concurrent=1))
        for kind in ("http", "websocket"):
            task = asyncio.create_task(run(app, scope_of("POST", "/v1/realtime", MINE, kind=kind)))
            await asyncio.sleep(0)
            assert account_of(behind, "laptop").running == 1
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert account_of(behind, "laptop").running == 0

    asyncio.run(main())


def test_the_order_of_refusals() -> None:
    """401, then the limit of requests at once, then the scope (specification)."""
    guard, behind = guarded(fine, KEY._replace(max_concurrent=1, models=("m",)))
    account_of(behind, "laptop").enter()
    assert call(guard, "POST", "/api/evict", [("x-api-key", "wrong")]).status == 401
    assert call(guard, "POST", "/api/evict", MINE).status == 429
    account_of(behind, "laptop").leave()
    assert call(guard, "POST", "/api/evict", MINE).status == 403


def test_the_429_of_each_dialect() -> None:
    """D10."""
    behind = doors(keys=(KEY._replace(max_concurrent=1),))
    app = wrap(fine, behind)
    account_of(behind, "laptop").enter()
    sentence = teaching.over_quota("laptop", "max_concurrent", 1, 1)
    assert call(app, "POST", "/api/chat", MINE).json() == {"error": sentence}
    claude = call(app, "POST", "/v1/messages", MINE)
    assert claude.json()["error"] == {"type": "rate_limit_error", "message": sentence}
    assert (claude.status, claude.header("retry-after")) == (429, "1")


def test_exchanged_doors_keep_what_was_used() -> None:
    """A reload in the middle: the place that a request holds is given back where it was taken, and new limits hold at once."""

    async def main() -> None:
        end = asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await end.wait()
            await fine(scope, receive, send)

        old = doors(keys=(KEY._replace(max_concurrent=1),))
        doorway = Doorway(slow, old)
        first = asyncio.create_task(run(doorway, scope_of("POST", "/api/chat", MINE)))
        await asyncio.sleep(0)
        doorway.exchange(doors(keys=(KEY._replace(key="plm_new", max_concurrent=1),), accounts=old.accounts))
        new = [("x-api-key", "plm_new")]
        assert (await run(doorway, scope_of("POST", "/api/chat", MINE))).status == 401
        assert (await run(doorway, scope_of("POST", "/api/chat", new))).status == 429
        doorway.exchange(doors(keys=(KEY._replace(key="plm_new", max_concurrent=2),), accounts=old.accounts))
        second = asyncio.create_task(run(doorway, scope_of("POST", "/api/chat", new)))
        await asyncio.sleep(0)
        assert account_of(old, "laptop").running == 2
        end.set()
        assert [(await task).status for task in (first, second)] == [200, 200]
        assert account_of(old, "laptop").running == 0

    asyncio.run(main())


def test_ten_thousand_keys_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look-up by digest and one comparison in constant time, of the right secret and of a wrong one's none."""
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))  # type: ignore[func-returns-value]
    app, _ = guarded(fine, *(Key(f"k{number}", f"plm_{number}") for number in range(10_000)))
    assert call(app, "GET", "/api/tags", [("x-api-key", "plm_7777")]).status == 200
    assert compared == [(b"plm_7777", b"plm_7777")]
    assert call(app, "GET", "/api/tags", [("x-api-key", "plm_10000")]).status == 401
    assert len(compared) == 1


def test_what_is_left_is_told_of_limits_that_there_are() -> None:
    """In the head of every answer, refusals included; a key without limits of a minute hears nothing."""
    app, behind = guarded(fine, KEY._replace(rpm=5, max_concurrent=1), Key("free", "plm_free", max_concurrent=1))
    answer = call(app, "GET", "/v1/models", MINE)
    assert answer.header("x-ratelimit-limit-requests") == "5"
    account_of(behind, "laptop").enter()
    assert call(app, "GET", "/v1/models", MINE).header("x-ratelimit-remaining-requests") == "5"
    plain = call(app, "GET", "/v1/models", [("x-api-key", "plm_free")])
    assert not [name for name, _ in plain.headers if name.startswith("x-ratelimit")]


@pytest.mark.parametrize(
    ("method", "path", "errand"),
    [
        ("GET", "/v1/responses/resp_1", True),
        ("POST", "/v1/responses/resp_1/cancel", True),
        ("DELETE", "/v1/files/file-1", True),
        ("GET", "/v1/batches", True),
        ("POST", "/v1/messages/batches/b/cancel", True),
        ("POST", "/v1/responses", False),
        ("POST", "/v1/files", False),
        ("POST", "/v1/chat/completions", False),
        ("GET", "/v1/models", False),
        ("POST", "/api/cancel", False),
    ],
)
def test_looking_after_what_one_has_going_takes_no_place(method: str, path: str, errand: bool) -> None:
    """Or a key whose places its background work holds could neither look at it nor end it (B8)."""
    app, behind = guarded(fine, Key("a", "plm_a", max_concurrent=1))
    account_of(behind, "a").running = 1
    assert call(app, method, path, [("x-api-key", "plm_a")]).status == (200 if errand else 429)
    assert account_of(behind, "a").running == 1


def test_listening_takes_a_place() -> None:
    """A stream that is held is a bounded resource (contract)."""
    scope = {"type": "http", "method": "GET", "path": "/v1/responses/resp_1", "query_string": b"stream=true"}
    assert not is_errand(scope)
    assert is_errand({**scope, "query_string": b"include=x"})


def test_requests_under_way_count_for_a_limit_that_comes_later() -> None:
    """They are counted for keys without one, too (B14)."""

    async def main() -> None:
        end = asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await end.wait()
            await fine(scope, receive, send)

        app, behind = guarded(slow, KEY)
        held = asyncio.create_task(run(app, scope_of("POST", "/api/chat", MINE)))
        await asyncio.sleep(0)
        later = authenticate(slow, doors(keys=(KEY._replace(max_concurrent=1),), accounts=behind.accounts))
        refused = await run(request_log(later, behind), scope_of("POST", "/api/chat", MINE))
        assert refused.status == 429
        end.set()
        await held
        assert account_of(behind, "laptop").running == 0

    asyncio.run(main())


def test_keys_that_went_are_barred() -> None:
    """What waits in their name is not to run (B5); one that comes back may."""
    _, behind = guarded(fine, KEY, Key("other", "plm_o"))
    other = account_of(behind, "other")
    authenticate(fine, doors(keys=(KEY,), accounts=behind.accounts))
    assert (other.barred, account_of(behind, "laptop").barred) == (True, False)
    authenticate(fine, doors(keys=(KEY, Key("other", "plm_o")), accounts=behind.accounts))
    assert not other.barred
