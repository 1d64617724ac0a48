"""The routes of kept chat completions."""

import json
from typing import Any

import pytest

from tests.unit.adapters.http.asgi_calls import KEY, call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts

BASE = "/v1/chat/completions"
ONE = f"{BASE}/smollm2"


def body(**value: Any) -> bytes:
    return json.dumps(value).encode()


def test_they_are_listed_by_what_is_attached() -> None:
    """And by model, in pages."""
    parts = Parts(SMALL)
    found = call(parts.app, "GET", f"{BASE}?metadata[a]=b&limit=1").json()
    assert (found["object"], found["first_id"], found["has_more"]) == ("list", "smollm2", False)
    for query in ("metadata[a]=c", "model=other", "after=smollm2", "metadata[zz]=b"):
        assert call(parts.app, "GET", f"{BASE}?{query}").json()["data"] == []
    assert call(parts.app, "GET", f"{BASE}?limit=0").status == 400


def test_one_is_fetched_changed_and_deleted() -> None:
    """Then it is a 404 that says why."""
    parts = Parts(SMALL)
    assert call(parts.app, "GET", ONE).json()["metadata"] == {"a": "b"}
    assert call(parts.app, "POST", ONE, body=body(metadata={"c": "d"})).json()["metadata"] == {"c": "d"}
    assert call(parts.app, "DELETE", ONE).json() == {
        "id": "smollm2",
        "object": "chat.completion.deleted",
        "deleted": True,
    }
    gone = call(parts.app, "GET", ONE)
    assert gone.status == 404
    assert "no chat completion 'smollm2'" in gone.json()["error"]["message"]


@pytest.mark.parametrize("given", [{}, {"metadata": "x"}, {"metadata": {"a": 1}}])
def test_only_metadata_is_exchanged(given: dict[str, Any]) -> None:
    """Anything else is a 400 that names it."""
    assert call(Parts(SMALL).app, "POST", ONE, body=body(**given)).json()["error"]["param"] == "metadata"


def test_its_messages_are_listed() -> None:
    """With ids."""
    found = call(Parts(SMALL).app, "GET", f"{ONE}/messages").json()
    assert [(row["id"], row["content"]) for row in found["data"]] == [("smollm2-0", "hi")]


def test_another_keys_are_not_there() -> None:
    """Not listed, not found (A29)."""
    parts = Parts(SMALL, layers=doors(keys=(KEY,)))
    key = [("authorization", f"Bearer {KEY.key}")]
    assert call(parts.app, "GET", BASE, headers=key).json()["data"] == []
    for method, path in (("GET", ONE), ("DELETE", ONE), ("GET", f"{ONE}/messages")):
        assert call(parts.app, method, path, headers=key).status == 404
