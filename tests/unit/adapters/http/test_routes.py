"""Looking things up in the route table."""

import pytest

from blazar.adapters.http.routes import Gate, gate_of, methods_at


@pytest.mark.parametrize(
    ("method", "path", "gate"),
    [
        ("GET", "/health", Gate.OPEN),
        ("HEAD", "/health", Gate.OPEN),
        ("POST", "/health", Gate.KEY),
        ("GET", "/v1/models/a/b:c", Gate.KEY),
        ("DELETE", "/api/delete", Gate.MANAGE),
        ("GET", "/api/ps", Gate.KEY),
        ("POST", "/api/ps", Gate.MANAGE),
        ("GET", "/nowhere", Gate.KEY),
        ("POST", "//api/evict/", Gate.MANAGE),
    ],
)
def test_the_gate_of_a_request(method: str, path: str, gate: Gate) -> None:
    """Unknown is never open."""
    assert gate_of(method, path) is gate


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/ps", ["GET", "HEAD", "POST"]),
        ("/v1/chat/completions", ["POST"]),
        ("/v1/models/x", ["GET", "HEAD"]),
        ("/v1/models/", ["GET", "HEAD"]),
        ("/nowhere", []),
    ],
)
def test_the_methods_of_a_path(path: str, methods: list[str]) -> None:
    """What a 405 lists; the hot paths too."""
    assert methods_at(path) == methods
