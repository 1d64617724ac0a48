"""The PyPI package `langchain-ollama`: chat, completion and vectors over ollama's API."""

import asyncio
import os
from typing import Any

from tests.matrix.raising import raised
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT, TICK, TOCK

LANGCHAIN = Client("langchain-ollama", needs=("module:langchain_ollama",))

CHAT = "/api/chat"
PERSON = {
    "title": "person",
    "description": "A person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}


def weather(city: str) -> str:
    """The weather of a city."""
    return f"clear over {city}"


def made(kind: str, target: Target, role: str, **more: Any) -> Any:
    """An object of one of the package's classes. It cannot be closed, so that its connections must not be kept open."""
    os.environ["LANGSMITH_TRACING"] = "false"
    import httpx
    import langchain_ollama

    kept = {"limits": httpx.Limits(max_keepalive_connections=0), "timeout": 120}
    words = {"base_url": target.url, "model": target.model(role)}
    words["client_kwargs"] = {"headers": {"authorization": f"Bearer {target.key}"}, **kept}
    return getattr(langchain_ollama, kind)(**{**words, **more})


def chat(target: Target, role: str = "scripted", **more: Any) -> Any:
    return made("ChatOllama", target, role, **{"num_predict": 256, **more})


def summed(chunks: Any) -> Any:
    """The message that the pieces of a stream add up to, as the package adds them."""
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


@LANGCHAIN.check(CHAT)
def a_message_has_text_usage_and_its_end(target: Target) -> None:
    model = chat(target)
    got = model.invoke("hi")
    assert got.content == HELLO
    assert got.usage_metadata["output_tokens"] == HELLO_TOKENS
    told = got.response_metadata
    assert (told["done"], told["done_reason"], told["model"]) == (True, "stop", target.model("scripted"))
    assert told["total_duration"] >= told["eval_duration"] > 0


@LANGCHAIN.check(CHAT, stream=True)
def pieces_add_up_to_the_message(target: Target) -> None:
    model = chat(target)
    chunks, whole = list(model.stream("hi")), model.invoke("hi")
    assert len([chunk for chunk in chunks if chunk.content]) > 2
    got = summed(chunks)
    assert got.content == HELLO
    assert got.usage_metadata == whole.usage_metadata


@LANGCHAIN.check(CHAT, stream=True)
def an_async_stream_and_answer(target: Target) -> None:
    async def both(model: Any) -> tuple[str, str]:
        streamed = [chunk.content async for chunk in model.astream("hi")]
        return "".join(streamed), (await model.ainvoke("think")).content

    model = chat(target)
    assert asyncio.run(both(model)) == (HELLO, CONCLUSION)


@LANGCHAIN.check(CHAT)
def a_batch_is_answered_in_order(target: Target) -> None:
    model = chat(target)
    assert [one.content for one in model.batch(["hi", "think", "hi"])] == [HELLO, CONCLUSION, HELLO]


@LANGCHAIN.check(CHAT)
def num_predict_ends_with_length(target: Target) -> None:
    model = chat(target, num_predict=4)
    got = model.invoke("long")
    assert got.content.rstrip() == ((TICK + TOCK) * 2).rstrip()
    assert got.response_metadata["done_reason"] == "length"


@LANGCHAIN.check(CHAT)
def a_stop_word_ends_the_text(target: Target) -> None:
    model = chat(target)
    assert model.invoke("hi", stop=[" scripted"]).content == "Hello from the"


@LANGCHAIN.check(CHAT)
def options_and_keep_alive_are_taken(target: Target) -> None:
    options = {"temperature": 0.1, "top_k": 5, "top_p": 0.5, "repeat_penalty": 1.1, "seed": 3, "keep_alive": "5m"}
    model = chat(target, **options, num_ctx=512)
    assert model.invoke("hi").content == HELLO


@LANGCHAIN.check(CHAT)
def a_conversation_keeps_its_system_message(target: Target) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    model = chat(target)
    alone = model.invoke("hi")
    history = [SystemMessage("Be brief."), HumanMessage("hi"), AIMessage("Yes?"), HumanMessage("hi")]
    got = model.invoke(history)
    assert got.content == HELLO
    assert got.usage_metadata["input_tokens"] > alone.usage_metadata["input_tokens"]


@LANGCHAIN.check(CHAT)
def thought_comes_apart_where_it_is_asked_for(target: Target) -> None:
    model = chat(target, reasoning=True)
    got = model.invoke("think")
    assert (got.content, got.additional_kwargs["reasoning_content"]) == (CONCLUSION, THOUGHT)


@LANGCHAIN.check(CHAT, stream=True)
def thought_is_streamed_before_the_text(target: Target) -> None:
    model = chat(target, reasoning=True)
    chunks = list(model.stream("think"))
    kinds = [
        "text" if chunk.content else "thought"
        for chunk in chunks
        if chunk.content or chunk.additional_kwargs.get("reasoning_content")
    ]
    assert kinds == sorted(kinds, reverse=True)
    got = summed(chunks)
    assert (got.content, got.additional_kwargs["reasoning_content"]) == (CONCLUSION, THOUGHT)


@LANGCHAIN.check(CHAT)
def thought_is_left_out_where_it_is_not_wanted(target: Target) -> None:
    model = chat(target, reasoning=False)
    got = model.invoke("think")
    assert got.content == CONCLUSION
    assert "reasoning_content" not in got.additional_kwargs


@LANGCHAIN.check(CHAT, tools=True)
def a_tool_loop_ends_in_text(target: Target) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    runs = tool(weather)
    model = chat(target)
    bound = model.bind_tools([runs])
    asked = bound.invoke([HumanMessage("hi")])
    (call,) = asked.tool_calls
    assert (call["name"], call["args"]) == ("weather", {"city": ""})
    last = bound.invoke([HumanMessage("hi"), asked, runs.invoke(call)])
    assert (last.content, last.tool_calls) == (HELLO, [])


@LANGCHAIN.check(CHAT, stream=True, tools=True)
def a_call_comes_in_a_stream(target: Target) -> None:
    model = chat(target)
    got = summed(model.bind_tools([weather]).stream("hi"))
    assert [(call["name"], call["args"]) for call in got.tool_calls] == [("weather", {"city": ""})]


@LANGCHAIN.check(CHAT, stream=True, tools=True)
def two_calls_of_one_turn_are_both_answered(target: Target) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    @tool
    def get_weather(city: str) -> str:
        """The tool of the recorded turn with two calls."""
        return weather(city)

    bound = chat(target, "played").bind_tools([get_weather])
    question = HumanMessage("play tool_parallel")
    asked = summed(bound.stream([question]))
    assert [call["args"] for call in asked.tool_calls] == [{"city": "Paris"}, {"city": "Rome"}]
    results = [get_weather.invoke(call) for call in asked.tool_calls]
    assert bound.invoke([question, asked, *results]).content == HELLO


@LANGCHAIN.check(CHAT, stream=True, error="ResponseError")
def an_engine_that_fails_in_the_middle_is_told(target: Target) -> None:
    import ollama

    model = chat(target, "played")
    assert "output" in raised(ollama.ResponseError, lambda: list(model.stream("play error"))).error
    assert model.invoke("hi").content == HELLO


@LANGCHAIN.check(CHAT, schema=True)
def a_class_is_filled_by_its_schema(target: Target) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        """A person."""

        name: str
        age: int

    model = chat(target)
    got = model.with_structured_output(Person, method="json_schema").invoke("hi")
    assert got == Person(name="", age=1)


@LANGCHAIN.check(CHAT, stream=True, schema=True)
def a_form_is_streamed(target: Target) -> None:
    model = chat(target)
    assert list(model.with_structured_output(PERSON, method="json_schema").stream("hi"))[-1] == {
        "name": "",
        "age": 1,
    }


@LANGCHAIN.check(CHAT, tools=True, schema=True)
def a_form_is_filled_by_a_function_call(target: Target) -> None:
    model = chat(target)
    got = model.with_structured_output(PERSON, method="function_calling", include_raw=True).invoke("hi")
    assert (got["parsed"], got["parsing_error"]) == ({"name": "", "age": 1}, None)


@LANGCHAIN.check(CHAT, schema=True)
def json_mode_gives_an_object(target: Target) -> None:
    model = chat(target)
    assert model.with_structured_output(PERSON, method="json_mode").invoke("hi, in JSON") == {}


@LANGCHAIN.check(CHAT, error="ResponseError")
def an_unknown_model_is_not_found(target: Target) -> None:
    import ollama

    model = chat(target, model="nosuch")
    error = raised(ollama.ResponseError, lambda: model.invoke("hi"))
    assert error.status_code == 404
    assert "model 'nosuch' not found" in error.error


@LANGCHAIN.check("/api/tags", error="ValueError")
def a_model_is_looked_up_when_the_client_is_made(target: Target) -> None:
    model = chat(target, validate_model_on_init=True)
    assert model.invoke("hi").content == HELLO

    error = raised(ValueError, lambda: chat(target, model="nosuch", validate_model_on_init=True))
    assert "nosuch" in str(error)


@LANGCHAIN.check(CHAT, error="ResponseError")
def a_picture_for_a_model_of_text_is_refused(target: Target) -> None:
    import ollama
    from langchain_core.messages import HumanMessage

    picture = {"type": "image_url", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    model = chat(target)
    message = HumanMessage([{"type": "text", "text": "What is this?"}, picture])
    error = raised(ollama.ResponseError, lambda: model.invoke([message]))
    assert error.status_code == 400
    assert "picture" in error.error, error.error


@LANGCHAIN.check("/api/generate")
def a_prompt_is_answered_and_streamed(target: Target) -> None:
    model = made("OllamaLLM", target, "scripted", num_predict=64)
    assert model.invoke("hi") == HELLO
    streamed = list(model.stream("hi"))
    assert len(streamed) > 2
    assert "".join(streamed) == HELLO


@LANGCHAIN.check("/api/generate", schema=True)
def a_prompt_is_answered_in_json(target: Target) -> None:
    model = made("OllamaLLM", target, "scripted", num_predict=64, format="json")
    assert model.invoke("hi") == "{}"


@LANGCHAIN.check("/api/embed")
def documents_and_queries_become_vectors(target: Target) -> None:
    model = made("OllamaEmbeddings", target, "embed")
    cat, form = model.embed_documents(["a cat", "a tax form"])
    query = model.embed_query("a kitten")
    assert len(cat) == len(form) == len(query)
    assert sum(a * b for a, b in zip(query, cat, strict=True)) > sum(a * b for a, b in zip(query, form, strict=True))


@LANGCHAIN.check("/api/embed", error="ResponseError")
def vectors_of_a_chat_model_are_refused(target: Target) -> None:
    import ollama

    model = made("OllamaEmbeddings", target, "chat")
    error = raised(ollama.ResponseError, lambda: model.embed_query("a"))
    assert error.status_code == 400
    assert target.model("chat") in error.error
