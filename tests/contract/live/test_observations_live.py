"""What a real engine's answers are observed for, what enforcement refuses, and which questions mean the same to a real embedding model."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.contract.live.conftest import Gateway

ON = {"x-blazar-enforce": "on"}
CITY = {"type": "string", "not": {"const": "Paris"}}
WEATHER = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": CITY}, "required": ["city"]}}
"""No grammar can say what a city is not: the engine calls it with Paris all the same."""


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def asked(text: str) -> Any:
    return [{"role": "user", "content": text}]


def counted(gateway: Gateway, series: str) -> float:
    request = urllib.request.Request(f"{gateway.url}/metrics", headers={"authorization": f"Bearer {gateway.key}"})
    with urllib.request.urlopen(request, timeout=30) as got:
        lines = got.read().decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(series)), 0.0)


def test_a_call_that_breaks_its_schema_is_refused(client: openai.OpenAI, scripted_model: str) -> None:
    """The SDK raises its own error for 422 and does not ask again; without enforcement the answer comes as the engine gave it."""
    body: Any = {"model": scripted_model, "messages": asked("call twice"), "max_tokens": 200}
    body["tools"] = [{"type": "function", "function": WEATHER}]
    plain = client.chat.completions.create(**body)
    calls = plain.choices[0].message.tool_calls
    assert calls is not None
    assert next(call.function.arguments for call in calls if call.type == "function") == '{"city": "Paris"}'
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.chat.completions.create(**body, extra_headers=ON)
    told = (
        "sentinel enforce: [tool_arg_schema] the arguments of call 1 break the tool's schema (not at properties/city)"
    )
    assert told in str(refused.value)


def test_each_dialect_is_refused_in_its_own_words(gateway: Gateway, scripted_model: str) -> None:
    """Half a JSON, because the caller's own limit cut it: of no use to anybody (E1)."""
    made = anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0, timeout=120)
    schema = {"type": "object", "properties": {"long": {"type": "string", "minLength": 200}}, "required": ["long"]}
    with made, pytest.raises(anthropic.UnprocessableEntityError, match="sentinel enforce") as told:
        made.messages.create(
            model=scripted_model,
            max_tokens=5,
            messages=asked("hi"),
            extra_headers=ON,
            extra_body={"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        )
    assert "[json_schema] the answer breaks its schema (no JSON)" in str(told.value)
    headers = {**ON, "authorization": f"Bearer {gateway.key}"}
    other = ollama.Client(host=gateway.url, headers=headers, timeout=120, trust_env=False)
    with other, pytest.raises(ollama.ResponseError, match="sentinel enforce") as said:
        other.chat(model=scripted_model, messages=asked("hi"), format=schema, options={"num_predict": 5})
    assert said.value.status_code == 422


def test_what_is_observed_is_counted_and_told(client: openai.OpenAI, gateway: Gateway, scripted_model: str) -> None:
    """A cut answer, streamed and whole: the same code in the metrics and in the request's story; no byte is another."""
    series = 'blazar_sentinel_observations_total{code="truncation"}'
    before = counted(gateway, series)
    body: Any = {"model": scripted_model, "messages": asked("long"), "max_tokens": 6}
    whole = client.chat.completions.with_raw_response.create(**body)
    text = whole.parse().choices[0].message.content
    chunks = list(client.chat.completions.create(**body, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == text
    assert counted(gateway, series) == before + 2
    trace = whole.headers["x-blazar-trace-id"]
    request = urllib.request.Request(
        f"{gateway.url}/api/why?trace={trace}", headers={"authorization": f"Bearer {gateway.key}"}
    )
    with urllib.request.urlopen(request, timeout=30) as got:
        story = json.loads(got.read())["requests"][0]
    assert [note["code"] for note in story["notes"] if note["what"] == "sentinel"] == ["truncation"]


@pytest.fixture
def embedding(client: openai.OpenAI, gateway: Gateway, scripted_model: str) -> Gateway:
    """A gateway whose embedding model serves: the cache loads none. What the scripted model says is never cut."""
    del scripted_model
    client.embeddings.create(model=gateway.embed, input="x")
    return gateway


def cached(client: openai.OpenAI, gateway: Gateway, text: str, **more: Any) -> tuple[str | None, bytes]:
    got = client.chat.completions.with_raw_response.create(
        model=gateway.scripted,
        messages=asked(text),
        max_tokens=40,
        extra_headers={"x-blazar-cache": "on"},
        **more,
    )
    return got.headers.get("x-blazar-cache"), got.content


def test_a_question_that_means_the_same_is_answered_again(client: openai.OpenAI, embedding: Gateway) -> None:
    """By a real model's vectors at the default threshold: the same words and a paraphrase, not another subject nor another number."""
    first, body = cached(client, embedding, "What is the capital city of France?")
    assert first == "miss"
    assert cached(client, embedding, "What is the capital city of France?") == ("hit", body)
    assert cached(client, embedding, "What's the capital city of France?") == ("hit", body)
    assert cached(client, embedding, "How do I bake bread at home?")[0] == "miss"
    assert cached(client, embedding, "Tell me about the year 1984")[0] == "miss"
    assert cached(client, embedding, "Tell me about the year 1985")[0] == "miss"


def test_what_is_around_the_question_counts(client: openai.OpenAI, embedding: Gateway) -> None:
    """Other sampling is another request; streams and forms pass by both ways (O13)."""
    text = "Which animals live in the sea?"
    assert cached(client, embedding, text)[0] == "miss"
    assert cached(client, embedding, text, presence_penalty=0.5)[0] == "miss"
    assert cached(client, embedding, text, response_format={"type": "json_object"})[0] is None
    assert cached(client, embedding, text, seed=1)[0] is None
    with client.chat.completions.with_streaming_response.create(
        model=embedding.scripted,
        messages=asked(text),
        max_tokens=4,
        stream=True,
        extra_headers={"x-blazar-cache": "on"},
    ) as stream:
        assert "x-blazar-cache" not in stream.headers
        stream.read()
    assert cached(client, embedding, text)[0] == "hit"
