"""The session header."""

import asyncio

import pytest

from blazar.adapters.http.layers.session_pin import SESSION, session_pin
from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import Spy, call, doors, run


def test_a_name_is_kept_in_the_scope() -> None:
    """Whoever routes to children finds it there; without a header nothing is there."""
    spy = Spy()
    app = session_pin(spy, doors())
    call(app, "POST", "/api/chat", [("X-Blazar-Session", "agent-1.main:2_x")])
    call(app, "POST", "/api/chat")
    assert [scope.get(SESSION) for scope in spy.scopes] == ["agent-1.main:2_x", None]


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "..", "x" * 129, "é", "a\tb"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    """400 in the dialect, naming the header."""
    answer = call(session_pin(Spy(), doors()), "POST", "/v1/chat/completions", [("x-blazar-session", name)])
    assert answer.status == 400
    assert answer.json()["error"] == {
        "message": teaching.session_name_wrong(),
        "type": "blazar_error",
        "param": "x-blazar-session",
        "code": 400,
    }


def test_lifespan_passes() -> None:
    """It has no headers."""
    spy = Spy()
    asyncio.run(run(session_pin(spy, doors()), {"type": "lifespan"}))
    assert len(spy.scopes) == 1
