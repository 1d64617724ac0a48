"""The models on disk, as ollama's clients see them."""

import math
from dataclasses import replace

import pytest

from blazar.application.models.show_model import Beside
from blazar.domain import teaching
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Origin
from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import EMBEDDER, SMALL, Parts

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools }}{% endif %}<think>"


def test_no_models_is_an_empty_list() -> None:
    """Not null (B17)."""
    assert call(Parts().app, "GET", "/api/tags").json() == {"models": []}


def test_tags_have_every_field() -> None:
    """Name, model, modified_at, size, digest, details (B17)."""
    first, second = call(Parts(SMALL, EMBEDDER).app, "GET", "/api/tags").json()["models"]
    assert (first["name"], second["name"]) == ("org/minilm-q8", "smollm2")
    assert second["model"] == "smollm2"
    assert second["size"] == 98_000_000
    assert second["digest"] == SMALL.digest
    assert second["modified_at"].startswith("2023-11-14T22:13:20")
    assert second["details"]["format"] == "gguf"
    assert second["details"]["family"] == "llama"
    assert second["details"]["parameter_size"] == "134.5M"


@pytest.mark.parametrize(
    ("query", "judged"), [("?fit=true", True), ("?fit=false", False), ("?fit=", False), ("", False)]
)
def test_tags_are_judged_for_whoever_asks(query: str, judged: bool) -> None:
    """Whether each fits, about, and what would serve it: it costs more than a list, which clients ask for again and again."""
    (row,) = call(Parts(SMALL).app, "GET", f"/api/tags{query}").json()["models"]
    assert (row.get("fit"), row.get("lane")) == (("fits", "llamacpp") if judged else (None, None))


def test_show_tells_the_licence_of_where_it_was_pulled_from() -> None:
    """Before that of the file, after what a person said when it was created."""
    origin = Origin("hf:o/r:Q4_0", "ab" * 32, "gemma")
    parts = Parts(replace(SMALL, origin=origin), metadata={"general.license": "apache-2.0"})
    assert call(parts.app, "POST", "/api/show", body={"model": "smollm2"}).json()["license"] == "gemma"
    parts.overlay = Overlay(license=("MIT",))
    assert call(parts.app, "POST", "/api/show", body={"model": "smollm2"}).json()["license"] == "MIT"


def test_show_tells_what_the_file_says() -> None:
    """Template, metadata, capabilities; long lists are null unless asked for."""
    metadata = {
        "general.architecture": "llama",
        "general.license": "apache-2.0",
        "llama.rope.freq_base": math.inf,
        "tokenizer.chat_template": TEMPLATE,
        "tokenizer.ggml.merges": ["a b"] * 100,
        "tokenizer.ggml.fim_mid_token_id": 3,
    }
    app = Parts(SMALL, metadata=metadata).app
    shown = call(app, "POST", "/api/show", body={"model": "smollm2:latest"}).json()
    assert shown["template"] == TEMPLATE
    assert shown["modelfile"].startswith("FROM /models/smollm2.gguf")
    assert shown["parameters"] == ""
    assert shown["license"] == "apache-2.0"
    assert shown["capabilities"] == ["completion", "tools", "insert", "thinking"]
    assert shown["model_info"]["general.architecture"] == "llama"
    assert shown["model_info"]["tokenizer.ggml.merges"] is None
    assert shown["model_info"]["llama.rope.freq_base"] is None  # JSON has no infinity
    assert "tokenizer.chat_template" not in shown["model_info"]
    verbose = call(app, "POST", "/api/show", body={"name": "smollm2", "verbose": True}).json()
    assert len(verbose["model_info"]["tokenizer.ggml.merges"]) == 100


def test_show_tells_of_the_projector() -> None:
    """As ollama does: a second FROM, and its metadata; a model without has neither."""
    parts = Parts(SMALL)
    plain = call(parts.app, "POST", "/api/show", body={"model": "smollm2"}).json()
    assert "projector_info" not in plain
    assert plain["modelfile"] == "FROM /models/smollm2.gguf\n"
    told = {"general.architecture": "clip", "general.parameter_count": 7, "clip.vision.x": [1] * 100}
    parts.projector = Beside("/models/mmproj.gguf", told)
    shown = call(parts.app, "POST", "/api/show", body={"model": "smollm2"}).json()
    assert shown["projector_info"] == {**told, "clip.vision.x": None}
    assert shown["modelfile"] == "FROM /models/smollm2.gguf\nFROM /models/mmproj.gguf\n"
    verbose = call(parts.app, "POST", "/api/show", body={"model": "smollm2", "verbose": True}).json()
    assert verbose["projector_info"] == told


