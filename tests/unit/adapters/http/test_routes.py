"""Looking things up in the route table."""

import pytest

from blazar.adapters.http.routes import ROUTES, Gate, gate_of, is_abroad, is_no_id, methods_at


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
        ("/v1/chat/completions", ["GET", "HEAD", "POST"]),
        ("/v1/responses", ["POST"]),
        ("/v1/models/x", ["GET", "HEAD"]),
        ("/v1/models/", ["GET", "HEAD"]),
        ("/v1/models/a/b", ["GET", "HEAD"]),
        ("/v1/chat/completions/x", ["DELETE", "GET", "HEAD", "POST"]),
        ("/v1/chat/completions/x/messages", ["GET", "HEAD"]),
        ("/v1/batches/x/cancel", ["POST"]),
        ("/v1/files/x/nope", []),
        ("/nowhere", []),
    ],
)
def test_the_methods_of_a_path(path: str, methods: list[str]) -> None:
    """What a 405 lists; the hot paths too."""
    assert methods_at(path) == methods


def test_what_only_ollamas_cloud_answers_is_known_by_name() -> None:
    """However its slashes are written; nothing of ours is among it."""
    for path in ("/api/me", "/api/me/", "/api/signout", "/api/web_search", "/api/experimental/x", "/api/user/keys/1"):
        assert is_abroad(path)
    for path in ("/v1/responses/compact", "v1/responses/x/"):
        assert is_no_id(path)
    for path in ("/v1/responses/resp_1", "/v1/responses/input_tokens", "/v1/responses", "/v1/responses/a/b"):
        assert not is_no_id(path)
    assert not any(is_abroad(route.path) for route in ROUTES)
    assert not is_abroad("/api/mean")
