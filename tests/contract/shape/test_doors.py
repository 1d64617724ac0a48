"""The census of doors: every route of the table and every odd spelling of one, asked with no key, a wrong one, a scoped and an unscoped one.

Default-deny: a route that is not in the list below fails, and so does one whose gate is another than the list says.
"""

import asyncio
import re
from typing import Any

import pytest

from blazar.adapters.http.layers.authenticate import KEY_MODELS, OPEN_PATHS
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.adapters.http.routes import ROUTES, Gate
from blazar.domain.keys import Key
from tests.unit.adapters.http.asgi_calls import Spy, call, doors, run, scope_of
from tests.unit.adapters.http.gateway import SMALL, Parts

OWNER, GUEST = Key("owner", "plm_owners-own-secret"), Key("guest", "plm_guests-own-secret", ("smollm2",))
CALLERS = {
    "nobody": {},
    "stranger": {"authorization": "Bearer plm_of-nobody"},
    "guest": {"authorization": f"Bearer {GUEST.key}"},
    "owner": {"x-api-key": OWNER.key},
}

# What a caller must hear: a refusal's status, or 0 for anything that is no refusal of this kind.
DOORS: dict[str, tuple[int, int, int, int]] = {
    "open": (0, 0, 0, 0),
    "key": (401, 401, 0, 0),
    "manage": (401, 401, 403, 0),
}
CENSUS = {
    "open": ["GET /health", "GET /healthz"],
    "key": [
        "GET /",
        "GET /metrics",
        "GET /openapi.json",
        "GET /api/version",
        "GET /v1/models",
        "GET /v1/models/{id}",
        "POST /v1/chat/completions",
        "GET /v1/chat/completions",
        "GET /v1/chat/completions/{id}",
        "POST /v1/chat/completions/{id}",
        "DELETE /v1/chat/completions/{id}",
        "GET /v1/chat/completions/{id}/messages",
        "POST /v1/responses",
        "POST /v1/responses/input_tokens",
        "GET /v1/responses/{id}",
        "DELETE /v1/responses/{id}",
        "GET /v1/responses/{id}/input_items",
        "POST /v1/responses/{id}/cancel",
        "POST /v1/completions",
        "POST /v1/embeddings",
        "POST /v1/rerank",
        "POST /v1/reranking",
        "POST /rerank",
        "POST /reranking",
        "POST /tokenize",
        "POST /detokenize",
        "POST /apply-template",
        "POST /v1/images/generations",
        "POST /v1/messages",
        "POST /v1/messages/count_tokens",
        "POST /v1/files",
        "GET /v1/files",
        "GET /v1/files/{id}",
        "DELETE /v1/files/{id}",
        "GET /v1/files/{id}/content",
        "POST /v1/batches",
        "GET /v1/batches",
        "GET /v1/batches/{id}",
        "POST /v1/batches/{id}/cancel",
        "POST /v1/messages/batches",
        "GET /v1/messages/batches",
        "GET /v1/messages/batches/{id}",
        "DELETE /v1/messages/batches/{id}",
        "GET /v1/messages/batches/{id}/results",
        "POST /v1/messages/batches/{id}/cancel",
        "POST /api/chat",
        "POST /api/generate",
        "POST /api/embed",
        "POST /api/embeddings",
        "GET /api/tags",
        "POST /api/show",
        "GET /api/ps",
        "GET /api/why",
    ],
    "manage": [
        "DELETE /api/delete",
        "POST /api/copy",
        "POST /api/pull",
        "POST /api/push",
        "POST /api/create",
        "HEAD /api/blobs/{digest}",
        "POST /api/blobs/{digest}",
        "POST /api/ps",
        "POST /api/load",
        "POST /api/evict",
        "GET /api/events",
        "GET /api/keys",
        "POST /api/keys",
        "GET /api/keys/{name}",
        "PATCH /api/keys/{name}",
        "DELETE /api/keys/{name}",
        "POST /api/keys/{name}/rotate",
        "GET /api/keys/{name}/usage",
        "GET /api/config",
        "GET /api/explain",
        "POST /api/fit",
        "GET /api/engines",
        "GET /api/doctor",
    ],
}
ROWS = [(row, gate) for gate, rows in CENSUS.items() for row in rows]


@pytest.fixture(scope="module")
def shut() -> Parts:
    """One for all who only hear refusals."""
    return gateway()


def gateway() -> Parts:
    """Behind doors with two keys."""
    return Parts(SMALL, layers=doors(keys=(OWNER, GUEST)))


def concrete(path: str) -> str:
    """A path of the table as somebody asks for it."""
    return re.sub(r"\{\w+\}", "smollm2", path)


def ask(parts: Parts, caller: str, method: str, path: str) -> int:
    """The status that one caller hears."""
    body = b"{}" if method not in ("GET", "HEAD") else b""
    return call(parts.app, method, path, [*CALLERS[caller].items()], body).status