def test_show_tells_what_was_said_on_top() -> None:
    """System prompt, parameters in ollama's columns, messages, licence, template, and a Modelfile that says it all again."""
    parts = Parts(SMALL, metadata={"tokenizer.chat_template": TEMPLATE})
    parts.overlay = Overlay(
        base="llama",
        template="{{ messages }}",
        system="Be brief.",
        parameters={"temperature": 0.5, "stop": ["</s>", "a\nb"]},
        messages=(("user", "hi"),),
        license=("MIT",),
    )
    shown = call(parts.app, "POST", "/api/show", body={"model": "smollm2"}).json()
    assert shown["parameters"] == (f'{"stop":<30} "</s>"\n{"stop":<30} "a\\nb"\n{"temperature":<30} 0.5')
    assert (shown["system"], shown["template"], shown["license"]) == ("Be brief.", "{{ messages }}", "MIT")
    assert shown["messages"] == [{"role": "user", "content": "hi"}]
    assert shown["details"]["parent_model"] == "llama"
    assert shown["capabilities"] == ["completion"]  # by the template that is used
    assert shown["modelfile"].splitlines() == [
        "FROM /models/smollm2.gguf",
        "TEMPLATE {{ messages }}",
        "SYSTEM Be brief.",
        "PARAMETER stop </s>",
        'PARAMETER stop """a',
        'b"""',
        "PARAMETER temperature 0.5",
        "LICENSE MIT",
        "MESSAGE user hi",
    ]


def test_an_embedder_shows_as_one() -> None:
    """And as nothing else."""
    shown = call(Parts(EMBEDDER).app, "POST", "/api/show", body={"model": EMBEDDER.name}).json()
    assert shown["capabilities"] == ["embedding"]


def test_delete_is_200_and_empty() -> None:
    """As ollama answers; `name` is the older spelling, force is ours."""
    parts = Parts(SMALL, EMBEDDER)
    answer = call(parts.app, "DELETE", "/api/delete", body={"model": "smollm2"})
    assert (answer.status, answer.body) == (200, b"")
    assert ("x-blazar-model", "smollm2") in answer.headers
    call(parts.app, "DELETE", "/api/delete", body={"name": EMBEDDER.name, "force": True})
    assert parts.removed == [("smollm2", False), (EMBEDDER.name, True)]


def test_copy_is_200_and_empty() -> None:
    """A second name; a bad one is refused."""
    parts = Parts(SMALL)
    answer = call(parts.app, "POST", "/api/copy", body={"source": "smollm2", "destination": "twin"})
    assert (answer.status, answer.body) == (200, b"")
    assert "twin" in parts.models
    assert (
        call(parts.app, "POST", "/api/copy", body={"source": "smollm2:latest", "destination": "third:latest"}).status
        == 200
    )
    assert {"third"} == {name for name in parts.models if "third" in name}  # `third` is what its client asks for next
    bad = call(parts.app, "POST", "/api/copy", body={"source": "smollm2", "destination": "a#1"})
    assert (bad.status, bad.json()) == (400, {"error": teaching.bad_name("a#1")})


def test_a_copy_takes_the_place_of_what_has_its_name() -> None:
    """As ollama's clients expect; `cp` says that it must not."""
    parts = Parts(SMALL, EMBEDDER)
    body = {"source": "smollm2", "destination": EMBEDDER.name}
    refused = call(parts.app, "POST", "/api/copy", body={**body, "overwrite": False})
    assert (refused.status, refused.json()) == (409, {"error": teaching.copy_target_taken(EMBEDDER.name)})
    assert call(parts.app, "POST", "/api/copy", body=body).status == 200
    assert parts.models[EMBEDDER.name].digest == SMALL.digest


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/show", {"model": "smollm"}),
        ("DELETE", "/api/delete", {"model": "smollm"}),
        ("POST", "/api/copy", {"source": "smollm", "destination": "x"}),
    ],
)
def test_an_unknown_model_is_a_404_with_near_matches(method: str, path: str, body: dict[str, str]) -> None:
    """A23, in ollama's envelope."""
    answer = call(Parts(SMALL).app, method, path, body=body)
    assert (answer.status, answer.json()) == (404, {"error": teaching.model_not_found("smollm", ("smollm2",))})


def test_what_is_not_done_here_says_why() -> None:
    """A stock client shows the text of the error; 400 is not sent again."""
    answer = call(Parts(SMALL).app, "POST", "/api/push", body={"model": "x"})
    assert (answer.status, answer.json()) == (400, {"error": teaching.push_not_here()})


def test_the_configuration_is_read_again_behind_a_copy_and_a_removal() -> None:
    """Their overrides hold for the next request, not some seconds later."""
    parts = Parts(SMALL)
    assert call(parts.app, "POST", "/api/copy", body={"source": "smollm2", "destination": "twin"}).status == 200
    assert call(parts.app, "DELETE", "/api/delete", body={"model": "twin"}).status == 200
    assert call(parts.app, "DELETE", "/api/delete", body={"model": "twin"}).status == 404
    assert parts.caught_up == ["copy", "delete"]
