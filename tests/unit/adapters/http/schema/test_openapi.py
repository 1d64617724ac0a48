"""The description of the API."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from blazar.adapters.http.routes import ROUTES, Gate
from blazar.adapters.http.schema.openapi import (
    ANSWERS,
    BODIES,
    FORMS,
    REFUSED,
    STREAMS,
    TEXTS,
    document,
    document_bytes,
)
from blazar.application.models.show_model import Beside
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import EMBEDDER, SMALL, VIEW, Parts

DOCUMENT = document("1.2.3")
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]


def operations() -> dict[tuple[str, str], Any]:
    return {(method.upper(), path): op for path, ops in DOCUMENT["paths"].items() for method, op in ops.items()}


def test_it_is_openapi_3_1_json() -> None:
    """Served as made, once."""
    assert json.loads(document_bytes("1.2.3")) == DOCUMENT
    assert document_bytes("1.2.3") is document_bytes("1.2.3")
    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == "1.2.3"


def test_every_route_is_in_it_and_nothing_else() -> None:
    """Hot ones too."""
    assert set(operations()) == {(route.method, route.path) for route in ROUTES}


def test_the_tables_name_routes() -> None:
    """No schema for a route that is gone, and every route has an answer of some kind."""
    keys = {route.key for route in ROUTES}
    assert set(BODIES) | set(ANSWERS) | set(STREAMS) | set(TEXTS) | REFUSED <= keys
    silent = keys - set(ANSWERS) - set(TEXTS) - REFUSED
    assert silent == {"library.delete", "library.copy", "library.has_blob", "library.blob"}


def test_a_form_is_described_as_one() -> None:
    """Its row takes no JSON."""
    rows = {route.key for route in ROUTES if route.upload and route.key.startswith("files.")}
    assert set(FORMS) == rows
    assert [*operations()["POST", "/v1/files"]["requestBody"]["content"]] == ["multipart/form-data"]


def test_operation_ids_are_unique() -> None:
    """Client generators make method names of them."""
    ids = [op["operationId"] for op in operations().values()]
    assert len(set(ids)) == len(ids)


def test_every_reference_resolves() -> None:
    """And every schema is one (draft 2020-12)."""
    text = json.dumps(DOCUMENT)
    assert set(re.findall(r'"#/components/schemas/(\w+)"', text)) <= set(SCHEMAS)
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


def test_open_routes_need_no_key() -> None:
    """And only they."""
    for route in ROUTES:
        open_here = operations()[route.method, route.path].get("security") == []
        assert open_here is (route.gate is Gate.OPEN)


def test_an_answer_to_head_has_no_content() -> None:
    """Neither where something is there nor where it is not: only GET and its like have bodies."""
    responses = operations()["HEAD", "/api/blobs/{digest}"]["responses"]
    assert responses.keys() == {"200", "default"}
    assert not any("content" in response for response in responses.values())


def test_paths_with_a_name_declare_it() -> None:
    """OpenAPI wants each {name} as a parameter."""
    (parameter,) = operations()["GET", "/v1/models/{id}"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("id", "path", True)


def judged(schema: str, value: Any) -> list[str]:
    whole = {"$ref": f"#/components/schemas/{schema}", "components": {"schemas": SCHEMAS}}
    return [error.message for error in Draft202012Validator(whole).iter_errors(value)]


def undescribed(schema: Any, value: Any, at: str = "") -> list[str]:
    """Fields of an answer that its schema does not name. A map has names of its own."""
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null" and value is not None:
            return undescribed(choice, value, at)
    if isinstance(value, list):
        return [name for item in value for name in undescribed(schema.get("items", {}), item, f"{at}[]")]
    known = schema.get("properties")
    if known is None or not isinstance(value, dict):
        return []
    lacking = [f"{at}.{name}" for name in value if name not in known]
    return lacking + [
        name for key, item in value.items() if key in known for name in undescribed(known[key], item, f"{at}.{key}")
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "schema"),
    [
        ("GET", "/health", None, "Health"),
        ("GET", "/api/version", None, "Version"),
        ("GET", "/v1/models", None, "OpenAiModels"),
        ("GET", "/v1/models/smollm2", None, "OpenAiModel"),
        ("GET", "/api/tags", None, "Tags"),
        ("GET", "/api/ps", None, "ProcessList"),
        ("POST", "/api/ps", {"reset": True}, "Reset"),
        ("POST", "/api/load", {"model": "smollm2"}, "Running"),
        ("POST", "/api/evict", {"model": "smollm2"}, "Evicted"),
        ("POST", "/api/show", {"model": "smollm2"}, "Shown"),
        ("POST", "/api/pull", {"model": "smollm2", "stream": False}, "PullStatus"),
        ("GET", "/api/explain?model=smollm2", None, "Explanation"),
        ("GET", "/api/engines", None, "Engines"),
        ("GET", "/api/doctor", None, "Doctor"),
        ("GET", "/v1/files", None, "FileObjects"),
        ("GET", "/v1/files/smollm2", None, "FileObject"),
        ("DELETE", "/v1/files/smollm2", None, "FileDeleted"),
        ("GET", "/v1/batches", None, "BatchObjects"),
        ("GET", "/v1/batches/smollm2", None, "BatchObject"),
        ("POST", "/v1/batches/smollm2/cancel", {}, "BatchObject"),
        ("GET", "/v1/messages/batches", None, "MessageBatches"),
        ("GET", "/v1/messages/batches/smollm2", None, "MessageBatch"),
        ("DELETE", "/v1/messages/batches/smollm2", None, "MessageBatchDeleted"),
        ("GET", "/nope", None, "NativeError"),
        ("POST", "/v1/nope", None, "NativeError"),
        ("POST", "/api/push", {}, "OllamaError"),
        ("GET", "/v1/messages", None, "AnthropicError"),
    ],
)
def test_answers_are_as_described(method: str, path: str, body: Any, schema: str) -> None:
    """The description is judged against what the routes really send."""
    parts = Parts(SMALL, EMBEDDER)
    parts.supervising.running = [VIEW, VIEW._replace(expires_at=0.0)]
    answer = call(parts.app, method, path, body=b"" if body is None else body)
    assert judged(schema, answer.json()) == []
    assert undescribed(SCHEMAS[schema], answer.json()) == []


@pytest.mark.parametrize("model", [SMALL, replace(SMALL, weights=Weights.DIFFUSION, ctx_train=0, embedding_length=0)])
@pytest.mark.parametrize("verbose", [False, True])
def test_every_field_of_a_listing_is_described(model: Model, verbose: bool) -> None:
    """Clients are generated from the description: what it does not name they do not have."""
    parts = Parts(model, metadata={"general.license": "mit"})
    parts.projector = Beside("/models/mmproj.gguf", {"general.architecture": "clip"})
    parts.supervising.running = [VIEW._replace(devices=(("CUDA0", 7),), notes=("n",), outdated=True)]
    for method, path, schema in (
        ("GET", "/api/ps", "ProcessList"),
        ("POST", "/api/show", "Shown"),
        ("GET", "/v1/models", "OpenAiModels"),
        ("GET", "/v1/models/smollm2", "OpenAiModel"),
    ):
        body = {"model": "smollm2", "verbose": verbose} if method == "POST" else b""
        answer = call(parts.app, method, path, body=body).json()
        assert judged(schema, answer) == []
        assert undescribed(SCHEMAS[schema], answer) == []


def test_every_described_field_of_a_loaded_model_is_sent() -> None:
    """None is left out: programs read figures of 0, too."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert set(row) == set(SCHEMAS["Running"]["properties"])


def test_the_anthropic_listing_is_as_described() -> None:
    """By its header."""
    for model in (SMALL, replace(SMALL, weights=Weights.DIFFUSION)):
        answer = call(Parts(model).app, "GET", "/v1/models", [("anthropic-version", "1")]).json()
        assert judged("AnthropicModels", answer) == []
        assert undescribed(SCHEMAS["AnthropicModels"], answer) == []
