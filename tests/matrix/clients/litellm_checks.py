"""The PyPI package `litellm` through the four of its providers that reach a gateway: both ollama ones, OpenAI and Anthropic.

It brings half a hundred packages, so it is heavy: `make clients` has an environment of its own for it.
"""

import asyncio
import json
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.matrix.raising import raised
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT, TICK, TOCK

LITELLM = Client("litellm", needs=("module:litellm",), heavy=True)

CHAT = "/v1/chat/completions"
LANES = {
    "openai": CHAT,
    "ollama_chat": "/api/chat",
    "ollama": "/api/generate",
    "anthropic": "/v1/messages",
}
"""litellm's providers, and the route each one posts to."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
AS_PERSON = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}}


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def library() -> Any:
    """The package as it comes, but asking nobody: prices from the package, no reports, no advice on the terminal."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def reach(target: Target, lane: str, role: str = "scripted") -> dict[str, Any]:
    """The arguments that send a call through this provider to the gateway; the first answer counts."""
    base = target.v1 if lane == "openai" else target.url
    names = {"model": f"{lane}/{target.model(role)}", "api_base": base, "api_key": target.key}
    return {**names, "num_retries": 0, "max_retries": 0, "max_tokens": 64}


def ask(target: Target, lane: str, text: str = "hi", **more: Any) -> Any:
    return library().completion(**{**reach(target, lane), "messages": said(text), **more})


def pieces(target: Target, lane: str, text: str = "hi", **more: Any) -> list[Any]:
    wanted = {"stream": True, "stream_options": {"include_usage": True}, **more}
    return list(ask(target, lane, text, **wanted))


def deltas(chunks: list[Any]) -> list[Any]:
    return [chunk.choices[0].delta for chunk in chunks if chunk.choices]


def thinking(lane: str) -> dict[str, Any]:
    """What asks for thought to be shown: in the Anthropic dialect it stays hidden otherwise."""
    if lane != "anthropic":
        return {}
    asked = {"type": "enabled", "budget_tokens": 1024}
    return {"thinking": asked, "max_tokens": 2048, "allowed_openai_params": ["thinking"]}


def text_and_usage(target: Target, lane: str) -> None:
    got = ask(target, lane)
    assert got.choices[0].message.content == HELLO
    assert got.choices[0].finish_reason == "stop"
    assert got.usage.completion_tokens == HELLO_TOKENS
    assert got.usage.total_tokens == got.usage.prompt_tokens + HELLO_TOKENS


def a_stream_comes_in_pieces(target: Target, lane: str) -> None:
    chunks = pieces(target, lane)
    texts = [delta.content for delta in deltas(chunks) if delta.content]
    assert len(texts) > 2
    assert "".join(texts) == HELLO
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    usage = next(chunk.usage for chunk in reversed(chunks) if getattr(chunk, "usage", None))
    assert usage.completion_tokens == HELLO_TOKENS


def an_async_answer_and_stream(target: Target, lane: str) -> None:
    async def both() -> tuple[str, str]:
        litellm = library()
        words = {**reach(target, lane), "messages": said("hi")}
        whole = await litellm.acompletion(**words)
        streamed = [chunk async for chunk in await litellm.acompletion(**words, stream=True)]
        await litellm.close_litellm_async_clients()
        return whole.choices[0].message.content, "".join(delta.content or "" for delta in deltas(streamed))

    assert asyncio.run(both()) == (HELLO, HELLO)


def max_tokens_ends_with_length(target: Target, lane: str) -> None:
    got = ask(target, lane, "long", max_tokens=4)
    assert got.choices[0].message.content.rstrip() == ((TICK + TOCK) * 2).rstrip()
    assert got.usage.completion_tokens == 4
    if lane != "ollama":  # for /api/generate litellm writes "stop" whatever done_reason said
        assert got.choices[0].finish_reason == "length"


def a_stop_word_ends_the_text(target: Target, lane: str) -> None:
    got = ask(target, lane, stop=["scripted"])
    assert got.choices[0].message.content.rstrip() == "Hello from the"
    assert got.choices[0].finish_reason == "stop"


def a_schema_holds(target: Target, lane: str) -> None:
    got = ask(target, lane, response_format=AS_PERSON, max_tokens=256)
    assert json.loads(got.choices[0].message.content) == {"name": "", "age": 1}


def an_unknown_model_is_not_found(target: Target, lane: str) -> None:
    litellm = library()
    error = raised(litellm.NotFoundError, lambda: ask(target, lane, model=f"{lane}/nosuch"))
    assert error.status_code == 404
    assert "model 'nosuch' not found" in str(error)


