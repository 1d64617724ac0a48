"""The PyPI package `langchain-openai`: chat over both of its APIs, forms, tools, vectors."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.matrix.raising import raised
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT, TICK, TOCK

LANGCHAIN = Client("langchain-openai", needs=("module:langchain_openai",))

CHAT = "/v1/chat/completions"
PERSON = {
    "title": "person",
    "description": "A person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def weather(city: str) -> str:
    """The weather of a city."""
    return f"clear over {city}"


def get_weather(city: str) -> str:
    """The tool of the recorded turn with two calls."""
    return weather(city)


def clock(zone: str) -> str:
    """The time in a zone."""
    return f"noon in {zone}"


@contextmanager
def connection(target: Target) -> Iterator[dict[str, Any]]:
    """What every class of the package is told; the first answer counts, the connections are closed."""
    os.environ["LANGSMITH_TRACING"] = "false"
    import httpx

    with httpx.Client(timeout=120) as http:
        yield {"base_url": target.v1, "api_key": target.key, "max_retries": 0, "http_client": http}


@contextmanager
def chat(target: Target, role: str = "scripted", **more: Any) -> Iterator[Any]:
    from langchain_openai import ChatOpenAI

    with connection(target) as words:
        yield ChatOpenAI(**{**words, "model": target.model(role), "max_tokens": 256, **more})


@contextmanager
def vectors(target: Target, **more: Any) -> Iterator[Any]:
    from langchain_openai import OpenAIEmbeddings

    with connection(target) as words:  # counting tokens beforehand would load a tokenizer from the net
        yield OpenAIEmbeddings(
            **words, model=more.pop("model", target.model("embed")), check_embedding_ctx_length=False, **more
        )


def summed(chunks: Any) -> Any:
    """The message that the pieces of a stream add up to, as the package adds them."""
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


@LANGCHAIN.check(CHAT)
def a_message_has_text_usage_and_its_end(target: Target) -> None:
    with chat(target) as model:
        got = model.invoke("hi")
    assert got.content == HELLO
    assert got.usage_metadata["output_tokens"] == HELLO_TOKENS
    assert got.usage_metadata["total_tokens"] == got.usage_metadata["input_tokens"] + HELLO_TOKENS
    assert got.response_metadata["finish_reason"] == "stop"
    assert got.response_metadata["model_name"] == target.model("scripted")


@LANGCHAIN.check(CHAT)
def a_real_model_answers_a_prompt_template(target: Target) -> None:
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    prompt = ChatPromptTemplate.from_messages([("system", "You are {mood}."), ("human", "{question}")])
    with chat(target, "chat", max_tokens=8, temperature=0, seed=1) as model:
        got = (prompt | model | StrOutputParser()).invoke({"mood": "brief", "question": "Say hello."})
    assert isinstance(got, str)
    assert got.strip()


@LANGCHAIN.check(CHAT, stream=True)
def pieces_add_up_to_the_message(target: Target) -> None:
    with chat(target, stream_usage=True) as model:
        chunks = list(model.stream("hi"))
        whole = model.invoke("hi")
    assert len([chunk for chunk in chunks if chunk.content]) > 2
    got = summed(chunks)
    assert (got.content, got.response_metadata["finish_reason"]) == (HELLO, "stop")
    for count in ("input_tokens", "output_tokens", "total_tokens"):
        assert got.usage_metadata[count] == whole.usage_metadata[count]


@LANGCHAIN.check(CHAT, stream=True)
def an_async_stream_and_answer(target: Target) -> None:
    from langchain_openai import ChatOpenAI

    async def both() -> tuple[str, str]:
        import httpx

        async with httpx.AsyncClient(timeout=120) as http:
            words = {"base_url": target.v1, "api_key": target.key, "max_retries": 0, "http_async_client": http}
            model = ChatOpenAI(**words, model=target.model("scripted"))
            streamed = [chunk.content async for chunk in model.astream("hi")]
            return "".join(streamed), (await model.ainvoke("think")).content

    assert asyncio.run(both()) == (HELLO, CONCLUSION)


@LANGCHAIN.check(CHAT)
def a_batch_is_answered_in_order(target: Target) -> None:
    with chat(target) as model:
        got = model.batch(["hi", "think", "hi"], config={"max_concurrency": 3})
    assert [one.content for one in got] == [HELLO, CONCLUSION, HELLO]


@LANGCHAIN.check(CHAT)
def max_tokens_ends_with_length(target: Target) -> None:
    with chat(target, max_tokens=4) as model:
        got = model.invoke("long")
    assert got.content.rstrip() == ((TICK + TOCK) * 2).rstrip()
    assert got.response_metadata["finish_reason"] == "length"


@LANGCHAIN.check(CHAT)
def a_stop_word_ends_the_text(target: Target) -> None:
    with chat(target) as model:
        assert model.invoke("hi", stop=[" scripted"]).content == "Hello from the"


@LANGCHAIN.check(CHAT)
def several_generations_of_one_prompt(target: Target) -> None:
    from langchain_core.messages import HumanMessage

    with chat(target, n=2) as model:
        (got,) = model.generate([[HumanMessage("hi")]]).generations
    assert [one.text for one in got] == [HELLO, HELLO]


@LANGCHAIN.check(CHAT)
def log_probabilities_come_with_the_message(target: Target) -> None:
    with chat(target, logprobs=True, top_logprobs=2) as model:
        told = model.invoke("hi").response_metadata["logprobs"]["content"]
    assert "".join(one["token"] for one in told).startswith("Hello")
    assert all(len(one["top_logprobs"]) == 2 for one in told)


@LANGCHAIN.check(CHAT, tools=True)
def a_tool_loop_ends_in_text(target: Target) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    runs = tool(weather)
    with chat(target) as model:
        bound = model.bind_tools([runs])
        history = [HumanMessage("hi")]
        asked = bound.invoke(history)
        (call,) = asked.tool_calls
        assert (call["name"], call["args"]) == ("weather", {"city": ""})
        result = runs.invoke(call)
        assert (result.content, result.tool_call_id) == ("clear over ", call["id"])
        last = bound.invoke([*history, asked, result])
    assert (last.content, last.tool_calls) == (HELLO, [])


@LANGCHAIN.check(CHAT, stream=True, tools=True)
def streamed_pieces_of_a_call_add_up(target: Target) -> None:
    with chat(target, stream_usage=True) as model:
        bound = model.bind_tools([weather])
        got, whole = summed(bound.stream("hi")), bound.invoke("hi")
    (call,) = got.tool_calls
    assert (call["name"], call["args"]) == ("weather", {"city": ""})
    assert call["id"]
    assert not got.invalid_tool_calls
    assert got.response_metadata["finish_reason"] == "tool_calls"
    assert got.usage_metadata["output_tokens"] == whole.usage_metadata["output_tokens"]


@LANGCHAIN.check(CHAT, tools=True)
def a_forced_tool_is_called(target: Target) -> None:
    with chat(target) as model:
        (call,) = model.bind_tools([weather, clock], tool_choice="clock").invoke("hi").tool_calls
    assert (call["name"], call["args"]) == ("clock", {"zone": ""})


@LANGCHAIN.check(CHAT, tools=True)
def any_tool_is_required(target: Target) -> None:
    with chat(target) as model:
        assert model.bind_tools([weather, clock], tool_choice="any").invoke("hi").tool_calls


@LANGCHAIN.check(CHAT, tools=True)
def no_tool_is_called_where_none_is_chosen(target: Target) -> None:
    with chat(target, "chat", max_tokens=8) as model:
        assert model.bind_tools([weather], tool_choice="none").invoke("Say hello.").tool_calls == []


@LANGCHAIN.check(CHAT, tools=True, schema=True)
def a_strict_tool_takes_valid_arguments(target: Target) -> None:
    with chat(target) as model:
        (call,) = model.bind_tools([PERSON], strict=True, tool_choice="person").invoke("hi").tool_calls
    assert call["args"] == {"name": "", "age": 1}


@LANGCHAIN.check(CHAT, stream=True, tools=True)
def two_calls_of_one_turn_are_both_answered(target: Target) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    runs = tool(get_weather)
    with chat(target, "played") as model:
        bound = model.bind_tools([runs])
        question = HumanMessage("play tool_parallel")
        whole, streamed = bound.invoke([question]), summed(bound.stream([question]))
        for asked in (whole, streamed):
            assert [call["args"] for call in asked.tool_calls] == [{"city": "Paris"}, {"city": "Rome"}]
        results = [runs.invoke(call) for call in streamed.tool_calls]
        assert bound.invoke([question, streamed, *results]).content == HELLO


@LANGCHAIN.check(CHAT, stream=True, error="APIError")
def an_engine_that_fails_in_the_middle_is_told(target: Target) -> None:
    import openai

    with chat(target, "played") as model:
        assert "output" in str(raised(openai.APIError, lambda: list(model.stream("play error"))))
        assert model.invoke("hi").content == HELLO


@LANGCHAIN.check(CHAT, schema=True)
def a_class_is_filled_by_its_schema(target: Target) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        """A person."""

        name: str
        age: int

    with chat(target) as model:
        got = model.with_structured_output(Person, method="json_schema").invoke("hi")
    assert got == Person(name="", age=1)


@LANGCHAIN.check(CHAT, stream=True, schema=True)
def a_form_is_streamed(target: Target) -> None:
    with chat(target) as model:
        steps = list(model.with_structured_output(PERSON, method="json_schema").stream("hi"))
    assert steps[-1] == {"name": "", "age": 1}


@LANGCHAIN.check(CHAT, tools=True, schema=True)
def a_class_is_filled_by_a_function_call(target: Target) -> None:
    with chat(target) as model:
        got = model.with_structured_output(PERSON, method="function_calling", include_raw=True).invoke("hi")
    assert got["parsed"] == {"name": "", "age": 1}
    assert got["raw"].tool_calls[0]["name"] == "person"
    assert got["parsing_error"] is None


@LANGCHAIN.check(CHAT, schema=True)
def json_mode_gives_an_object(target: Target) -> None:
    with chat(target) as model:
        assert model.with_structured_output(PERSON, method="json_mode").invoke("hi, in JSON") == {}


@LANGCHAIN.check(CHAT, error="NotFoundError")
def an_unknown_model_is_not_found(target: Target) -> None:
    import openai

    with chat(target, model="nosuch") as model:
        error = raised(openai.NotFoundError, lambda: model.invoke("hi"))
    assert "model 'nosuch' not found" in str(error)


@LANGCHAIN.check(CHAT, stream=True, error="NotFoundError")
def a_stream_of_an_unknown_model_is_not_found(target: Target) -> None:
    import openai

    with chat(target, model="nosuch") as model:
        assert raised(openai.NotFoundError, lambda: list(model.stream("hi"))).status_code == 404


@LANGCHAIN.check(CHAT, error="BadRequestError")
def a_bad_field_is_named(target: Target) -> None:
    import openai

    with chat(target) as model:
        error = raised(openai.BadRequestError, lambda: model.invoke("hi", extra_body={"response_format": "yaml"}))
    assert "response_format" in str(error)


@LANGCHAIN.check(CHAT, error="BadRequestError")
def a_picture_for_a_model_of_text_is_refused(target: Target) -> None:
    import openai
    from langchain_core.messages import HumanMessage

    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with chat(target) as model:
        message = HumanMessage([{"type": "text", "text": "What is this?"}, picture])
        error = raised(openai.BadRequestError, lambda: model.invoke([message]))
    assert "picture" in str(error), str(error)


@LANGCHAIN.check("/v1/completions")
def a_text_is_gone_on_with(target: Target) -> None:
    from langchain_openai import OpenAI

    with connection(target) as words:
        model = OpenAI(**words, model=target.model("chat"), max_tokens=4, temperature=0)
        whole, streamed = model.invoke("Once upon a"), "".join(model.stream("Once upon a"))
    assert whole
    assert streamed == whole


@LANGCHAIN.check("/v1/embeddings")
def documents_and_queries_become_vectors(target: Target) -> None:
    with vectors(target) as model:
        cat, form = model.embed_documents(["a cat", "a tax form"])
        query = model.embed_query("a kitten")
    assert len(cat) == len(form) == len(query)
    assert sum(a * b for a, b in zip(query, cat, strict=True)) > sum(a * b for a, b in zip(query, form, strict=True))


@LANGCHAIN.check("/v1/embeddings")
def vectors_of_a_chosen_length(target: Target) -> None:
    with vectors(target, dimensions=64) as model:
        got = model.embed_query("a cat")
    assert len(got) == 64
    assert abs(sum(value * value for value in got) - 1) < 1e-3


@LANGCHAIN.check("/v1/embeddings", error="BadRequestError")
def vectors_of_a_chat_model_are_refused(target: Target) -> None:
    import openai

    with vectors(target, model=target.model("chat")) as model:
        error = raised(openai.BadRequestError, lambda: model.embed_query("a"))
    assert target.model("chat") in str(error)


@LANGCHAIN.check("/v1/responses")
def a_response_has_text_and_usage(target: Target) -> None:
    with chat(target, use_responses_api=True) as model:
        got = model.invoke("hi")
    assert got.text == HELLO
    assert got.response_metadata["status"] == "completed"
    assert got.usage_metadata["output_tokens"] == HELLO_TOKENS


@LANGCHAIN.check("/v1/responses", stream=True)
def a_response_streams(target: Target) -> None:
    with chat(target, use_responses_api=True) as model:
        got = summed(model.stream("hi"))
    assert got.text == HELLO
    assert got.usage_metadata["output_tokens"] == HELLO_TOKENS


@LANGCHAIN.check("/v1/responses")
def thought_is_a_block_before_the_text(target: Target) -> None:
    with chat(target, use_responses_api=True, output_version="responses/v1") as model:
        got = model.invoke("think")
    thought, text = got.content
    assert (thought["type"], thought["content"][0]["text"]) == ("reasoning", THOUGHT)
    assert text["text"] == CONCLUSION
    assert got.usage_metadata["output_token_details"]["reasoning"] > 0


@LANGCHAIN.check("/v1/responses")
def a_response_follows_the_one_before(target: Target) -> None:
    from langchain_core.messages import HumanMessage

    with chat(target, use_responses_api=True, use_previous_response_id=True) as model:
        first = model.invoke("hi")
        second = model.invoke([HumanMessage("hi"), first, HumanMessage("think")])
    assert second.text == CONCLUSION
    assert second.usage_metadata["input_tokens"] > first.usage_metadata["input_tokens"]


@LANGCHAIN.check("/v1/responses", tools=True)
def a_tool_loop_over_responses(target: Target) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    runs = tool(weather)
    with chat(target, use_responses_api=True) as model:
        bound = model.bind_tools([runs])
        asked = bound.invoke([HumanMessage("hi")])
        (call,) = asked.tool_calls
        assert (call["name"], call["args"]) == ("weather", {"city": ""})
        last = bound.invoke([HumanMessage("hi"), asked, runs.invoke(call)])
    assert (last.text, last.tool_calls) == (HELLO, [])


@LANGCHAIN.check("/v1/responses", stream=True, tools=True)
def thought_before_a_call_stays_a_block_of_its_own(target: Target) -> None:
    def add(a: int, b: int) -> int:
        """The sum."""
        return a + b

    with chat(target, "played", use_responses_api=True, output_version="responses/v1") as model:
        bound = model.bind_tools([add])
        for got in (bound.invoke("play think_tool"), summed(bound.stream("play think_tool"))):
            assert [block["type"] for block in got.content] == ["reasoning", "function_call"]
            assert [call["args"] for call in got.tool_calls] == [{"a": 1, "b": 1}]


@LANGCHAIN.check("/v1/responses", schema=True)
def a_form_over_responses(target: Target) -> None:
    with chat(target, use_responses_api=True) as model:
        got = model.with_structured_output(PERSON, method="json_schema", include_raw=True).invoke("hi")
    assert got["parsed"] == {"name": "", "age": 1}
    assert json.loads(got["raw"].text) == got["parsed"]


@LANGCHAIN.check("/v1/responses", error="NotFoundError")
def a_response_of_an_unknown_model_is_not_found(target: Target) -> None:
    import openai

    with chat(target, use_responses_api=True, model="nosuch") as model:
        assert raised(openai.NotFoundError, lambda: model.invoke("hi")).status_code == 404
