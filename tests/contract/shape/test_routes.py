"""The route census: what is served, what is described and what is gated are the same rows."""

import pytest

from blazar.adapters.http.lane.rows import HOT_PATHS
from blazar.adapters.http.mount import rule_of
from blazar.adapters.http.routes import ROUTES, Gate
from tests.contract.shape.test_doors import CENSUS
from tests.unit.adapters.http.asgi_calls import KEY, call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts

SURFACE = {row for rows in CENSUS.values() for row in rows}
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
