"""GET /api/why."""

from typing import Any
from urllib.parse import quote

import pytest

from blazar.adapters.http.app import create_app
from blazar.adapters.http.layers.authenticate import KEY_MODELS
from blazar.adapters.http.manage.why import why_blueprint
from blazar.adapters.http.record import RECORD, RequestRecord
from tests.unit.adapters.http.asgi_calls import call


def asked(path: str, scoped: bool = False) -> tuple[int, Any, list[tuple]]:
    heard: list[tuple] = []

    def tell(*words: Any, **only: str) -> dict[str, Any]:
        heard.append((*words, *only.items()))
        return {"requests": []}

    app = create_app([why_blueprint(tell)])

    async def keyed(scope: Any, receive: Any, send: Any) -> None:
        record = scope[RECORD] = RequestRecord("plm-1-1", 0.0)
        record.key = "mine"
        if scoped:
            scope[KEY_MODELS] = frozenset({"tiny"})
        await app(scope, receive, send)

    answer = call(keyed, "GET", path)
    return answer.status, answer.json(), heard


def test_the_question_is_handed_on():
    """As it was asked, for all requests; without a word the newest of all models."""
    assert asked("/api/why?trace=plm-1-2&model=tiny&limit=5")[2] == [("plm-1-2", "tiny", 5, None)]
    assert asked("/api/why")[2] == [("", "", 20, None)]
    assert asked("/api/why?key=ann&status=5xx")[2] == [("", "", 20, None, ("named", "ann"), ("status", "5xx"))]


@pytest.mark.parametrize("status", ["6xx", "20", "2000", "good", "²00"])
def test_an_end_that_is_none_is_refused(status: str):
    """Else a typing error finds nothing."""
    code, body, heard = asked(f"/api/why?status={quote(status)}")
    assert (code, body["error"]["param"], heard) == (400, "status", [])


def test_a_scoped_key_asks_for_its_own():
    """Whatever it says."""
    assert asked("/api/why?key=other", scoped=True)[2] == [("", "", 20, "mine", ("named", "other"))]


@pytest.mark.parametrize("limit", ["0", "-1", "201", "9999999999", "x", "1.5", "²"])
def test_a_limit_has_bounds(limit: str):
    """Else a sentence with the field."""
    status, body, heard = asked(f"/api/why?limit={quote(limit)}")
    assert (status, body["error"]["param"], heard) == (400, "limit", [])
