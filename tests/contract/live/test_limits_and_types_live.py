"""What a stock engine takes for something else, asked of a real one: numbers beyond its own, empty words, pictures that are none, schemas it reads over."""

import json
from typing import Any

import anthropic
import httpx
import pytest

from tests.contract.live.conftest import Gateway
from tests.support.scripted_gguf import HELLO

HUGE = 2**32 + 5  # 5 in 32 bits
SAID = [{"role": "user", "content": "hi"}]


def post(gateway: Gateway, path: str, **body: Any) -> httpx.Response:
    return httpx.post(
        gateway.url + path, json=body, headers={"authorization": f"Bearer {gateway.key}"}, timeout=120, trust_env=False
    )


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": SAID, "max_tokens": HUGE}),
    "chat, newer": ("/v1/chat/completions", {"messages": SAID, "max_completion_tokens": HUGE}),
    "chat, the engine's": ("/v1/chat/completions", {"messages": SAID, "n_predict": HUGE}),
    "chat, the rest": (
        "/v1/chat/completions",
        {"messages": SAID, "max_tokens": 2**31, "seed": 2**32 - 1, "top_k": HUGE, "repeat_last_n": HUGE},
    ),
    "completion": ("/v1/completions", {"prompt": "<|say_hello|>", "max_tokens": HUGE}),
    "responses": ("/v1/responses", {"input": "hi", "max_output_tokens": HUGE}),
    "ollama": ("/api/chat", {"messages": SAID, "stream": False, "options": {"num_predict": HUGE, "top_k": HUGE}}),
    "anthropic": ("/v1/messages", {"messages": SAID, "max_tokens": HUGE, "top_k": HUGE}),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_limit_beyond_the_engines_numbers_is_no_limit(gateway: Gateway, scripted_model: str, name: str) -> None:
    """It would count 2**32 + 5 tokens as 5, and 2**31 as less than none."""
    path, body = ASKED[name]
    got = post(gateway, path, model=scripted_model, **body)
    assert got.status_code == 200, got.text
    assert HELLO in got.text


def test_the_same_large_seed_is_the_same_answer(gateway: Gateway) -> None:
    """2**32 - 1 is chance to an engine that keeps it in 32 bits."""
    body: dict[str, Any] = {"model": gateway.chat, "max_tokens": 12, "temperature": 1.5, "seed": 2**32 - 1}
    told = {
        post(
            gateway, "/v1/chat/completions", messages=[{"role": "user", "content": "Tell me a story."}], **body
        ).json()["choices"][0]["message"]["content"]
        for _ in range(3)
    }
    assert len(told) == 1


def test_a_streams_first_event_tells_the_size_of_the_prompt(gateway: Gateway) -> None:
    """Cost meters read it there; it is what a whole answer and a count say."""
    asked: Any = {"model": gateway.chat, "messages": [{"role": "user", "content": "How many tokens is this?"}]}
    with anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0, timeout=120) as client:
        for _ in range(2):  # the second time out of the cache
            with client.messages.create(**asked, max_tokens=4, stream=True) as stream:
                events = list(stream)
            (start,) = [event for event in events if event.type == "message_start"]
            (end,) = [event for event in events if event.type == "message_delta"]
            whole = client.messages.create(**asked, max_tokens=4)
            counted = client.messages.count_tokens(**asked)
            sizes = {start.message.usage.input_tokens, whole.usage.input_tokens, counted.input_tokens}
            assert sizes == {end.usage.input_tokens}
            assert events[0] is start
            assert start.message.usage.output_tokens == 0


