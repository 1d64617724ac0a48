"""/api/create: what is understood, and what is told."""

import json
from typing import Any

import pytest

from blazar.application.models.create_model import Wish
from blazar.domain import teaching
from blazar.domain.overlay import Overlay
from tests.unit.adapters.http.asgi_calls import Answer, call
from tests.unit.adapters.http.gateway import SMALL, Parts

DIGEST = f"sha256:{'a' * 64}"


def create(body: dict[str, Any]) -> tuple[Answer, list[Wish]]:
    parts = Parts(SMALL)
    return call(parts.app, "POST", "/api/create", body=body), parts.wishes


def test_every_field_is_understood() -> None:
    """As the PyPI client and ollama's command line send them; `name` is the older spelling."""
    answer, wishes = create(
        {
            "name": "new",
            "from": "smollm2",
            "template": "{{ messages }}",
            "system": "S",
            "parameters": {"temperature": 0.5, "stop": ["a"], "num_gpu": 1},
            "messages": [{"role": "user", "content": "u"}],
            "license": "MIT",
            "adapters": {"a.gguf": DIGEST},
        }
    )
    assert answer.status == 200
    overlay = Overlay(
        "smollm2", "{{ messages }}", "S", {"temperature": 0.5, "stop": ["a"], "num_gpu": 1}, (("user", "u"),), ("MIT",)
    )
    assert wishes == [Wish("new", overlay, {}, (DIGEST,))]


def test_a_model_without_a_tag_is_called_so() -> None:
    """`new:latest` and `new` are one model to ollama's clients."""
    _, wishes = create({"model": "new:latest", "from": "smollm2:latest"})
    assert [wish.name for wish in wishes] == ["new"]


def test_the_steps_are_lines_unless_one_object_is_wanted() -> None:
    """`success` is the last; what changes nothing is named in a header."""
    answer, _ = create({"model": "new", "from": "smollm2", "renderer": "x"})
    assert answer.header("content-type") == "application/x-ndjson"
    assert [json.loads(line)["status"] for line in answer.body.splitlines()][-1] == "success"
    warned = [value for name, value in answer.headers if name == "x-blazar-warning"]
    assert warned == [teaching.warn_ignored("parameters.num_gpu"), teaching.warn_ignored("renderer")]
    answer, _ = create({"model": "new", "from": "smollm2", "stream": False, "license": ["A", "B"]})
    assert answer.json() == {"status": "success"}


def test_blobs_by_the_clients_names() -> None:
    """Handed on as they came: the shelf of blobs knows what a digest is."""
    _, wishes = create({"model": "new", "files": {"m.gguf": DIGEST}})
    assert wishes[0].files == {"m.gguf": DIGEST}


def test_the_text_of_a_modelfile() -> None:
    """As clients before the fields sent it."""
    _, wishes = create({"model": "new", "modelfile": "FROM smollm2\nSYSTEM S"})
    assert wishes == [Wish("new", Overlay("smollm2", system="S"))]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"quantize": "q4_0"}, teaching.field_unsupported("quantize", teaching.create_quantizes_nothing())),
        ({"quantization": "q4_0"}, teaching.field_unsupported("quantization", teaching.create_quantizes_nothing())),
        ({"messages": [{"role": "tool", "content": "x"}]}, teaching.field_must("messages[0]", "said")),
        ({"messages": ["x"]}, teaching.field_must("messages[0]", "said")),
        ({"license": [1]}, teaching.field_must("license", "stops")),
        ({"files": {"a": 1}}, teaching.field_must("files", "digest")),
        ({"parameters": {"heat": 1}}, teaching.parameter_unknown("heat")),
        ({"parameters": []}, teaching.field_must("parameters", "object")),
        ({"modelfile": "SYSTEM x"}, teaching.modelfile_without_from()),
        ({"modelfile": "FROM a\nFROM b"}, teaching.modelfile_projector()),
    ],
)
def test_what_is_wrong_is_named(body: dict[str, Any], sentence: str) -> None:
    """A 400 in ollama's envelope, and nothing was wished."""
    answer, wishes = create({"model": "new", **body})
    assert (answer.status, answer.json(), wishes) == (400, {"error": sentence}, [])
