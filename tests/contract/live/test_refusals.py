"""What a real engine refuses, and what the gateway makes of it: schemas that are no grammar, prompts and inputs that do not fit."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.contract.live.conftest import Gateway
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.shared import shared

CHATS = {"openai": "/v1/chat/completions", "ollama": "/api/chat", "anthropic": "/v1/messages"}

# All of these are refused by llama.cpp b11434 and by the embedded wheel when they are sent as they are.
REFUSED: dict[str, Any] = {
    "a schema that is true": True,
    "a type of another standard": {"type": "any"},
    "a bound that is no whole number": {"type": "string", "maxLength": 10.0},
    "a minimum beyond the engine's repetitions": {"type": "string", "minLength": 5000},
    "a bound beyond any integer": {"type": "integer", "maximum": 1e30},
    "a pattern that is none": {"type": "string", "pattern": "^($"},
    "the root again": {"$ref": "#"},
    "an escaped pointer": {"$ref": "#/$defs/a~1b"},
}


def post(gateway: Gateway, path: str, body: Any) -> tuple[int, dict[str, str], Any]:
    headers = {"content-type": "application/json", "authorization": f"Bearer {gateway.key}"}
    request = urllib.request.Request(gateway.url + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as got:
            return got.status, {k.lower(): v for k, v in got.headers.items()}, json.loads(got.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {k.lower(): v for k, v in error.headers.items()}, json.loads(error.read())


def message(body: Any) -> str:
    return str(body["error"] if isinstance(body["error"], str) else body["error"]["message"])


@pytest.mark.parametrize("name", REFUSED)
def test_a_tool_whose_schema_is_no_grammar_does_not_refuse_the_request(
    gateway: Gateway, scripted_model: str, name: str
) -> None:
    """Declared by whatever the agent has plugged in, it is simplified, called, and the header says so (C14, C15)."""
    schema = {
        "type": "object",
        "properties": {"a": REFUSED[name]},
        "required": ["a"],
        "$defs": {"a/b": {"type": "integer"}},
    }
    body = {
        "model": scripted_model,
        "max_tokens": 40,
        "messages": [{"role": "user", "content": "call it"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
    }
    status, headers, got = post(gateway, CHATS["openai"], body)
    assert status == 200, got
    assert headers["x-blazar-warning"].startswith("rewritten; 'tools.f'")
    assert got["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "f"


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}}, "$ref": "#/$defs/P"},
        {"type": "object", "properties": {"d": {"type": "string", "pattern": r"^\d{4}-\d{2}$"}}, "required": ["d"]},
        {"type": "object", "properties": {"d": {"type": "string", "maxLength": 1_000_000}}},
        {"type": "object", "properties": {"d": {"type": "array", "items": {}, "maxItems": 1_000_000}}},
    ],
)
def test_references_classes_and_huge_bounds_are_the_engines_own_business(
    gateway: Gateway, scripted_model: str, schema: Any
) -> None:
    """This engine knows them: nothing is rewritten (C14, C15, E4)."""
    body = {
        "model": scripted_model,
        "max_tokens": 60,
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
    }
    status, headers, _ = post(gateway, CHATS["openai"], body)
    assert status == 200
    assert "x-blazar-warning" not in headers


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
NODE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["v", "kids"],
}
REFERRING: dict[str, Any] = {
    "shared": {"properties": {"a": {"$ref": "#/$defs/P"}, "b": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}},
    "recursive": {"properties": {"a": {"$ref": "#/$defs/node"}, "b": {"type": "null"}}, "$defs": {"node": NODE}},
    "mutual": {
        "properties": {"a": {"$ref": "#/$defs/odd"}, "b": {"type": "null"}},
        "$defs": {
            "odd": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/even"}}]},
            "even": {"type": "array", "items": {"$ref": "#/$defs/odd"}},
        },
    },
    "a property's path": {"properties": {"a": POINT, "b": {"$ref": "#/properties/a/properties/x"}}},
    "escaped": {
        "properties": {"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/c~0d%20e"}},
        "$defs": {"a/b": POINT, "c~d e": {"type": "boolean"}},
    },
    "of old drafts": {
        "properties": {"a": {"$ref": "#/definitions/P"}, "b": {"$ref": "#/definitions/P/properties/x"}},
        "definitions": {"P": POINT},
    },
    "a chain": {
        "properties": {"a": {"$ref": "#/$defs/Q"}, "b": {"type": "null"}},
        "$defs": {"P": POINT, "Q": {"$ref": "#/$defs/P"}},
    },
}


def asked_with(schema: Any, dialect: str, *, tool: bool) -> dict[str, Any]:
    """A wanted form, or a tool that must be called."""
    if tool and dialect == "anthropic":
        forced = {"type": "tool", "name": "f"}
        return {"tools": [{"name": "f", "input_schema": schema}], "tool_choice": forced}
    if tool:
        return {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]}
    return {
        "openai": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}},
        "ollama": {"format": schema},
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
    }[dialect]


def object_in(got: Any, dialect: str, *, tool: bool) -> Any:
    if dialect == "anthropic":
        block = next(block for block in got["content"] if block["type"] == ("tool_use" if tool else "text"))
        return block["input"] if tool else json.loads(block["text"])
    said = got["message"] if dialect == "ollama" else got["choices"][0]["message"]
    found = said["tool_calls"][0]["function"]["arguments"] if tool else said["content"]
    return json.loads(found) if isinstance(found, str) else found


@pytest.mark.parametrize("tool", [False, True])
@pytest.mark.parametrize("dialect", CHATS)
@pytest.mark.parametrize("name", REFERRING)
def test_what_a_schema_refers_to_is_what_the_answer_has(
    gateway: Gateway, scripted_model: str, name: str, dialect: str, tool: bool
) -> None:
    """Shared, recursive, into a path, escaped: in a wanted form and in a tool, by every dialect (E4, E5)."""
    schema = {"type": "object", "required": ["a", "b"], "additionalProperties": False, **REFERRING[name]}
    body = {"model": scripted_model, "max_tokens": 120, "stream": False}
    body |= {"messages": [{"role": "user", "content": "hi"}], **asked_with(schema, dialect, tool=tool)}
    status, _, got = post(gateway, CHATS[dialect], body)
    assert status == 200, got
    jsonschema.validate(object_in(got, dialect, tool=tool), schema)


@pytest.mark.parametrize("tool", [False, True])
@pytest.mark.parametrize("dialect", CHATS)
def test_a_chain_of_references_ends_no_engine(gateway: Gateway, scripted_model: str, dialect: str, tool: bool) -> None:
    """It would follow them until its stack is full (E5)."""
    chain = {f"r{at}": {"properties": {"x": {"$ref": f"#/$defs/r{at + 1}"}}} for at in range(8000)}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/r0"}}, "$defs": {**chain, "r8000": {}}}
    body = {"model": scripted_model, "max_tokens": 5, "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    status, _, got = post(gateway, CHATS[dialect], body | asked_with(schema, dialect, tool=tool))
    assert status == 400
    assert "too large a schema" in message(got)


@pytest.mark.parametrize("dialect", CHATS)
def test_an_endless_reference_is_a_sentence(gateway: Gateway, scripted_model: str, dialect: str) -> None:
    """And the engine lives on (E5)."""
    loop = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}
    body = {"model": scripted_model, "max_tokens": 5, "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    more: dict[str, Any] = {
        "openai": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": loop}}},
        "ollama": {"format": loop},
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": loop}}},
    }
    status, _, got = post(gateway, CHATS[dialect], body | more[dialect])
    assert status == 400
    assert "leads back to itself" in message(got)
    assert post(gateway, CHATS[dialect], body)[0] == 200


@pytest.mark.parametrize("dialect", CHATS)
def test_a_prompt_that_does_not_fit_is_a_400_with_sizes(gateway: Gateway, scripted_model: str, dialect: str) -> None:
    """Not the engine's words, not a silent cut (B5)."""
    words = "w" * 40_000
    body = {"model": scripted_model, "max_tokens": 5, "stream": False, "messages": [{"role": "user", "content": words}]}
    status, _, got = post(gateway, CHATS[dialect], body)
    assert status == 400
    assert "prompt is too long: " in message(got)
    assert "raise ctx" in message(got)