def test_a_prompt_may_only_be_read(gateway: Gateway) -> None:
    """`max_tokens: 0`, as it is documented: it lies in the cache then, and nothing was said."""
    asked: Any = {"model": gateway.chat, "messages": [{"role": "user", "content": "Once upon a time"}], "max_tokens": 0}
    with anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0, timeout=120) as client:
        got = client.messages.create(**asked)
        assert (got.content, got.stop_reason, got.usage.output_tokens) == ([], "max_tokens", 0)
        assert got.usage.input_tokens > 0
        with client.messages.stream(**asked) as stream:
            final = stream.get_final_message()
    assert (final.content, final.stop_reason, final.usage.input_tokens) == ([], "max_tokens", got.usage.input_tokens)


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("/v1/chat/completions", "max_tokens", {"max_tokens": 0}),
    ("/v1/chat/completions", "stop", {"stop": ""}),
    ("/v1/chat/completions", "stop", {"stop": [""]}),
    ("/v1/chat/completions", "tool_choice", {"tool_choice": "required"}),
    ("/v1/chat/completions", "tool_choice", {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ("/v1/chat/completions", "stream_options", {"stream_options": "x"}),
    ("/v1/chat/completions", "metadata", {"metadata": "x"}),
    ("/v1/chat/completions", "reasoning_effort", {"reasoning_effort": "bogus"}),
    ("/v1/chat/completions", "top_logprobs", {"logprobs": True, "top_logprobs": 25}),
    ("/v1/chat/completions", "temperature", {"temperature": True}),
    ("/v1/responses", "include", {"include": ["bogus"]}),
    ("/v1/responses", "max_tool_calls", {"max_tool_calls": "x"}),
    ("/v1/responses", "temperature", {"temperature": 3}),
    ("/v1/responses", "tool_choice", {"tool_choice": "required"}),
    ("/v1/messages", "temperature", {"temperature": 2}),
    ("/v1/messages", "metadata", {"metadata": 5}),
    ("/v1/messages", "tools", {"tools": [{"name": "f", "input_schema": {"type": "object"}}] * 2}),
    ("/v1/messages", "tools[0].input_schema", {"tools": [{"name": "f"}]}),
    ("/v1/messages", "tool_choice", {"tool_choice": {"type": "any"}}),
]


@pytest.mark.parametrize(("path", "field", "more"), WRONG)
def test_what_would_be_taken_in_silence_is_refused(
    gateway: Gateway, path: str, field: str, more: dict[str, Any]
) -> None:
    """By its name, as the services do."""
    body = {"model": gateway.chat, "max_tokens": 4, "messages": SAID, "input": "hi", **more}
    if path == "/v1/responses":
        body = {name: value for name, value in body.items() if name not in ("messages", "max_tokens")}
    elif path == "/v1/messages":
        del body["input"]
    got = post(gateway, path, **body)
    assert got.status_code == 400, got.text
    assert field in got.json()["error"]["message"]


NO_PICTURE = "aGVsbG8="
SHOWN: list[tuple[str, str, dict[str, Any]]] = [
    ("/v1/chat/completions", "image_url", {"messages": [{"role": "user", "content": [part]}]})
    for part in (
        {"type": "image_url"},
        {"type": "image_url", "image_url": f"data:image/png;base64,{NO_PICTURE}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{NO_PICTURE}"}},
    )
] + [
    (
        "/v1/responses",
        "image_url",
        {
            "input": [
                {
                    "role": "user",
                    "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{NO_PICTURE}"}],
                }
            ]
        },
    ),
    ("/api/chat", "images", {"messages": [{"role": "user", "content": "x", "images": [NO_PICTURE]}]}),
    (
        "/v1/messages",
        "source.data",
        {
            "max_tokens": 4,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": NO_PICTURE},
                        }
                    ],
                }
            ],
        },
    ),
]


@pytest.mark.parametrize(("path", "field", "body"), SHOWN)
def test_a_picture_that_is_none_is_refused_by_its_place(
    gateway: Gateway, path: str, field: str, body: dict[str, Any]
) -> None:
    """In every dialect; an engine fails at it as if the fault were its own."""
    got = post(gateway, path, model=gateway.chat, **body)
    assert got.status_code == 400, got.text
    assert field in got.text


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "zz"]}, "required"),
        (True, "true"),
    ],
)
def test_a_schema_that_the_engine_reads_over_has_no_receipt(
    gateway: Gateway, scripted_model: str, schema: Any, word: str
) -> None:
    """It answers as if nothing had been asked for (E1)."""
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    for stream in (False, True):
        got = post(
            gateway, "/v1/chat/completions", model=scripted_model, messages=SAID, response_format=form, stream=stream
        )
        assert got.status_code == 200, got.text
        assert "x-blazar-structured-output" not in got.headers
        assert f"without {word}" in got.headers["x-blazar-warning"]


def test_a_model_without_thoughts_is_not_asked_for_them(gateway: Gateway, scripted_model: str) -> None:
    """In ollama's words; one that has them answers."""
    got = post(gateway, "/api/chat", model=gateway.chat, messages=SAID, think=True, stream=False)
    assert (got.status_code, got.json()) == (400, {"error": f'"{gateway.chat}" does not support thinking'})
    thought = [{"role": "user", "content": "think"}]
    got = post(gateway, "/api/chat", model=scripted_model, messages=thought, think=True, stream=False)
    assert got.json()["message"]["thinking"]


def test_a_window_that_is_not_served_is_told(gateway: Gateway) -> None:
    """A request for more than the model was trained for gets what there is, and hears of it."""
    options = {"num_ctx": 2**40, "num_predict": 2}
    got = post(gateway, "/api/chat", model=gateway.chat, messages=SAID, options=options, stream=False)
    assert got.status_code == 200, got.text
    assert "options.num_ctx" in got.headers["x-blazar-warning"]


@pytest.mark.parametrize("stream", [False, True])
def test_truncate_drops_the_beginning_of_a_conversation(gateway: Gateway, scripted_model: str, stream: bool) -> None:
    """And says how much; without it such a conversation is refused (B5)."""
    talk: list[dict[str, str]] = []
    for _ in range(40):
        talk += [{"role": "user", "content": "word " * 400}, {"role": "assistant", "content": "yes"}]
    body = {"model": scripted_model, "messages": [*talk, *SAID], "stream": stream, "options": {"num_predict": 8}}
    got = post(gateway, "/api/chat", **body, truncate=True)
    assert got.status_code == 200, got.text
    assert got.headers["x-blazar-warning"].startswith("rewritten; 'messages' lost ")
    lines = [json.loads(line) for line in got.text.splitlines()]
    assert HELLO in "".join(line["message"]["content"] for line in lines)
    for truncate in ({"truncate": False}, {}):
        assert post(gateway, "/api/chat", **body, **truncate).status_code == 400
