"""The stock `openai` package against the gateway."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionToolParam

from tests.contract.live.conftest import TRACE, Gateway

ADD: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "add two numbers",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
}


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def test_chat_answers_with_text_and_usage(client: openai.OpenAI, gateway: Gateway) -> None:
    """A plain chat gives text, a finish reason, honest usage and the name that was asked for."""
    got = client.chat.completions.create(
        model=gateway.chat, messages=[{"role": "user", "content": "Say hello."}], max_tokens=12, temperature=0
    )
    assert got.choices[0].message.content
    assert got.choices[0].finish_reason in ("stop", "length")
    assert got.usage is not None
    assert got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens > 0
    assert got.model == gateway.chat


def test_a_stream_has_the_shape_the_sdk_expects(client: openai.OpenAI, gateway: Gateway) -> None:
    """Text comes in pieces, the last chunk finishes, no usage unless it was asked for (A7)."""
    chunks = list(
        client.chat.completions.create(
            model=gateway.chat, messages=[{"role": "user", "content": "Count to three."}], max_tokens=16, stream=True
        )
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks)
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")
    assert all(not c.usage for c in chunks)
    assert all(c.choices for c in chunks)


@pytest.mark.parametrize("tools", [False, True])
def test_a_stream_has_openais_own_shape(client: openai.OpenAI, scripted_model: str, tools: bool) -> None:
    """The role first and once, nothing empty, the finish alone in its chunk, one `created`; `length` stays beside a call (A6)."""
    numbers = {name: {"type": "integer"} for name in ("first", "second", "third")}
    schema = {"type": "object", "properties": numbers, "required": list(numbers)}
    tool: Any = {"type": "function", "function": {"name": "add", "parameters": schema}}
    more: Any = {"tools": [tool], "tool_choice": "required", "max_tokens": 40} if tools else {"max_tokens": 4}
    chunks = list(
        client.chat.completions.create(
            model=scripted_model,
            messages=[{"role": "user", "content": "hi"}],
            stream=True,
            stream_options={"include_usage": True},
            **more,
        )
    )
    *said, last = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert [bool(choice.delta.role) for choice in said] == [True] + [False] * (len(said) - 1)
    assert all(choice.delta.content or choice.delta.tool_calls for choice in said[1:])
    assert {choice.finish_reason for choice in said} == {None}
    assert (last.delta.model_dump(exclude_none=True), last.finish_reason) == ({}, "length")
    assert any(choice.delta.tool_calls for choice in said) is tools
    assert (chunks[-1].choices, chunks[-1].usage is not None) == ([], True)
    assert len({chunk.created for chunk in chunks}) == 1


def test_streamed_usage_comes_once_when_asked_for(client: openai.OpenAI, gateway: Gateway) -> None:
    """`include_usage` adds exactly one trailing chunk without choices."""
    chunks = list(
        client.chat.completions.create(
            model=gateway.chat,
            messages=[{"role": "user", "content": "Hi."}],
            max_tokens=4,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert [bool(c.usage) for c in chunks].count(True) == 1
    assert chunks[-1].usage is not None
    assert chunks[-1].choices == []


def test_tools_that_nobody_may_call_are_accepted(client: openai.OpenAI, gateway: Gateway) -> None:
    """A model whose template knows no tools answers a request that declares some and forbids them."""
    got = client.chat.completions.create(
        model=gateway.chat,
        messages=[{"role": "user", "content": "What is 1+1?"}],
        tools=[ADD],
        tool_choice="none",
        max_tokens=8,
    )
    assert got.choices[0].finish_reason in ("stop", "length")


def test_a_tool_call_arrives_whole(client: openai.OpenAI, scripted_model: str) -> None:
    """The scripted model calls the declared tool with the smallest arguments its schema allows."""
    got = client.chat.completions.create(
        model=scripted_model, messages=[{"role": "user", "content": "add"}], tools=[ADD], max_tokens=80
    )
    calls = got.choices[0].message.tool_calls
    assert got.choices[0].finish_reason == "tool_calls"
    assert calls is not None
    assert calls[0].type == "function"
    assert calls[0].function.name == "add"


def test_streamed_tool_calls_carry_an_index(client: openai.OpenAI, scripted_model: str) -> None:
    """Every streamed fragment has its index from 0 on (A1)."""
    fragments = [
        call
        for chunk in client.chat.completions.create(
            model=scripted_model, messages=[{"role": "user", "content": "add"}], tools=[ADD], max_tokens=80, stream=True
        )
        for call in chunk.choices[0].delta.tool_calls or []
    ]
    assert fragments
    assert {f.index for f in fragments} == {0}
    assert "".join(f.function.arguments or "" for f in fragments if f.function).startswith("{")


def test_a_schema_is_enforced(client: openai.OpenAI, scripted_model: str) -> None:
    """`response_format` with a JSON schema gives JSON of that schema."""
    import json

    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    got = client.chat.completions.create(
        model=scripted_model,
        messages=[{"role": "user", "content": "n"}],
        max_tokens=40,
        response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
    )
    assert isinstance(json.loads(got.choices[0].message.content or "")["n"], int)


def test_completions_answer(client: openai.OpenAI, gateway: Gateway) -> None:
    """The legacy completions route works with a string prompt."""
    got = client.completions.create(model=gateway.chat, prompt="Once upon", max_tokens=4)
    assert got.choices[0].text
    assert got.model == gateway.chat


def test_embeddings_answer_in_both_encodings(client: openai.OpenAI, gateway: Gateway) -> None:
    """The SDK asks for base64 by default (M1); floats on request are the same vector, one per input (M3)."""
    packed = client.embeddings.create(model=gateway.embed, input=["a cat", "a dog"])
    plain = client.embeddings.create(model=gateway.embed, input=["a cat", "a dog"], encoding_format="float")
    assert [row.index for row in plain.data] == [0, 1]
    assert packed.data[1].embedding == pytest.approx(plain.data[1].embedding, abs=1e-6)


def test_the_listing_and_one_model(client: openai.OpenAI, gateway: Gateway) -> None:
    """The listed names can be asked for one by one."""
    names = [model.id for model in client.models.list()]
    assert gateway.chat in names
    assert client.models.retrieve(gateway.chat).id == gateway.chat


def test_an_unknown_model_is_a_404_with_near_matches(client: openai.OpenAI, gateway: Gateway) -> None:
    """The SDK raises its NotFoundError and the sentence names what may have been meant (A23)."""
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model=gateway.chat + "x", messages=[{"role": "user", "content": "x"}])
    assert gateway.chat in caught.value.message
    assert TRACE.fullmatch(caught.value.request_id or "")


def test_chat_with_an_embedding_model_is_taught(client: openai.OpenAI, gateway: Gateway) -> None:
    """A wrong task is a 400 that says what to do, not an engine error (D38)."""
    with pytest.raises(openai.BadRequestError, match="embedding model"):
        client.chat.completions.create(model=gateway.embed, messages=[{"role": "user", "content": "x"}])


def test_null_fields_mean_absent(client: openai.OpenAI, gateway: Gateway) -> None:
    """Explicit nulls do not reach the engine (A13)."""
    nothing = {"seed": None, "stop": None, "tools": None, "response_format": None, "stream_options": None}
    got = client.chat.completions.create(
        model=gateway.chat, messages=[{"role": "user", "content": "Hi"}], max_tokens=2, extra_body=nothing
    )
    assert got.choices


def test_a_suffix_fills_the_gap(client: openai.OpenAI, scripted_model: str) -> None:
    """Infill through the completions route, in one piece and streamed, as the stock client reads it."""
    ask = {"model": scripted_model, "prompt": "def f():\n    ", "suffix": "\n", "max_tokens": 9}
    got = client.completions.create(**ask)
    assert got.choices[0].text == "return 42"
    assert got.choices[0].finish_reason == "stop"
    assert got.usage is not None
    assert got.usage.completion_tokens == 3
    chunks = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == "return 42"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 3


def test_what_a_completion_cannot_have_is_named(client: openai.OpenAI, gateway: Gateway) -> None:
    """Refused, not passed over: the SDK shows the field."""
    asks = {"logprobs": {"echo": True, "logprobs": 1}, "best_of": {"best_of": 3}, "n": {"n": 200}}
    if gateway.scripted:
        asks["suffix"] = {"suffix": "x"}  # the chat model of the suite has no infill tokens
    for field, more in asks.items():
        with pytest.raises(openai.BadRequestError) as refused:
            client.completions.create(model=gateway.chat, prompt="a", max_tokens=2, **more)
        assert refused.value.param == field


def test_the_receipt_of_a_constraint(client: openai.OpenAI, scripted_model: str) -> None:
    """A header says which constraint was active; without one there is none (D19)."""
    asks: dict[str, dict[str, Any]] = {
        "json_object": {"response_format": {"type": "json_object"}},
        "json_schema": {"extra_body": {"json_schema": {"type": "boolean"}}},
        "gbnf": {"extra_body": {"grammar": 'root ::= "a"'}},
        "": {},
    }
    for receipt, more in asks.items():
        got = client.chat.completions.with_raw_response.create(
            model=scripted_model, messages=[{"role": "user", "content": "n"}], max_tokens=40, **more
        )
        assert got.headers.get("x-blazar-structured-output", "") == receipt


def test_a_schema_beside_tools_leaves_the_tools_alone(client: openai.OpenAI, scripted_model: str) -> None:
    """The tool is called, and the header says what was left out (E9)."""
    got = client.chat.completions.with_raw_response.create(
        model=scripted_model,
        messages=[{"role": "user", "content": "add"}],
        tools=[ADD],
        max_tokens=80,
        response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    )
    assert got.parse().choices[0].message.tool_calls
    assert "response_format" in got.headers["x-blazar-warning"]
