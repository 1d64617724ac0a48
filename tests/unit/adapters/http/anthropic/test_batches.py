"""Anthropic's message batches over HTTP."""

import pytest

from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import SMALL, Parts

ROOT = "/v1/messages/batches"
REQUEST = {"custom_id": "a", "params": {"model": "smollm2", "max_tokens": 1, "messages": []}}


def test_a_batch_is_made_and_shown() -> None:
    """In the API's shape, without results so far."""
    parts = Parts(SMALL)
    answer = call(parts.app, "POST", ROOT, body={"requests": [REQUEST], "colour": "red"})
    made = answer.json()
    assert (made["type"], made["processing_status"], made["results_url"]) == ("message_batch", "in_progress", None)
    assert made["request_counts"]["processing"] == 1
    assert answer.header("x-blazar-warning") == "ignored; 'colour' has no effect here"
    assert call(parts.app, "GET", f"{ROOT}/{made['id']}").json() == made


@pytest.mark.parametrize(
    ("headers", "scheme"),
    [([], "http"), ([("x-forwarded-proto", "https")], "https"), ([("x-forwarded-proto", "x")], "http")],
)
def test_results_have_an_address_that_the_client_can_reach(headers: list[tuple[str, str]], scheme: str) -> None:
    """By the name that it used, also behind a proxy."""
    said = call(Parts(SMALL).app, "GET", f"{ROOT}/smollm2", [*headers, ("host", "localhost:8080")]).json()
    assert said["results_url"] == f"{scheme}://localhost:8080{ROOT}/smollm2/results"


def test_results_are_lines() -> None:
    """As they were written."""
    answer = call(Parts(SMALL).app, "GET", f"{ROOT}/smollm2/results")
    assert (answer.status, answer.body) == (200, b"{}\n")
    assert answer.header("content-type") == "application/x-jsonl"


def test_a_listing_is_a_page_in_both_directions() -> None:
    """Newest first, whichever way it is gone through."""
    parts = Parts(SMALL)
    ids = [call(parts.app, "POST", ROOT, body={"requests": [REQUEST]}).json()["id"] for _ in range(2)][::-1]
    ids.append("smollm2")

    def page(query: str) -> tuple[list[str], bool, str | None]:
        said = call(parts.app, "GET", f"{ROOT}?{query}").json()
        return [row["id"] for row in said["data"]], said["has_more"], said["last_id"]

    assert page("limit=2") == (ids[:2], True, ids[1])
    assert page(f"after_id={ids[0]}") == (ids[1:], False, ids[2])
    assert page("before_id=smollm2") == (ids[:2], False, ids[1])
    assert page("before_id=smollm2&limit=1") == (ids[1:2], True, ids[1])
    assert page("after_id=smollm2") == ([], False, None)


def test_deleting() -> None:
    """When it has ended."""
    parts = Parts(SMALL)
    assert call(parts.app, "DELETE", f"{ROOT}/smollm2").json() == {"id": "smollm2", "type": "message_batch_deleted"}
    busy = call(parts.app, "POST", ROOT, body={"requests": [REQUEST]}).json()["id"]
    answer = call(parts.app, "DELETE", f"{ROOT}/{busy}")
    assert (answer.status, answer.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/x", 404),
        ("GET", "/x/results", 404),
        ("POST", "/x/cancel", 404),
        ("DELETE", "/x", 404),
        ("GET", "?limit=0", 400),
        ("POST", "", 400),
    ],
)
def test_refusals_wear_anthropics_envelope(method: str, path: str, status: int) -> None:
    """Type, error, request id."""
    answer = call(Parts(SMALL).app, method, f"{ROOT}{path}", body=b"{}" if method == "POST" else b"")
    assert answer.status == status
    said = answer.json()
    assert said["type"] == "error"
    assert said["error"]["type"] == {400: "invalid_request_error", 404: "not_found_error"}[status]
    assert said["request_id"]
