"""The description of the API."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from blazar.adapters.http.routes import ROUTES, Gate
from blazar.adapters.http.schema.openapi import ANSWERS, BODIES, REFUSED, STREAMS, TEXTS, document, document_bytes
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
    assert silent == {"library.delete", "library.copy"}


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


def test_paths_with_a_name_declare_it() -> None:
    """OpenAPI wants each {name} as a parameter."""
    (parameter,) = operations()["GET", "/v1/models/{id}"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("id", "path", True)


def judged(schema: str, value: Any) -> list[str]:
    whole = {"$ref": f"#/components/schemas/{schema}", "components": {"schemas": SCHEMAS}}
    return [error.message for error in Draft202012Validator(whole).iter_errors(value)]


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
        ("GET", "/api/explain?model=smollm2", None, "Explanation"),
        ("GET", "/api/engines", None, "Engines"),
        ("GET", "/api/doctor", None, "Doctor"),
        ("GET", "/nope", None, "NativeError"),
        ("POST", "/v1/nope", None, "NativeError"),
        ("POST", "/api/pull", {}, "OllamaError"),
        ("GET", "/v1/messages", None, "AnthropicError"),
    ],
)
def test_answers_are_as_described(method: str, path: str, body: Any, schema: str) -> None:
    """The description is judged against what the routes really send."""
    parts = Parts(SMALL, EMBEDDER)
    parts.supervising.running = [VIEW, VIEW._replace(expires_at=0.0)]
    answer = call(parts.app, method, path, body=b"" if body is None else body)
    assert judged(schema, answer.json()) == []


def test_the_anthropic_listing_is_as_described() -> None:
    """By its header."""
    answer = call(Parts(SMALL).app, "GET", "/v1/models", [("anthropic-version", "1")])
    assert judged("AnthropicModels", answer.json()) == []
