"""A valid request for every row of the route table: what the mutations begin with. A row with a body and without one fails a test.

`{kind}` in a path or a string stands for the newest id of its kind that an answer named (tests/fuzz/known.py).
"""

import hashlib
from dataclasses import replace
from typing import Any, Final, NamedTuple

from blazar.adapters.http.routes import Route
from tests.support.batch_calls import FORM, form
from tests.support.gguf_files import tiny

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
PICTURE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [TEXT, PICTURE]},
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
"""Bodies with everything in them, of the paths whose translation has the most to go wrong."""

MODEL_BYTES: Final = replace(tiny(), noise=7).build()
DIGEST: Final = "sha256:" + hashlib.sha256(MODEL_BYTES).hexdigest()
USER: Final[dict[str, Any]] = {"role": "user", "content": "x"}
CHAT: Final[dict[str, Any]] = {"model": "m", "messages": [USER], "max_tokens": 5}
BATCH_LINE: Final = (
    b'{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":'
    b'{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]}}\n'
)


def without_pictures(body: Any) -> Any:
    """The same body for a model that takes none."""
    if isinstance(body, dict):
        return {name: without_pictures(value) for name, value in body.items() if name != "images"}
    if isinstance(body, list):
        kinds = ("image_url", "image")
        return [without_pictures(one) for one in body if not (isinstance(one, dict) and one.get("type") in kinds)]
    return body


class Seed(NamedTuple):
    """A valid request: a JSON body, or the bytes of another one."""

    body: dict[str, Any] | None = None
    raw: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    query: tuple[tuple[str, str], ...] = ()


def _json(*bodies: dict[str, Any]) -> tuple[Seed, ...]:
    return tuple(Seed(body) for body in bodies)


