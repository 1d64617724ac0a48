"""The routes of kept responses."""

import pytest

from blazar.application.ports.saved import Change, Keeping
from tests.support.kept_rig import RESPONSES
from tests.unit.adapters.http.asgi_calls import KEY, call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts

ONE = f"{RESPONSES}/smollm2"


def test_one_is_fetched_and_deleted() -> None:
    """Then it is a 404 that says why."""
    parts = Parts(SMALL)
    assert call(parts.app, "GET", ONE).json()["status"] == "completed"
    assert call(parts.app, "DELETE", ONE).json() == {"id": "smollm2", "object": "response", "deleted": True}
    gone = call(parts.app, "GET", ONE)
    assert gone.status == 404
    assert "no response 'smollm2'" in gone.json()["error"]["message"]


def test_input_is_listed_newest_first() -> None:
    """In pages, in either order."""
    parts = Parts(SMALL)
    first = call(parts.app, "GET", f"{ONE}/input_items?limit=2").json()
    assert ([row["id"] for row in first["data"]], first["has_more"]) == (["msg_2", "msg_1"], True)
    rest = call(parts.app, "GET", f"{ONE}/input_items?limit=2&after=msg_1").json()
    assert ([row["id"] for row in rest["data"]], rest["has_more"]) == (["msg_0"], False)
    assert call(parts.app, "GET", f"{ONE}/input_items?order=asc").json()["first_id"] == "msg_0"


def test_cancelling_what_has_ended_changes_nothing() -> None:
    """It is told as it is."""
    assert call(Parts(SMALL).app, "POST", f"{ONE}/cancel").json()["status"] == "completed"


def test_only_what_runs_in_the_background_can_be_cancelled() -> None:
    """The other has a caller who can leave."""
    parts = Parts(SMALL)
    (row,) = parts.kept.with_status(Keeping.RESPONSE, ("completed",))
    parts.kept.change(row.kind, row.id, Change(body=row.body.replace(b'"background":true', b'"background":false')))
    got = call(parts.app, "POST", f"{ONE}/cancel")
    assert got.status == 400
    assert "does not run in the background" in got.json()["error"]["message"]


@pytest.mark.parametrize(
    "query", ["stream=true", "stream=true&starting_after=3", "stream=yes", "stream=true&starting_after=x"]
)
def test_events_that_are_not_there_are_a_400(query: str) -> None:
    """The response itself still is; nor is a question that means nothing."""
    assert call(Parts(SMALL).app, "GET", f"{ONE}?{query}").status == 400


def test_another_keys_are_not_there() -> None:
    """On none of the routes (A29)."""
    parts = Parts(SMALL, layers=doors(keys=(KEY,)))
    key = [("authorization", f"Bearer {KEY.key}")]
    for method, path in (
        ("GET", ONE),
        ("GET", f"{ONE}?stream=true"),
        ("DELETE", ONE),
        ("GET", f"{ONE}/input_items"),
        ("POST", f"{ONE}/cancel"),
    ):
        assert call(parts.app, method, path, headers=key).status == 404
