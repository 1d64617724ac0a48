"""OpenAI's batches over HTTP."""

import json

import pytest

from tests.support.batching import CHAT, line
from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import SMALL, Parts

ORDER = {"input_file_id": "smollm2", "endpoint": CHAT, "completion_window": "24h"}


def test_a_batch_is_made_and_shown() -> None:
    """Its first state is that its lines are looked at."""
    parts = Parts(SMALL)
    parts.batches.kept.files["smollm2"] = json.dumps(line("a")).encode()
    answer = call(parts.app, "POST", "/v1/batches", body={**ORDER, "metadata": {"a": "b"}, "colour": "red"})
    made = answer.json()
    assert (answer.status, made["object"], made["status"]) == (200, "batch", "validating")
    assert (made["metadata"], made["input_file_id"], made["endpoint"]) == ({"a": "b"}, "smollm2", CHAT)
    assert answer.header("x-blazar-warning") == "ignored; 'colour' has no effect here"
    assert call(parts.app, "GET", f"/v1/batches/{made['id']}").json() == made


def test_a_listing_is_a_page() -> None:
    """Newest first, and whether there is more."""
    parts = Parts(SMALL)
    newest = call(parts.app, "POST", "/v1/batches", body=ORDER).json()["id"]
    said = call(parts.app, "GET", "/v1/batches?limit=1").json()
    assert ([row["id"] for row in said["data"]], said["has_more"]) == ([newest], True)
    assert (said["first_id"], said["last_id"]) == (newest, newest)
    rest = call(parts.app, "GET", f"/v1/batches?after={newest}").json()
    assert ([row["id"] for row in rest["data"]], rest["has_more"]) == (["smollm2"], False)
    assert call(parts.app, "GET", "/v1/batches?limit=101").status == 400


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "input_file_id"),
        ({**ORDER, "endpoint": "/v1/audio"}, 400, "endpoint"),
        ({**ORDER, "input_file_id": "file-none"}, 404, None),
        (b"[]", 400, None),
        (b"{", 400, None),
    ],
)
def test_an_order_that_makes_no_sense(body: object, status: int, field: str | None) -> None:
    """In OpenAI's envelope."""
    answer = call(Parts(SMALL).app, "POST", "/v1/batches", body=body)
    assert answer.status == status
    assert answer.json()["error"]["param"] == field


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/batches/x"), ("POST", "/v1/batches/x/cancel")])
def test_a_batch_that_is_not_there(method: str, path: str) -> None:
    """A 404 with a sentence."""
    answer = call(Parts(SMALL).app, method, path)
    assert (answer.status, answer.json()["error"]["code"]) == (404, 404)
