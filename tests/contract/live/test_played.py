"""What a real engine once sent, through the whole gateway: every dialect says the same of it, streamed and not.

The engine of these requests plays recordings (tests/stubs/player.py). What the scripted model can be made to say is asked of the real engine, too.
"""

import http.client
import json
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from blazar.domain.wire.tools import arguments_object, cut_object
from tests.contract.live.conftest import Gateway
from tests.contract.wire.chunks import RECORDED, events, ndjson, payloads
from tests.contract.wire.test_recorded import FAILING, REFUSED, SEVERAL, STREAMS, said
from tests.support.scripted_gguf import PONDERED, TWICE

CHATS = sorted(
    set(STREAMS) - FAILING - SEVERAL - {"completion", "completion_logprobs", "unicode", "text_without_usage"}
)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}
ROUTES = {
    "openai": "/v1/chat/completions",
    "ollama": "/api/chat",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
}


class Heard(NamedTuple):
    """What a client makes of an answer; `calls` with their arguments read, `counts` of prompt and answer."""

    text: str
    thought: str
    calls: list[tuple[str, Any]]
    counts: tuple[int, int]


class Got(NamedTuple):
    status: int
    body: bytes


@pytest.fixture
def played(gateway: Gateway) -> str:
    if not gateway.played:
        pytest.skip("needs the engine that plays recordings, which a foreign gateway does not have")
    return gateway.played


