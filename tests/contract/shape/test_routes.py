"""The route census: what is served, what is described and what is gated are the same rows."""

import pytest

from blazar.adapters.http.lane.rows import HOT_PATHS
from blazar.adapters.http.mount import rule_of
from blazar.adapters.http.routes import ROUTES, Gate
from tests.unit.adapters.http.asgi_calls import KEY, call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts

# surface.md as far as issue "The main job on a real engine" goes. A route added to the table is added here on purpose.
SURFACE = {
    "GET /",
    "GET /health",
    "GET /healthz",
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
    "POST /api/chat",
    "POST /api/generate",
    "POST /api/embed",
    "POST /api/embeddings",
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
    "GET /api/tags",
    "POST /api/show",
    "DELETE /api/delete",
    "POST /api/copy",
    "POST /api/pull",
    "POST /api/push",
    "POST /api/create",
    "HEAD /api/blobs/{digest}",
    "POST /api/blobs/{digest}",
    "GET /api/ps",
    "POST /api/ps",
    "POST /api/load",
    "POST /api/evict",
    "GET /api/events",
    "GET /api/why",
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
}
ROWS = [(route.method, route.path) for route in ROUTES]


def test_the_table_is_the_surface() -> None:
    """No row twice, none missing, none that nobody asked for."""
    assert len(set(ROWS)) == len(ROWS)
    assert {f"{method} {path}" for method, path in ROWS} == SURFACE


def test_every_quart_rule_is_a_row_and_every_cold_row_a_rule() -> None:
    """Nothing is mounted beside the table; hot rows are the lane's."""
    rules = {
        (method, str(rule.rule))
        for rule in Parts().quart.url_map.iter_rules()
        for method in (rule.methods or set()) - {"OPTIONS", *(["HEAD"] if "GET" in (rule.methods or ()) else [])}
    }
    assert rules == {(route.method, rule_of(route.path)) for route in ROUTES if not route.lane and not route.upload}


def test_hot_rows_are_what_the_lane_takes() -> None:
    """All are POSTs: only they may load a model (G22), with the explicit load beside them."""
    assert {route.method for route in ROUTES if route.lane} == {"POST"}
    assert {route.path for route in ROUTES if route.lane} == HOT_PATHS


@pytest.mark.parametrize(("method", "path"), ROWS)
def test_default_deny(method: str, path: str) -> None:
    """With a key configured and none given, every row but the open ones is a 401."""
    parts = Parts(SMALL, layers=doors(keys=(KEY,)))
    route = next(route for route in ROUTES if (route.method, route.path) == (method, path))
    answer = call(parts.app, method, path.replace("{id}", "smollm2"), body=b"{}" if method != "GET" else b"")
    assert (answer.status == 401) is (route.gate is not Gate.OPEN)
    assert parts.lane == []


def test_only_health_rows_are_open() -> None:
    """The gate column agrees with the layer."""
    assert {route.path for route in ROUTES if route.gate is Gate.OPEN} == {"/health", "/healthz"}


@pytest.mark.parametrize("path", [path for method, path in ROWS if method == "GET"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_get_loads_a_model(method: str, path: str) -> None:
    """A browser tab that polls never spawns anything (G22), nor does a GET on a hot path."""
    parts = Parts(SMALL)
    query = "?model=smollm2" if path == "/api/explain" else ""
    # A gateway without keys is open, but for keys (contract).
    status = 403 if path.startswith("/api/keys") else 200
    assert call(parts.app, method, path.replace("{id}", "smollm2") + query).status == status
    for hot in (route.path for route in ROUTES if route.lane):
        # What was kept is listed where it is made.
        assert call(parts.app, method, hot).status == (200 if ("GET", hot) in ROWS else 405)
    assert parts.supervising.spawns == []
    assert parts.lane == []