def a_tool_loop(target: Target, lane: str) -> None:
    """A call with arguments, its result, then text."""
    first = ask(target, lane, tools=[WEATHER], max_tokens=256).choices[0]
    (call,) = first.message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": ""})
    assert first.finish_reason == "tool_calls"
    result = {"role": "tool", "tool_call_id": call.id, "name": "weather", "content": '{"sky": "clear"}'}
    history = [*said("hi"), first.message.model_dump(exclude_none=True), result]
    last = ask(target, lane, messages=history, tools=[WEATHER], max_tokens=256).choices[0]
    assert last.message.content == HELLO
    assert not last.message.tool_calls


def a_streamed_tool_call_is_put_together(target: Target, lane: str) -> None:
    chunks = pieces(target, lane, tools=[WEATHER], max_tokens=256)
    whole = library().stream_chunk_builder(chunks, messages=said("hi")).choices[0]
    (call,) = whole.message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": ""})
    assert call.id
    assert whole.finish_reason == "tool_calls"


def two_calls_of_one_turn_are_both_answered(target: Target, lane: str) -> None:
    tools = [{"type": "function", "function": {**WEATHER["function"], "name": "get_weather"}}]  # type: ignore[dict-item]
    played = {**reach(target, lane, "played"), "tools": tools, "max_tokens": 256}
    question = said("play tool_parallel")
    asked = library().completion(**played, messages=question).choices[0].message
    assert [json.loads(call.function.arguments)["city"] for call in asked.tool_calls] == ["Paris", "Rome"]
    results = [{"role": "tool", "tool_call_id": call.id, "content": "clear"} for call in asked.tool_calls]
    history = [*question, asked.model_dump(exclude_none=True), *results]
    assert library().completion(**played, messages=history).choices[0].message.content == HELLO


def an_engine_that_fails_in_the_middle_is_told(target: Target, lane: str) -> None:
    """The stream raises; what it raises differs by provider, but it is always one of the errors of the OpenAI client."""
    import openai

    played = {**reach(target, lane, "played"), "messages": said("play error"), "stream": True}
    assert "output" in str(raised(openai.APIError, lambda: list(library().completion(**played))))


def thought_comes_apart_from_text(target: Target, lane: str) -> None:
    message = ask(target, lane, "think", **thinking(lane)).choices[0].message
    assert message.content.strip() == CONCLUSION
    assert message.reasoning_content.strip() == THOUGHT.strip()


def streamed_thought_comes_before_text(target: Target, lane: str) -> None:
    kinds, thought, text = [], "", ""
    for delta in deltas(pieces(target, lane, "think", **thinking(lane))):
        reasoning = getattr(delta, "reasoning_content", None) or ""
        kinds += ["thought"] * bool(reasoning) + ["text"] * bool(delta.content)
        thought, text = thought + reasoning, text + (delta.content or "")
    assert (thought.strip(), text.strip()) == (THOUGHT.strip(), CONCLUSION)
    assert kinds == sorted(kinds, reverse=True)


Drive = Callable[[Target, str], None]
EVERYWHERE: tuple[tuple[Drive, dict[str, Any]], ...] = (
    (text_and_usage, {}),
    (a_stream_comes_in_pieces, {"stream": True}),
    (max_tokens_ends_with_length, {}),
    (a_stop_word_ends_the_text, {}),
    (a_schema_holds, {"schema": True}),
    (an_unknown_model_is_not_found, {"error": "NotFoundError"}),
    (thought_comes_apart_from_text, {}),
    (streamed_thought_comes_before_text, {"stream": True}),
    (an_async_answer_and_stream, {"stream": True}),
)
WITH_TOOLS: tuple[tuple[Drive, dict[str, Any]], ...] = (
    (a_tool_loop, {"tools": True}),
    (a_streamed_tool_call_is_put_together, {"stream": True, "tools": True}),
    (two_calls_of_one_turn_are_both_answered, {"tools": True}),
    (an_engine_that_fails_in_the_middle_is_told, {"stream": True, "error": "APIError"}),
)

for lane, route in LANES.items():
    # litellm's provider `ollama` asks for tools in words within the prompt; there is no call on the wire to check
    for drive, facets in EVERYWHERE + (WITH_TOOLS if lane != "ollama" else ()):
        LITELLM.add(
            f"{lane}_{drive.__name__}",
            route,
            partial(lambda drive, lane, target: drive(target, lane), drive, lane),
            **facets,
        )


