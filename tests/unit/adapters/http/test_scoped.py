"""A scoped key sees the models that it may use, in every list, and hears of the others what using them would tell it."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.keys import Key
from tests.unit.adapters.http.asgi_calls import Answer, call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts

OWNER = Key("owner", "plm_owners-own-secret")
GUEST = Key("guest", "plm_guests-own-secret", ("SmolLM2:latest", "gone"))
OTHER = Key("other", "plm_others-own-secret", ("else",))


def ask(key: Key, method: str, path: str, body: Any = b"", **headers: str) -> Answer:
    """Of a gateway with one model."""
    parts = Parts(SMALL, layers=doors(keys=(OWNER, GUEST, OTHER)))
    return call(parts.app, method, path, [("x-api-key", key.key), *headers.items()], body)


@pytest.mark.parametrize(("key", "shown"), [(OWNER, ["smollm2"]), (GUEST, ["smollm2"]), (OTHER, [])])
def test_lists_show_what_a_key_may_use(key: Key, shown: list[str]) -> None:
    """In three dialects, however the key's owner spells the name; one that is not there is not shown either."""
    assert [row["id"] for row in ask(key, "GET", "/v1/models").json()["data"]] == shown
    page = ask(key, "GET", "/v1/models", **{"anthropic-version": "2023-06-01"}).json()
    assert [row["id"] for row in page["data"]] == shown
    assert page["first_id"] == (shown[0] if shown else None)
    for query in ("", "?fit=1"):
        assert {row["name"] for row in ask(key, "GET", f"/api/tags{query}").json()["models"]} <= {
            *shown,
            "smollm2:latest",
        }
    assert [row["name"].removesuffix(":latest") for row in ask(key, "GET", "/api/tags").json()["models"]] == shown
    assert all(row["model"].removesuffix(":latest") in shown for row in ask(key, "GET", "/api/ps").json()["models"])


def test_counters_are_those_of_a_keys_models() -> None:
    """However it spells them; one that is gone may have been counted."""
    assert ask(OWNER, "GET", "/metrics").body.endswith(b"blazar_up 1\n")
    assert ask(GUEST, "GET", "/metrics").body.endswith(b"# of ['gone', 'smollm2']\n")
    assert ask(OTHER, "GET", "/metrics").body.endswith(b"# of ['else']\n")


@pytest.mark.parametrize("asked", ["smollm2", "smollm2:latest", "SMOLLM2"])
def test_looking_at_another_model_is_refused_as_its_use_is(asked: str) -> None:
    """And the refusal names the models that the key may use."""
    sentence = teaching.key_not_for_model("other", asked, ["else"])
    one = ask(OTHER, "GET", f"/v1/models/{asked}")
    assert (one.status, one.json()["error"]["message"]) == (403, sentence)
    show = ask(OTHER, "POST", "/api/show", {"model": asked})
    assert (show.status, show.json()["error"]) == (403, sentence)
    assert "else" in sentence
    assert ask(GUEST, "GET", f"/v1/models/{asked}").status == 200
    assert (
        ask(OWNER, "POST", "/api/show", {"model": asked}).status
        == ask(GUEST, "POST", "/api/show", {"model": asked}).status
    )


def test_what_is_not_there_is_not_found_and_nothing_else_is_named() -> None:
    """A near name of a model that the key may not use would tell of it."""
    told = ask(OTHER, "GET", "/v1/models/smollm3")
    assert told.status == 404
    assert "smollm2" not in told.json()["error"]["message"]
    assert "smollm2" in ask(GUEST, "GET", "/v1/models/smollm3").json()["error"]["message"]


def test_a_name_without_a_model_gives_no_other_s_away() -> None:
    """What is near, and what a reference leaves open, is said only to whoever may see it."""
    for path, body in (("/api/show", {"model": "smollm"}), ("/v1/models/smollm", b"")):
        method = "POST" if body else "GET"
        answers = [ask(key, method, path, body) for key in (OWNER, GUEST, OTHER)]
        assert [answer.status for answer in answers] == [404, 404, 404]
        assert [b"did you mean smollm2" in answer.body for answer in answers] == [True, True, False]
