"""Routes about the server itself."""

import json
import re

from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import SMALL, Parts


def test_root_says_that_it_runs_also_to_browsers() -> None:
    """Text; no redirect to a console that is not there."""
    app = Parts().app
    for headers in ([], [("accept", "text/html")]):
        answer = call(app, "GET", "/", headers)
        assert (answer.status, answer.body) == (200, b"Blazar is running")
        assert (answer.header("content-type") or "").startswith("text/plain")


def test_head_is_answered_where_get_is() -> None:
    """The server drops the body; ollama's client asks HEAD / first."""
    app = Parts(SMALL).app
    for path in ("/", "/health", "/v1/models", "/api/tags", "/api/version", "/v1/models/smollm2"):
        assert call(app, "HEAD", path).status == 200


def test_health_is_ok_with_version_and_uptime() -> None:
    """Blazar's own version, whole seconds (D13)."""
    parts = Parts()
    parts.clock.time += 12.7
    want = {"status": "ok", "version": "9.9.9", "uptime_secs": 12}
    assert call(parts.app, "GET", "/health").json() == call(parts.app, "GET", "/healthz").json() == want


def test_the_version_is_one_that_ollama_clients_accept() -> None:
    """Numeric and a constant (B9, D13)."""
    version = call(Parts().app, "GET", "/api/version").json()
    assert version == {"version": "0.32.0"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", version["version"])


def test_metrics_are_prometheus_text() -> None:
    """What the meter says, with the format's content type."""
    answer = call(Parts().app, "GET", "/metrics")
    assert b"blazar_up 1" in answer.body
    assert answer.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"


def test_the_description_is_served() -> None:
    """JSON, with our version."""
    assert json.loads(call(Parts().app, "GET", "/openapi.json").body)["info"]["version"] == "9.9.9"