@LITELLM.check(CHAT, tools=True)
def openai_a_forced_tool_is_called(target: Target) -> None:
    other = {"type": "function", "function": {**WEATHER["function"], "name": "clock"}}  # type: ignore[dict-item]
    forced = {"type": "function", "function": {"name": "clock"}}
    (call,) = (
        ask(target, "openai", tools=[WEATHER, other], tool_choice=forced, max_tokens=256).choices[0].message.tool_calls
    )
    assert call.function.name == "clock"


@LITELLM.check(CHAT)
def openai_several_answers_to_one_prompt(target: Target) -> None:
    got = ask(target, "openai", n=2)
    assert [(one.index, one.message.content) for one in got.choices] == [(0, HELLO), (1, HELLO)]


@LITELLM.check(CHAT)
def openai_log_probabilities(target: Target) -> None:
    got = ask(target, "openai", logprobs=True, top_logprobs=2)
    told = got.choices[0].logprobs.content
    assert "".join(one.token for one in told).startswith("Hello")
    assert all(len(one.top_logprobs) == 2 for one in told)


@LITELLM.check(CHAT, schema=True)
def openai_a_pydantic_class_is_filled(target: Target) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    got = ask(target, "openai", response_format=Person)
    assert Person.model_validate_json(got.choices[0].message.content) == Person(name="", age=1)


@LITELLM.check(CHAT, schema=True)
def openai_json_mode_gives_an_object(target: Target) -> None:
    got = ask(target, "openai", "Answer in JSON.", response_format={"type": "json_object"})
    assert isinstance(json.loads(got.choices[0].message.content), dict)


@LITELLM.check(CHAT)
def openai_a_batch_of_chats(target: Target) -> None:
    words = {**reach(target, "openai"), "messages": [said("hi"), said("think")]}
    got = library().batch_completion(**words)
    assert [one.choices[0].message.content for one in got] == [HELLO, CONCLUSION]


@LITELLM.check(CHAT)
def openai_a_router_takes_the_group_to_the_gateway(target: Target) -> None:
    params = reach(target, "openai")
    router = library().Router(model_list=[{"model_name": "group", "litellm_params": params}], num_retries=0)
    assert router.completion("group", said("hi")).choices[0].message.content == HELLO


@LITELLM.check(CHAT, error="BadRequestError")
def openai_a_bad_request_tells_what_is_wrong(target: Target) -> None:
    litellm = library()
    error = raised(
        litellm.BadRequestError,
        lambda: ask(target, "openai", messages=[{"role": "user", "content": "hi"}], temperature="warm"),
    )
    assert error.status_code == 400
    assert "temperature" in str(error)


@LITELLM.check(CHAT, error="BadRequestError")
def openai_a_chat_with_an_embedding_model_is_refused(target: Target) -> None:
    litellm = library()
    error = raised(litellm.BadRequestError, lambda: ask(target, "openai", model=f"openai/{target.model('embed')}"))
    assert "/v1/embeddings" in str(error)


@LITELLM.check("/v1/completions")
def text_completion_goes_on_with_the_prompt(target: Target) -> None:
    words = {
        **reach(target, "openai", "chat"),
        "model": f"text-completion-openai/{target.model('chat')}",
        "max_tokens": 4,
    }
    got = library().text_completion(**words, prompt="Once upon a")
    assert got.object == "text_completion"
    assert got.choices[0].text
    assert 0 < got.usage.completion_tokens <= 4


@LITELLM.check("/v1/completions", stream=True)
def text_completion_streams(target: Target) -> None:
    words = {
        **reach(target, "openai", "chat"),
        "model": f"text-completion-openai/{target.model('chat')}",
        "max_tokens": 4,
    }
    got = list(library().text_completion(**words, prompt="Once upon a", stream=True, temperature=0))
    assert "".join(chunk.choices[0].text or "" for chunk in got if chunk.choices)


@LITELLM.check("/v1/embeddings")
def openai_embeddings_in_order(target: Target) -> None:
    words = {"model": f"openai/{target.model('embed')}", "api_base": target.v1, "api_key": target.key}
    got = library().embedding(**words, input=["a cat", "a kitten", "a tax form"], encoding_format="float")
    assert [one["index"] for one in got.data] == [0, 1, 2]
    cat, kitten, form = (one["embedding"] for one in got.data)
    assert _cosine(cat, kitten) > _cosine(cat, form)
    assert got.usage.prompt_tokens > 0


