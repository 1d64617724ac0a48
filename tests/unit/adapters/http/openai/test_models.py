"""The shared model listing."""

from dataclasses import replace

import pytest

from blazar.domain import teaching
from blazar.domain.kinds import Weights
from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import EMBEDDER, SMALL, Parts

CLAUDE = [("anthropic-version", "2023-06-01")]


def test_openai_shape() -> None:
    """Ids, created as integer, owned_by; an empty catalog is an empty list."""
    assert call(Parts().app, "GET", "/v1/models").json() == {"object": "list", "data": []}
    first, second = call(Parts(SMALL, EMBEDDER).app, "GET", "/v1/models").json()["data"]
    assert (first["id"], second["id"]) == ("org/minilm-q8", "smollm2")
    assert second["object"] == "model"
    assert second["created"] == 1_700_000_000
    assert second["meta"]["n_ctx_train"] == 8192
    assert "/models/" not in str(second)


def test_what_is_not_known_is_left_out() -> None:
    """A model that draws has no window and no width, in neither dialect; of one that talks an unknown window is null to Anthropic's."""
    drawing = replace(SMALL, weights=Weights.DIFFUSION, ctx_train=0, embedding_length=0, quant="")
    row = call(Parts(drawing).app, "GET", "/v1/models/smollm2").json()
    assert row["meta"] == {"arch": "llama", "n_params": 134_515_008, "size": 98_000_000}
    assert not {"max_input_tokens", "max_tokens"} & set(
        call(Parts(drawing).app, "GET", "/v1/models/smollm2", CLAUDE).json()
    )
    unknown = replace(SMALL, ctx_train=0)
    assert "n_ctx_train" not in call(Parts(unknown).app, "GET", "/v1/models/smollm2").json()["meta"]
    assert call(Parts(unknown).app, "GET", "/v1/models/smollm2", CLAUDE).json()["max_tokens"] is None


@pytest.mark.parametrize("path", ["/v1/models/org/minilm-q8", "/v1/models/org%2Fminilm-q8"])
def test_ids_may_hold_slashes(path: str) -> None:
    """Written plainly or escaped: the server decodes the path."""
    assert call(Parts(EMBEDDER).app, "GET", path.replace("%2F", "/")).json()["id"] == "org/minilm-q8"


def test_one_model_is_found_in_any_spelling() -> None:
    """The grammar of the contract: :latest and model:tag resolve onto rows."""
    app = Parts(SMALL, replace(SMALL, name="qwen-8b")).app
    assert call(app, "GET", "/v1/models/smollm2:latest").json()["id"] == "smollm2"
    assert call(app, "GET", "/v1/models/qwen:8b").json()["id"] == "qwen-8b"


def test_an_unknown_model_has_near_matches() -> None:
    """404 in either dialect with the one sentence (A23)."""
    sentence = teaching.model_not_found("smolm2", ("smollm2",))
    app = Parts(SMALL).app
    assert call(app, "GET", "/v1/models/smolm2").json()["error"]["message"] == sentence
    answer = call(app, "GET", "/v1/models/smolm2", CLAUDE)
    assert (answer.status, answer.json()["error"]) == (404, {"type": "not_found_error", "message": sentence})


def test_a_megabyte_is_no_name() -> None:
    """Looking for near matches of it would take minutes."""
    assert call(Parts(SMALL).app, "GET", "/v1/models/" + "a" * 100_000).status == 400


def test_anthropic_shape() -> None:
    """Chosen by the header; times are RFC 3339."""
    page = call(Parts(SMALL, EMBEDDER).app, "GET", "/v1/models", CLAUDE).json()
    assert (page["first_id"], page["last_id"], page["has_more"]) == ("org/minilm-q8", "smollm2", False)
    assert page["data"][1]["type"] == "model"
    assert page["data"][1]["display_name"] == "smollm2"
    assert page["data"][1]["created_at"].startswith("2023-11-14T22:13:20")
    empty = call(Parts().app, "GET", "/v1/models", CLAUDE).json()
    assert empty == {"data": [], "has_more": False, "first_id": None, "last_id": None}
    assert call(Parts(SMALL).app, "GET", "/v1/models/smollm2", CLAUDE).json()["id"] == "smollm2"


@pytest.mark.parametrize(
    ("query", "ids", "more"),
    [
        ("limit=2", ["m0", "m1"], True),
        ("limit=2&after_id=m1", ["m2", "m3"], True),
        ("limit=2&after_id=m3", ["m4"], False),
        ("limit=2&before_id=m3", ["m1", "m2"], True),
        ("before_id=m1", ["m0"], False),
        ("after_id=gone", ["m0", "m1", "m2", "m3", "m4"], False),
    ],
)
def test_anthropic_pages(query: str, ids: list[str], more: bool) -> None:
    """Its SDK walks pages by has_more and last_id."""
    app = Parts(*(replace(SMALL, name=f"m{number}") for number in range(5))).app
    page = call(app, "GET", f"/v1/models?{query}", CLAUDE).json()
    assert ([model["id"] for model in page["data"]], page["has_more"]) == (ids, more)


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1001", "9" * 40, ""])
def test_a_limit_is_a_number_of_a_page(limit: str) -> None:
    """400 that names the field."""
    assert call(Parts(SMALL).app, "GET", f"/v1/models?limit={limit}", CLAUDE).status == 400