SEEDS: Final[dict[str, tuple[Seed, ...]]] = {
    "lane.chat_completions": _json(
        BODIES["/v1/chat/completions"],
        without_pictures(BODIES["/v1/chat/completions"]),
        CHAT,
        CHAT | {"stream": True, "stream_options": {"include_usage": True}, "logprobs": True, "top_logprobs": 2},
        CHAT | {"store": True, "metadata": {"k": "v"}},
        CHAT | {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": True, "stream": True},
        CHAT | {"response_format": {"type": "gbnf", "grammar": 'root ::= "a"'}, "logit_bias": {"1": -1}, "seed": 1},
    ),
    "lane.completions": _json(
        BODIES["/v1/completions"],
        {"model": "m", "prompt": ["x", "y"], "stream": True, "max_tokens": 3, "echo": False, "stop": "x"},
        {"model": "m", "prompt": [1, 2], "suffix": None, "max_tokens": 3},
    ),
    "lane.responses": _json(
        BODIES["/v1/responses"],
        {"model": "m", "input": "x", "max_output_tokens": 5, "metadata": {"k": "v"}},
        {"model": "m", "input": [{"role": "user", "content": "x"}], "stream": True, "include": ["x"]},
        {"model": "m", "input": "x", "previous_response_id": "{response}", "store": True, "max_output_tokens": 5},
        {"model": "m", "input": "x", "background": True, "max_output_tokens": 5},
        {"model": "m", "input": [{"type": "item_reference", "id": "{response}"}], "tools": [{"type": "web_search"}]},
    ),
    "lane.input_tokens": _json(
        {"model": "m", "input": "x", "instructions": "s"},
        {"model": "m", "input": [{"role": "user", "content": "x"}], "previous_response_id": "{response}"},
    ),
    "lane.embeddings": _json(
        {"model": "e", "input": ["x", "y"], "encoding_format": "base64", "dimensions": 4, "user": "u"},
        {"model": "e", "input": "x", "truncate": True},
        {"model": "e", "input": [[1, 2], [3]], "encoding_format": "float"},
        {"model": "e", "input": ["x", "y"], "late_chunking": True},
    ),
    "lane.rerank": _json(
        {"model": "r", "query": "x", "documents": ["y", {"text": "z"}], "top_n": 1, "return_documents": True}
    ),
    "lane.tokenize": _json(
        {"model": "m", "content": "x", "add_special": True, "parse_special": False, "with_pieces": True},
        {"model": "m", "content": ["x", 1]},
    ),
    "lane.detokenize": _json({"model": "m", "tokens": [1001, 1002]}),
    "lane.apply_template": _json(
        {"model": "m", "messages": [USER], "tools": [TOOL], "chat_template_kwargs": {"a": 1}},
        {"model": "m", "messages": BODIES["/v1/chat/completions"]["messages"], "add_generation_prompt": False},
    ),
    "lane.image_generations": _json(
        {"model": "m", "prompt": "x", "n": 1, "size": "64x64", "response_format": "b64_json", "seed": 1, "steps": 1}
    ),
    "lane.messages": _json(
        BODIES["/v1/messages"],
        without_pictures(BODIES["/v1/messages"]),
        CHAT,
        CHAT | {"stream": True, "system": "s", "metadata": {"user_id": "u"}},
    ),
    "lane.count_tokens": _json(
        {"model": "m", "messages": [USER], "system": "s"},
        {
            k: v
            for k, v in without_pictures(BODIES["/v1/messages"]).items()
            if k not in ("max_tokens", "stop_sequences")
        },
    ),
    "lane.ollama_chat": _json(
        BODIES["/api/chat"],
        without_pictures(BODIES["/api/chat"]),
        {"model": "m", "messages": [USER], "stream": False, "options": {"num_predict": 3}},
        {"model": "m", "messages": [USER], "format": "json", "logprobs": True, "top_logprobs": 1},
        {"model": "m"},
    ),
    "lane.ollama_generate": _json(
        BODIES["/api/generate"],
        without_pictures(BODIES["/api/generate"]),
        {"model": "m", "prompt": "x", "stream": False, "raw": True, "options": {"num_predict": 3}},
        {"model": "m", "prompt": "x", "template": "{{ .System }} {{ .Prompt }}", "system": "s"},
        {"model": "m"},
    ),
    "lane.ollama_embed": _json(
        {"model": "e", "input": ["x", "y"], "truncate": True, "dimensions": 4, "options": {"num_ctx": 8}},
        {"model": "e", "input": "x", "keep_alive": "5m"},
    ),
    "lane.ollama_embeddings": _json({"model": "e", "prompt": "x"}),
    "completions.update": _json({"metadata": {"k": "v"}}),
    "library.show": _json({"model": "m", "verbose": True}, {"name": "e"}),
    "library.delete": _json({"model": "made"}, {"model": "copied", "force": True}),
    "library.copy": _json({"source": "m", "destination": "copied"}),
    "library.pull": _json(
        {"model": "m", "stream": True, "insecure": False},
        {"model": "hf:a/b:Q4_0", "as": "pulled", "with": {"vae": "c/d/e.safetensors"}, "draft": True, "stream": False},
    ),
    "library.push": _json({"model": "m", "stream": True}),
    "library.create": _json(
        {
            "model": "made",
            "from": "m",
            "system": "s",
            "template": "{{ messages }}",
            "parameters": {"temperature": 0.5, "stop": ["x"]},
            "messages": [USER],
            "license": ["l"],
            "stream": False,
        },
        {"model": "made", "from": "m", "fresh": True},
        {"model": "made", "files": {"x.gguf": DIGEST}},
        {"name": "made", "modelfile": "FROM m\nPARAMETER stop x\nSYSTEM s\n"},
    ),
    "library.blob": (Seed(raw=MODEL_BYTES, headers=(("content-type", "application/octet-stream"),)),),
    "children.reset": _json({"reset": True}),
    "children.load": _json({"model": "other", "keep_alive": "5m"}),
    "children.evict": _json({"model": "other", "force": False}),
    "fit.preview": _json(
        {"model": "m", "ctx": 512, "slots": 1, "kv": "q8_0,q4_0", "gpu": [8, 0.5], "ram": 16},
        {"target": "m"},
    ),
    "files.upload": (Seed(raw=form(BATCH_LINE), headers=tuple(FORM.items())),),
    "batches.create": _json(
        {
            "input_file_id": "{file}",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"k": "v"},
            "output_expires_after": {"anchor": "created_at", "seconds": 3600},
        }
    ),
    "keys.add": _json(
        {
            "name": "fuzzed",
            "models": ["m"],
            "rpm": 5,
            "tpm": 500,
            "daily_tokens": 9000,
            "max_concurrent": 2,
            "weight": 0.5,
        }
    ),
    "keys.update": _json({"models": ["m"], "rpm": None, "weight": 2}),
    "keys.usage": (Seed(query=(("days", "7"),)),),
    "message_batches.create": _json({"requests": [{"custom_id": "1", "params": CHAT}]}),
    "models.listing": (
        Seed(query=(("limit", "5"),)),
        Seed(headers=(("anthropic-version", "2023-06-01"),), query=(("limit", "2"), ("after_id", "m"))),
    ),
    "models.one": (Seed(), Seed(headers=(("anthropic-version", "2023-06-01"),))),
    "reports.explain": (Seed(query=(("model", "m"),)),),
    "responses.one": (Seed(), Seed(query=(("stream", "true"), ("starting_after", "1")))),
}
"""By the key of a row. Rows that are not here are asked without a body and without a query."""

PATH_IDS: Final = {
    "models": "m",
    "completions": "{completion}",
    "responses": "{response}",
    "files": "{file}",
    "batches": "{batch}",
    "message_batches": "{message_batch}",
    "library": DIGEST,
    "keys": "fuzzed",
}
"""What stands for the id in the paths of a family."""


def seeds_of(route: Route) -> tuple[Seed, ...]:
    """The valid requests of a row."""
    return SEEDS.get(route.key, (Seed(),))


def path_id_of(route: Route) -> str:
    """What stands in the path of a row that has an id in it; empty for others."""
    return PATH_IDS[route.key.partition(".")[0]] if "{" in route.path else ""