def test_every_route_is_in_the_census() -> None:
    """Who adds one decides here who may use it."""
    assert {row for row, _ in ROWS} == {f"{route.method} {route.path}" for route in ROUTES}
    assert len({row for row, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("row", "gate"), ROWS)
def test_every_caller_hears_what_its_gate_says(row: str, gate: str) -> None:
    """Nobody and a stranger 401, a scoped key 403 where something is managed; the owner neither, and only then anything happens."""
    method, _, path = row.partition(" ")
    parts = gateway()
    for caller, wanted in zip(CALLERS, DOORS[gate], strict=True):
        status = ask(parts, caller, method, concrete(path))
        assert (status if status in (401, 403) else 0) == wanted, caller
        if caller in ("nobody", "stranger") or wanted:
            touched = (parts.lane, parts.supervising.spawns, parts.supervising.evictions, parts.removed, parts.wishes)
            assert not any(touched), caller
            assert parts.keys.writes == 0, caller


@pytest.mark.parametrize(("row", "gate"), ROWS)
def test_no_spelling_of_a_managing_path_is_a_way_around_its_gate(row: str, gate: str, shut: Parts) -> None:
    """Slashes, dots, capitals, other methods: whatever a scoped key tries, nothing that only an owner may do is done for it."""
    method, _, path = row.partition(" ")
    path, parts = concrete(path), shut
    for spelled in (f"/{path}", f"{path}/", f"{path}//", f"//{path}//", path.upper(), f"/./{path[1:]}", f"/x/..{path}"):
        for caller in ("nobody", "stranger"):
            status = ask(parts, caller, method, spelled)
            assert status == (0 if spelled in OPEN_PATHS else 401), (caller, spelled)
        if gate == "manage":
            assert ask(parts, "guest", method, spelled) >= 300, spelled
            assert not any((parts.supervising.spawns, parts.supervising.evictions, parts.removed, parts.wishes))


@pytest.mark.parametrize("row", [row for row, gate in ROWS if gate == "manage"])
def test_what_is_no_path_is_judged_by_nobody(row: str, shut: Parts) -> None:
    """The server makes a path of every target. Should another one get here, the framework would find a path of its own in it."""
    method, _, path = row.partition(" ")
    path = concrete(path)
    for spelled in (f"http://x{path}", f"a:{path}", path[1:], f"{path[1:]};x", f"x:{path[1:]}"):
        assert ask(shut, "guest", method, spelled) == 400, spelled
        assert not any((shut.supervising.spawns, shut.supervising.evictions, shut.removed, shut.wishes))


@pytest.mark.parametrize(("row", "gate"), [row for row in ROWS if row[1] == "manage"])
def test_what_the_framework_routed_decides_once_more(row: str, gate: str) -> None:
    """A layer that took the path for a harmless one has let nobody through."""
    method, _, path = row.partition(" ")
    parts = gateway()
    if any(route.lane or route.upload for route in ROUTES if f"{route.method} {route.path}" == row):
        return  # not the framework's
    scope = scope_of(method, concrete(path))
    record = scope[RECORD] = RequestRecord("plm-1", 0.0)
    record.key = "guest"
    scope[KEY_MODELS] = frozenset({"smollm2"})
    assert asyncio.run(run(parts.quart, scope, (b"{}",))).status == 403, gate


@pytest.mark.parametrize("path", sorted({concrete(row.partition(" ")[2]) for row, gate in ROWS if gate == "manage"}))
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_a_method_that_a_managing_path_lacks_does_nothing_for_a_scoped_key(method: str, path: str, shut: Parts) -> None:
    """It is refused or unknown; where a scoped key may use the path in another way, that is all it gets."""
    parts = shut
    served = [gate for row, gate in ROWS if concrete(row.partition(" ")[2]) == path and row.partition(" ")[0] == method]
    status = ask(parts, "guest", method, path)
    if served != ["key"] and not (method == "HEAD" and f"GET {path}" in CENSUS["key"]) and method != "OPTIONS":
        assert status >= 400
    assert not any(
        (parts.supervising.spawns, parts.supervising.evictions, parts.removed, parts.wishes, parts.keys.writes)
    )


@pytest.mark.parametrize("path", ["/nope", "/v1/nope", "/api/nope", "/ui/", "/admin", "/v1", "/api", "/health/x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
def test_what_is_no_route_is_denied_before_it_is_unknown(method: str, path: str, shut: Parts) -> None:
    """401 tells nobody what there is (D7)."""
    assert ask(shut, "nobody", method, path) == 401
    assert ask(shut, "owner", method, path) in (404, 405)


def test_a_websocket_needs_a_key_as_well() -> None:
    """Every path, also one that nothing serves: the handshake is refused before any app hears of it."""
    for caller, seen in (("nobody", 0), ("stranger", 0), ("owner", 1)):
        spy = Spy()
        from blazar.adapters.http.layers.order import wrap

        app = wrap(spy, doors(keys=(OWNER, GUEST)))
        asyncio.run(run(app, scope_of(path="/v1/realtime", headers=[*CALLERS[caller].items()], kind="websocket")))
        assert len(spy.scopes) == seen, caller


@pytest.mark.parametrize(("row", "gate"), ROWS)
def test_a_gateway_without_keys_is_open_but_for_keys(row: str, gate: str) -> None:
    """Local trust; who may make the first key is who may write the file (contract)."""
    method, _, path = row.partition(" ")
    answer = call(Parts(SMALL).app, method, concrete(path), body=b"{}" if method not in ("GET", "HEAD") else b"")
    closed = path.startswith("/api/keys")
    assert (answer.status in (401, 403)) is closed, gate
    if closed:
        said: Any = answer.json()
        assert said["error"]["message"] == (
            "no keys configured: add the first [[keys]] entry in config.toml (or BLAZAR_KEYS env) and restart, or run "
            "blazar keys add NAME on the gateway's machine, which needs no restart"
        )


def test_the_gates_of_the_table_are_the_ones_of_the_census() -> None:
    """The table is what the daemon goes by."""
    gates = {f"{route.method} {route.path}": route.gate for route in ROUTES}
    assert all(gates[row] is Gate(gate) for row, gate in ROWS)
