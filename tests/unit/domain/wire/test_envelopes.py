"""Error bodies (D10)."""

import pytest

from blazar.domain.kinds import Dialect
from blazar.domain.wire.envelopes import child_message, envelope


def test_openai_and_native() -> None:
    """The SDK reads `error.message`; `param` is there even when null (A11)."""
    body = {"error": {"message": "no", "type": "blazar_error", "param": None, "code": 404}}
    assert envelope(Dialect.OPENAI, 404, "no") == envelope(Dialect.NATIVE, 404, "no") == body
    assert envelope(Dialect.OPENAI, 400, "no", "model")["error"]["param"] == "model"


def test_ollama() -> None:
    """The message alone."""
    assert envelope(Dialect.OLLAMA, 500, "no", "x", "id") == {"error": "no"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (529, "overloaded_error"),
    ],
)
def test_anthropic(status: int, kind: str) -> None:
    """Its own names for statuses."""
    body = {"type": "error", "error": {"type": kind, "message": "no"}, "request_id": "plm-1"}
    assert envelope(Dialect.ANTHROPIC, status, "no", request_id="plm-1") == body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"code":400,"message":"too long","type":"x"}}', "too long"),
        (b'{"error":"text"}', "text"),
        (b'{"message":"text"}', "text"),
        (b'{"detail":"text"}', "text"),
        (b"plain", "plain"),
        (b'{"error":{"message":{"odd":1}}}', '{"error":{"message":{"odd":1}}}'),
        (b"x" * 5000, "x" * 2000),
        (b"\xff", "\ufffd"),
    ],
)
def test_the_sentence_inside_a_childs_error(body: bytes, message: str) -> None:
    """Whatever its shape."""
    assert child_message(body, "m") == message


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'""'])
def test_an_error_without_words_gets_some(body: bytes) -> None:
    """Never an empty message."""
    assert "the engine for 'm'" in child_message(body, "m")