def post(gateway: Gateway, path: str, body: dict[str, Any]) -> Got:
    where = urlsplit(gateway.url)
    with closing(http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        with connection.getresponse() as got:
            return Got(got.status, got.read())


def asking(dialect: str, model: str, text: str, *, stream: bool, tools: bool = False) -> dict[str, Any]:
    """A dialect's request for a chat of one message."""
    body: dict[str, Any] = {"model": model, "stream": stream}
    function = WEATHER["function"]
    if dialect == "responses":
        return body | {"input": text, "store": False} | ({"tools": [{"type": "function", **function}]} if tools else {})
    body["messages"] = [{"role": "user", "content": text}]
    if dialect == "anthropic":
        body |= {"max_tokens": 300, "thinking": {"type": "adaptive"}}
        return body | ({"tools": [{"name": "get_weather", "input_schema": PARAMETERS}]} if tools else {})
    if dialect == "openai" and stream:
        body["stream_options"] = {"include_usage": True}
    if dialect == "ollama":
        body["think"] = True
    return body | ({"tools": [WEATHER]} if tools else {})


def hear(dialect: str, raw: bytes, *, stream: bool) -> Heard:
    """A dialect's answer."""
    return HEARERS[dialect](raw, stream)


def _openai(raw: bytes, stream: bool) -> Heard:
    answers = [item for item in payloads(raw) if item != "[DONE]"] if stream else [json.loads(raw)]
    said = [choice["delta" if stream else "message"] for item in answers for choice in item["choices"]]
    calls: dict[int, list[str]] = {}
    for one in said:
        for at, piece in enumerate(one.get("tool_calls") or ()):
            held = calls.setdefault(piece.get("index", at), [piece["function"].get("name") or "", ""])
            held[1] += piece["function"]["arguments"]
    usage = answers[-1]["usage"]
    return Heard(
        "".join(one.get("content") or "" for one in said),
        "".join(one.get("reasoning_content") or "" for one in said),
        [(name, arguments_object(arguments)) for name, arguments in calls.values()],
        (usage["prompt_tokens"], usage["completion_tokens"]),
    )


def _ollama(raw: bytes, stream: bool) -> Heard:
    lines = ndjson(raw) if stream else [json.loads(raw)]
    said = [line["message"] for line in lines]
    functions = [call["function"] for one in said for call in one.get("tool_calls") or ()]
    return Heard(
        "".join(one["content"] for one in said),
        "".join(one.get("thinking") or "" for one in said),
        [(function["name"], function["arguments"]) for function in functions],
        (lines[-1]["prompt_eval_count"], lines[-1]["eval_count"]),
    )


def _anthropic(raw: bytes, stream: bool) -> Heard:
    if not stream:
        whole = json.loads(raw)
        blocks, usage = whole["content"], whole["usage"]
    else:
        told = events(raw)
        blocks, usage = [], told[-2]["usage"]
        for item in told:
            if item["type"] == "content_block_start":
                blocks.append({**item["content_block"], "json": ""})
            elif item["type"] == "content_block_delta":
                for key, field in (("text", "text"), ("thinking", "thinking"), ("partial_json", "json")):
                    blocks[-1][field] = blocks[-1].get(field, "") + item["delta"].get(key, "")
    calls = [
        (one["name"], cut_object(one["json"]) if stream else one["input"])  # as the SDK reads a stream
        for one in blocks
        if one["type"] == "tool_use"
    ]
    texts = ["".join(one[kind] for one in blocks if one["type"] == kind) for kind in ("text", "thinking")]
    return Heard(texts[0], texts[1], calls, (usage["input_tokens"], usage["output_tokens"]))


def _responses(raw: bytes, stream: bool) -> Heard:
    whole = events(raw)[-1]["response"] if stream else json.loads(raw)
    output, usage = whole["output"], whole["usage"]
    parts = {
        kind: "".join(part["text"] for one in output if one["type"] == kind for part in one["content"])
        for kind in ("message", "reasoning")
    }
    calls = [(one["name"], arguments_object(one["arguments"])) for one in output if one["type"] == "function_call"]
    return Heard(parts["message"], parts["reasoning"], calls, (usage["input_tokens"], usage["output_tokens"]))


HEARERS = {"openai": _openai, "ollama": _ollama, "anthropic": _anthropic, "responses": _responses}


@pytest.mark.parametrize("name", CHATS)
def test_every_dialect_says_what_the_engine_said(name: str, gateway: Gateway, played: str) -> None:
    """Text, thinking, calls and counts are the recording's in four dialects, streamed and not."""
    answer = said(name)
    calls = [(one.name, arguments_object(one.arguments)) for one in answer.calls]
    cut = [
        (one.name, cut_object(one.arguments)) for one in answer.calls
    ]  # of a call that the limit cut, what was told whole
    meant = Heard(answer.text, answer.reasoning, calls, (answer.usage.prompt, answer.usage.completion))
    for dialect, path in ROUTES.items():
        for stream in (True, False):
            got = post(gateway, path, asking(dialect, played, f"play {name}", stream=stream))
            assert (dialect, stream, got.status) == (dialect, stream, 200), got.body
            told = meant._replace(calls=cut) if dialect == "anthropic" else meant
            assert (dialect, stream, hear(dialect, got.body, stream=stream)) == (dialect, stream, told)


@pytest.mark.parametrize(
    ("text", "thought", "calls"),
    [("call twice", "", list(TWICE)), ("ponder this", PONDERED, [("get_weather", {"city": ""})])],
)
def test_the_real_engine_is_understood_in_every_dialect(
    text: str, thought: str, calls: list[tuple[str, Any]], gateway: Gateway, scripted_model: str
) -> None:
    """Two calls in one turn, and thinking before a call: the same in four dialects, streamed and not, counts included."""
    heard = {
        (dialect, stream): hear(
            dialect,
            post(gateway, path, asking(dialect, scripted_model, text, stream=stream, tools=True)).body,
            stream=stream,
        )
        for dialect, path in ROUTES.items()
        for stream in (True, False)
    }
    for key, one in heard.items():
        assert (key, one.text, one.thought, one.calls) == (key, "", thought, calls)
    assert len({one.counts for one in heard.values()}) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_the_engines_refusals_reach_every_client(name: str, gateway: Gateway, played: str) -> None:
    """Status and words in each dialect's envelope (D10); where the gateway has words that teach, the engine's stand behind them."""
    error = json.loads((RECORDED / "refused" / f"{name}.json").read_text())["error"]
    for dialect, path in ROUTES.items():
        for stream in (True, False):
            got = post(gateway, path, asking(dialect, played, f"play refused/{name}", stream=stream))
            told = json.loads(got.body)["error"]
            message = told if dialect == "ollama" else told["message"]
            assert (dialect, got.status) == (dialect, error["code"])
            assert isinstance(message, str)
            ours = message.endswith(f"(the engine: {error['message']})")
            assert message == error["message"] or ours or name == "too_long"


@pytest.mark.parametrize("name", sorted(FAILING))
def test_a_failure_inside_a_stream_reaches_every_client(name: str, gateway: Gateway, played: str) -> None:
    """Told in the dialect's own event, as the last thing of a body that ends properly; not streamed it is a status (C11, C12, D9)."""
    for dialect, path in ROUTES.items():
        got = post(gateway, path, asking(dialect, played, f"play {name}", stream=False))
        assert (dialect, got.status) == (dialect, 500)
        raw = post(gateway, path, asking(dialect, played, f"play {name}", stream=True)).body
        assert raw.rstrip().splitlines()[-1].count(b"error") >= 1
        for word in (b"[DONE]", b'"done":true', b"message_stop", b"response.completed"):
            assert word not in raw
