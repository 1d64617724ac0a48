"""Keys over HTTP."""

from typing import Any

import pytest

from blazar.adapters.http.layers.doors import Key
from blazar.application.ports.ledger import DayUsage
from tests.unit.adapters.http.asgi_calls import Answer, call, doors
from tests.unit.adapters.http.gateway import Parts

OWNER, GUEST = Key("owner", "plm_owners-own-secret"), Key("guest", "plm_guests-own-secret", ("m",))


def gateway() -> Parts:
    return Parts(layers=doors(keys=(OWNER, GUEST)))


def ask(parts: Parts, method: str, path: str, body: Any = b"", key: Key = OWNER) -> Answer:
    return call(parts.app, method, path, [("authorization", f"Bearer {key.key}")], body)


def test_a_listing_has_no_secret() -> None:
    """And one key is shown as its row."""
    answer = ask(gateway(), "GET", "/api/keys")
    assert [row["name"] for row in answer.json()["keys"]] == ["owner", "guest"]
    assert b"secret" not in answer.body
    assert ask(gateway(), "GET", "/api/keys/guest").json() == answer.json()["keys"][1]
    assert answer.json()["keys"][1]["models"] == ["m"]
    assert ask(gateway(), "GET", "/api/keys/nobody").status == 404


def test_a_secret_is_told_once_and_kept_by_nobody() -> None:
    """No cache between may have it; the row shows its end from then on."""
    parts = gateway()
    answer = ask(parts, "POST", "/api/keys", {"name": "new", "rpm": 3})
    assert (answer.status, answer.header("cache-control")) == (201, "no-store")
    told = answer.json()
    assert told["key"].startswith("plm_")
    assert (told["name"], told["rpm"], told["tpm"], told["weight"]) == ("new", 3, None, 1.0)
    row = ask(parts, "GET", "/api/keys/new").json()
    assert row == told | {"key": f"plm_…{told['key'][-4:]}"}
    again = ask(parts, "POST", "/api/keys/new/rotate")
    assert (again.status, again.header("cache-control")) == (200, "no-store")
    assert again.json()["key"] not in (told["key"], row["key"])


def test_settings_change_and_null_takes_one_away() -> None:
    """What is not said stays."""
    parts = gateway()
    assert ask(parts, "PATCH", "/api/keys/guest", {"rpm": 5, "weight": 2}).json()["rpm"] == 5
    widened = ask(parts, "PATCH", "/api/keys/guest", {"models": []})
    assert (widened.status, widened.json()["error"]["param"]) == (400, "models")
    assert ask(parts, "GET", "/api/keys/guest").json()["models"]
    row = ask(parts, "PATCH", "/api/keys/guest", {"rpm": None, "models": None}).json()
    assert (row["rpm"], row["models"], row["weight"]) == (None, [], 2.0)
    assert ask(parts, "PATCH", "/api/keys/guest", {}).json() == row


def test_a_key_goes_and_the_last_stays() -> None:
    """409 with the reason."""
    parts = gateway()
    assert ask(parts, "DELETE", "/api/keys/owner").status == 409
    assert ask(parts, "DELETE", "/api/keys/guest").json() == {"deleted": "guest"}
    assert ask(parts, "DELETE", "/api/keys/guest").status == 404
    assert ask(parts, "DELETE", "/api/keys/owner").status == 409
    assert parts.keys.names() == ["owner"]


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/api/keys", {}, "name"),
        ("POST", "/api/keys", {"name": 1}, "name"),
        ("POST", "/api/keys", {"name": "a b"}, "name"),
        ("POST", "/api/keys", {"name": "x", "rpm": 0}, "rpm"),
        ("POST", "/api/keys", {"name": "x", "key": "plm_mine"}, "key"),
        ("POST", "/api/keys", {"name": "x", "models": "m"}, "models"),
        ("PATCH", "/api/keys/guest", {"name": "other"}, "name"),
        ("PATCH", "/api/keys/guest", {"rmp": 3}, "rmp"),
        ("PATCH", "/api/keys/guest", {"weight": 0}, "weight"),
        ("GET", "/api/keys/guest/usage?days=0", b"", "days"),
        ("GET", "/api/keys/guest/usage?days=401", b"", "days"),
        ("GET", "/api/keys/guest/usage?days=x", b"", "days"),
        ("GET", "/api/keys/guest/usage?days=99999999999999999999", b"", "days"),
    ],
)
def test_what_is_wrong_is_named(method: str, path: str, body: Any, field: str) -> None:
    """And nothing is written."""
    parts = gateway()
    answer = ask(parts, method, path, body)
    assert (answer.status, answer.json()["error"]["param"]) == (400, field)
    assert parts.keys.writes == 0


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"x"', b"\xff"])
def test_a_body_is_one_object(body: bytes) -> None:
    """As everywhere."""
    assert ask(gateway(), "POST", "/api/keys", body).status == 400
    assert ask(gateway(), "PATCH", "/api/keys/guest", body).status == 400


def test_usage_is_by_day() -> None:
    """The newest first, thirty days unless asked otherwise."""
    parts = gateway()
    parts.keys.days = [DayUsage("guest", "2026-01-02", 1, 20, 3)]
    assert ask(parts, "GET", "/api/keys/guest/usage").json() == {
        "name": "guest",
        "days": [{"day": "2026-01-02", "requests": 1, "prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23}],
    }
    ask(parts, "GET", "/api/keys/guest/usage?days=400")
    assert parts.keys.asked == [("guest", 30), ("guest", 400)]
    assert ask(parts, "GET", "/api/keys/nobody/usage").status == 404


def test_who_may_not_manage_hears_that_before_anything_else() -> None:
    """Not what is wrong with the wish, and not which keys there are."""
    for parts in (Parts(), gateway()):
        for method, path, body in (
            ("GET", "/api/keys", b""),
            ("GET", "/api/keys/nobody", b""),
            ("GET", "/api/keys/nobody/usage?days=x", b""),
            ("POST", "/api/keys", b"{"),
            ("PATCH", "/api/keys/nobody", b"{"),
            ("POST", "/api/keys/nobody/rotate", b""),
            ("DELETE", "/api/keys/nobody", b""),
        ):
            assert ask(parts, method, path, body, GUEST).status == 403, path