def test_a_slot_that_may_use_less_than_the_window_advises_its_own_key(tmp_path: Path) -> None:
    """A larger window would leave the engine's bound where it is; between the two a prompt fits."""
    keys = "default_ctx = 512\nslots = 2\nkv_unified = true\nkv_unified_per_slot = "
    daemon = Daemon(tmp_path, f"{ONE_THREAD}{keys}128\n")
    daemon.must("import", str(shared("models/tiny-llama.gguf")), "--name", "m")
    body = {"model": "m", "max_tokens": 2, "messages": [{"role": "user", "content": "w" * 600}]}
    with daemon:
        for path in CHATS.values():
            answer = daemon.ask("POST", path, {**body, "stream": False})
            assert answer.status == 400, answer.body
            assert "tokens > 128. This model's maximum context length is one request's share" in message(answer.json())
            assert "raise kv_unified_per_slot" in message(answer.json())
    daemon.config_file.write_text(f"{ONE_THREAD}{keys}512\n")
    with daemon:
        answer = daemon.ask("POST", CHATS["openai"], {**body, "messages": [{"role": "user", "content": "w" * 6000}]})
        assert "trained for no more: shorten the prompt" in message(answer.json())


def test_an_input_that_does_not_fit_is_cut_only_on_request(gateway: Gateway) -> None:
    """The cut vector is the one of the text's beginning, end mark and all (M2, B19)."""
    words = "river " * 3000
    status, _, got = post(gateway, "/api/embed", {"model": gateway.embed, "input": words})
    assert status == 400
    assert "truncate: true" in message(got)
    asked = {"model": gateway.embed, "input": ["short", words], "truncate": True}
    status, headers, got = post(gateway, "/api/embed", asked)
    assert status == 200
    assert "was cut to" in headers["x-blazar-warning"]
    window = int(headers["x-blazar-warning"].split("was cut to ")[1].split()[0])
    alone = {"model": gateway.embed, "input": "river " * (window - 2)}
    whole = post(gateway, "/api/embed", alone)[2]["embeddings"][0]
    cut = got["embeddings"][1]
    assert max(abs(one - other) for one, other in zip(whole, cut, strict=True)) < 1e-3
