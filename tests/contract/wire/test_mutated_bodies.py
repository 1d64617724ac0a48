"""Whatever a body holds, understanding it ends in a request for the child or in a sentence: nothing that a client sends is a 5xx."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.http.lane.rows import ROWS
from blazar.domain.errors import BlazarError
from blazar.domain.grammars import LLGUIDANCE, XGRAMMAR
from blazar.domain.wire.fitting import fit
from blazar.domain.wire.remote_pictures import remote_pictures

EACH = 1500
"""Bodies of one path; the seeds are fixed, so a failure repeats."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "pattern": "^a$", "maxLength": 3, "format": "date"},
        "b": {"oneOf": [{"$ref": "#/$defs/x"}, {"enum": [1, None]}]},
    },
    "$defs": {"x": {"type": "array", "items": {"type": "integer"}, "minItems": 1}},
    "required": ["a"],
    "additionalProperties": False,
}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
TEXT: dict[str, Any] = {"type": "text", "text": "x"}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [TEXT, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
            },
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "stream": False,
        "stream_options": {"include_usage": True},
        "max_tokens": 5,
        "stop": ["x"],
        "n": 1,
        "think": True,
    },
    "/v1/completions": {"model": "m", "prompt": "x", "json_schema": SCHEMA, "max_tokens": 5, "n": 2, "logprobs": 1},
    "/v1/messages": {
        "model": "m",
        "max_tokens": 5,
        "system": [TEXT],
        "messages": [
            {
                "role": "user",
                "content": [
                    TEXT,
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    {"type": "document", "title": "t", "source": {"type": "text", "data": "d"}},
                    {"type": "search_result", "title": "t", "source": "s", "content": [TEXT]},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": [TEXT], "is_error": True}],
            },
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA, "strict": True}],
        "tool_choice": {"type": "tool", "name": "f"},
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "stop_sequences": ["x"],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"},
    },
    "/v1/responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "r"},
        ],
        "instructions": "i",
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "reasoning": {"effort": "low"},
        "max_output_tokens": 5,
        "store": False,
    },
    "/api/chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "x", "images": ["AAAA"]},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "tool_name": "f", "content": "r"},
        ],
        "tools": [TOOL],
        "format": SCHEMA,
        "options": {"num_predict": 3, "seed": 1, "stop": ["x"], "num_ctx": 100},
        "think": "low",
        "keep_alive": "5m",
    },
    "/api/generate": {"model": "m", "prompt": "x", "images": ["AAAA"], "format": SCHEMA, "system": "s", "suffix": ""},
}
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1.0, 1.5, 1e30, 10**30, "", "x", "[]", "http://h/x"),
    *(
        [],
        {},
        [None],
        [[]],
        [{}],
        ["x", 1],
        {"a": None},
        {"type": None},
        {"type": {}},
        {"$ref": "#"},
        {"url": "http://h"},
    ),
]
REFUSAL = b'{"error":{"message":"failed to parse grammar"}}'


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every member and item of a body, by the way to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*way, key)
        yield from places(item, (*way, key))


def mutated(body: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """A copy in which a few things are others, gone, or there where nothing was."""
    body = copy.deepcopy(body)
    for _ in range(dice.choice([1, 1, 2, 3])):
        ways = list(places(body))
        if not ways:
            return body
        *way, last = dice.choice(ways)
        holder: Any = body
        for key in way:
            holder = holder[key]
        if (what := dice.random()) < 0.65:
            holder[last] = copy.deepcopy(dice.choice(VALUES))
        elif what < 0.85:
            del holder[last]
        elif isinstance(holder, dict):
            new = dice.choice(["type", "url", "schema", "format", "not", "name", "content", "input"])
            holder[new] = copy.deepcopy(dice.choice(VALUES))
        else:
            holder.append(copy.deepcopy(dice.choice(VALUES)))
    return body


@pytest.mark.parametrize("path", BODIES)
def test_a_mutated_body_is_understood_or_refused(path: str) -> None:
    """Also by what asks a second time, by what looks for addresses, and by what fits schemas to other engines."""
    dice = random.Random(path)
    for _ in range(EACH):
        raw = json.dumps(mutated(BODIES[path], dice)).encode()
        try:
            remote_pictures(json.loads(raw))
            job = ROWS[path].understand(raw)
            sent = json.loads(job.call("child").body)
            for grammar in (LLGUIDANCE, XGRAMMAR):
                fit(copy.deepcopy(sent), grammar, "response_format")
            for _ in range(2):
                job.again(400, REFUSAL)
        except BlazarError:
            continue
        except Exception as error:
            raise AssertionError(raw) from error
