"""Which Host values are this machine's (D8)."""

import asyncio

import pytest

from blazar.adapters.http.layers.host_check import host_check
from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import Spy, call, doors, fine, run, scope_of

OURS = [
    "localhost",
    "localhost:11435",
    "LocalHost:80",
    "localhost.",
    "app.localhost:11435",
    "127.0.0.1",
    "127.0.0.1:11435",
    "127.8.8.8",
    "[::1]:11435",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "192.168.7.5:11435",
    "[fd00::5]",
    "[FD00:0::5]:1",
    "box",
    "BOX:11435",
    "box.local",
    "gateway.lan",
]
FOREIGN = [
    "evil.example",
    "evil.example:11435",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evillocalhost",
    "2130706433",
    "0x7f000001",
    "0.0.0.0",
    "192.168.7.6",
    "[fd00::6]",
    "8.8.8.8",
    "user@localhost",
    "localhost:port",
    "localhost:1:2",
    "localhost/x",
    "",
    ":80",
    "[::1",
    "é",
]


@pytest.mark.parametrize("host", OURS)
def test_names_and_addresses_of_this_machine_are_served(host: str) -> None:
    """Local literals in any spelling, localhost names, the machine's own name, listed names."""
    app = host_check(fine, doors(allowed_hosts=("Gateway.lan",)))
    assert call(app, "GET", "/", [("host", host)]).status == 200
    assert call(app, "GET", "/", [("host", host)]).status == 200  # from the memory of accepted spellings


@pytest.mark.parametrize("host", FOREIGN)
def test_everything_else_is_refused_with_a_reason(host: str) -> None:
    """403 that names the way out: a rebound name is never served (J2)."""
    answer = call(host_check(fine, doors()), "GET", "/v1/models", [("host", host)])
    assert answer.status == 403
    assert answer.json()["error"]["message"] == teaching.host_refused(host)


def test_health_is_checked_too() -> None:
    """No path is exempt."""
    assert call(host_check(fine, doors()), "GET", "/health", [("host", "evil.example")]).status == 403


@pytest.mark.parametrize("count", [0, 2])
def test_there_is_exactly_one_host(count: int) -> None:
    """A missing or repeated Host is a 400, even when both are ours."""
    scope = scope_of(path="/api/tags")
    scope["headers"] = [(b"accept", b"*/*"), *[(b"host", b"localhost")] * count]
    answer = asyncio.run(run(host_check(fine, doors()), scope))
    assert (answer.status, answer.json()) == (400, {"error": teaching.host_missing()})


def test_other_headers_may_repeat() -> None:
    """Only Host is counted."""
    assert call(host_check(fine, doors()), "GET", "/", [("accept", "a"), ("accept", "b")]).status == 200


def test_interfaces_are_read_again_on_a_miss() -> None:
    """An address that arrives later is served without a restart, and the hot path never asks."""
    found: set[str] = set()
    asked: list[int] = []

    def names() -> set[str]:
        asked.append(1)
        return found

    app = host_check(fine, doors(machine_names=names))
    assert call(app, "GET", "/", [("host", "10.1.2.3")]).status == 403
    found.add("10.1.2.3")
    assert [call(app, "GET", "/", [("host", "10.1.2.3")]).status for _ in range(3)] == [200, 200, 200]
    assert len(asked) == 2


def test_websockets_are_checked_and_lifespan_is_not() -> None:
    """A foreign handshake is closed before it is accepted."""
    spy = Spy()
    app = host_check(spy, doors())
    answer = asyncio.run(run(app, scope_of(kind="websocket", headers=[("host", "evil.example")])))
    assert [message["type"] for message in answer.messages] == ["websocket.close"]
    asyncio.run(run(app, {"type": "lifespan"}))
    assert [scope["type"] for scope in spy.scopes] == ["lifespan"]