@LITELLM.check("/api/embed")
def ollama_embeddings_equal_those_of_openai(target: Target) -> None:
    name, litellm = target.model("embed"), library()
    by_ollama = litellm.embedding(model=f"ollama/{name}", api_base=target.url, input=["a cat"]).data[0]["embedding"]
    words = {"model": f"openai/{name}", "api_base": target.v1, "api_key": target.key, "encoding_format": "float"}
    by_openai = litellm.embedding(**words, input=["a cat"]).data[0]["embedding"]
    assert max(abs(one - other) for one, other in zip(by_ollama, by_openai, strict=True)) < 1e-5


@LITELLM.check("/v1/embeddings", error="BadRequestError")
def embeddings_of_a_chat_model_are_refused(target: Target) -> None:
    litellm = library()
    words = {"model": f"openai/{target.model('chat')}", "api_base": target.v1, "api_key": target.key}
    error = raised(litellm.BadRequestError, lambda: litellm.embedding(**words, input=["a"], max_retries=0))
    assert error.status_code == 400
    assert target.model("chat") in str(error)


@LITELLM.check("/v1/rerank")
def rerank_gives_the_best_first(target: Target) -> None:
    for provider, base in (("hosted_vllm", target.v1), ("jina_ai", f"{target.v1}/rerank")):
        words = {"model": f"{provider}/{target.model('rank')}", "api_base": base, "api_key": target.key}
        got = library().rerank(**words, query="q", documents=["one", "two", "three"], top_n=2)
        assert len(got.results) == 2
        scores = [one["relevance_score"] for one in got.results]
        assert scores == sorted(scores, reverse=True)
        assert {one["index"] for one in got.results} <= {0, 1, 2}


@LITELLM.check("/v1/responses")
def a_response_and_the_one_after_it(target: Target) -> None:
    words = {"model": f"openai/{target.model('scripted')}", "api_base": target.v1, "api_key": target.key}
    first = library().responses(**words, input="hi")
    assert first.output[0].content[0].text == HELLO
    second = library().responses(**words, input="think", previous_response_id=first.id)
    assert CONCLUSION in "".join(one.content[0].text for one in second.output if one.type == "message")
    assert second.usage.input_tokens > first.usage.input_tokens


@LITELLM.check("/v1/responses", stream=True)
def a_response_streams_typed_events(target: Target) -> None:
    words = {"model": f"openai/{target.model('scripted')}", "api_base": target.v1, "api_key": target.key}
    events = list(library().responses(**words, input="hi", stream=True))
    kinds = [str(event.type.value) for event in events]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == HELLO


@LITELLM.check("/v1/responses", tools=True)
def a_response_calls_a_function(target: Target) -> None:
    words = {"model": f"openai/{target.model('scripted')}", "api_base": target.v1, "api_key": target.key}
    tool = {"type": "function", **WEATHER["function"]}  # type: ignore[dict-item]
    (call,) = [
        one for one in library().responses(**words, input="hi", tools=[tool]).output if one.type == "function_call"
    ]
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": ""})


@LITELLM.check("/v1/messages")
def anthropic_messages_pass_through(target: Target) -> None:
    words = {"model": f"anthropic/{target.model('scripted')}", "api_base": target.url, "api_key": target.key}

    async def create() -> Any:
        litellm = library()
        got = await litellm.anthropic.messages.acreate(**words, messages=said("hi"), max_tokens=32)
        await litellm.close_litellm_async_clients()
        return got

    got = asyncio.run(create())
    assert got["content"][0]["text"] == HELLO
    assert (got["stop_reason"], got["usage"]["output_tokens"]) == ("end_turn", HELLO_TOKENS)


@LITELLM.check(CHAT)
def openai_cached_tokens_are_part_of_the_prompt(target: Target) -> None:
    system = {"role": "system", "content": "Answer briefly. " * 20}
    first, again = (ask(target, "openai", messages=[system, *said("hi")]).usage for _ in range(2))
    assert first.prompt_tokens == again.prompt_tokens
    assert 0 < again.prompt_tokens_details.cached_tokens < again.prompt_tokens


@LITELLM.check(CHAT)
def usage_is_the_same_through_every_lane_that_chats(target: Target) -> None:
    counted = {lane: ask(target, lane, "usage").usage for lane in ("openai", "ollama_chat", "anthropic")}
    assert len({(one.prompt_tokens, one.completion_tokens) for one in counted.values()}) == 1, counted


def _cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5
