"""The PyPI package `openai`, asynchronous: its streams, helpers and errors are code of their own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.matrix.clients.openai_python import CHAT, HI, LONG
from tests.matrix.clients.openai_python_responses import ADD as ADD_ITEM
from tests.matrix.clients.openai_python_tools import ADD, ADD_IT
from tests.matrix.registry import Client, Facets, Target
from tests.support.scripted_gguf import HELLO, HELLO_TOKENS

ASYNC = Client("openai (PyPI, async)", needs=("module:openai",))
Work = Callable[[Any, Target], Awaitable[None]]


def check(route: str, **facets: Any) -> Callable[[Work], Work]:
    """A check whose work is done with an asynchronous client, which is closed afterwards."""

    def hang(work: Work) -> Work:
        def run(target: Target) -> None:
            asyncio.run(_with_client(work, target))

        told: Facets = {**facets}  # type: ignore[typeddict-item]
        ASYNC.add(getattr(work, "__name__", "check"), route, run, **told)
        return work

    return hang


async def _with_client(work: Work, target: Target) -> None:
    import openai

    async with openai.AsyncOpenAI(base_url=target.v1, api_key=target.key, max_retries=0, timeout=120) as client:
        await work(client, target)


async def refused(kind: str, asked: Awaitable[Any]) -> Any:
    """The error of the class `kind` that the client raises."""
    (error,) = await asyncio.gather(asked, return_exceptions=True)
    assert type(error).__name__ == kind, f"{type(error).__name__}: {error}"
    return error


@check(CHAT)
async def a_chat_answers_with_text_and_usage(client: Any, target: Target) -> None:
    got = await client.chat.completions.create(model=target.model("scripted"), messages=HI)
    assert got.choices[0].message.content == HELLO
    assert got.usage.completion_tokens == HELLO_TOKENS
    assert got._request_id.startswith("plm-")


@check(CHAT)
async def many_at_once_are_all_answered(client: Any, target: Target) -> None:
    asked = [client.chat.completions.create(model=target.model("scripted"), messages=HI) for _ in range(12)]
    got = await asyncio.gather(*asked)
    assert [one.choices[0].message.content for one in got] == [HELLO] * 12
    assert len({one._request_id for one in got}) == 12


@check(CHAT, stream=True)
async def a_stream_brings_the_same_text(client: Any, target: Target) -> None:
    stream = await client.chat.completions.create(
        model=target.model("scripted"), messages=HI, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == HELLO
    assert chunks[-1].usage.completion_tokens == HELLO_TOKENS


@check(CHAT, stream=True, tools=True)
async def the_stream_helper_tells_a_call(client: Any, target: Target) -> None:
    async with client.chat.completions.stream(
        model=target.model("scripted"), messages=ADD_IT, tools=[ADD], max_tokens=120
    ) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_completion()
    assert "tool_calls.function.arguments.delta" in kinds
    assert kinds.count("tool_calls.function.arguments.done") == 1
    assert final.choices[0].message.tool_calls[0].function.name == "add"


@check(CHAT, schema=True)
async def parse_gives_an_object_of_ones_class(client: Any, target: Target) -> None:
    from pydantic import BaseModel

    class Plan(BaseModel):
        title: str
        steps: list[str]

    got = await client.chat.completions.parse(model=target.model("scripted"), messages=HI, response_format=Plan)
    assert isinstance(got.choices[0].message.parsed, Plan)


@check(CHAT, stream=True)
async def a_task_that_is_cancelled_frees_its_place(client: Any, target: Target) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        stream = await client.chat.completions.create(model=target.model("scripted"), messages=LONG, stream=True)
        async for _ in stream:
            begun.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(begun.wait(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    got = await client.chat.completions.create(model=target.model("scripted"), messages=HI, timeout=20)
    assert got.choices[0].message.content == HELLO


@check(CHAT, error="APITimeoutError")
async def a_client_that_gives_up_frees_its_place(client: Any, target: Target) -> None:
    hasty = client.with_options(timeout=0.4)
    await refused("APITimeoutError", hasty.chat.completions.create(model=target.model("scripted"), messages=LONG))
    got = await client.chat.completions.create(model=target.model("scripted"), messages=HI, timeout=20)
    assert got.choices[0].message.content == HELLO


@check(CHAT, error="NotFoundError")
async def an_unknown_model_is_not_found(client: Any, target: Target) -> None:
    for stream in (False, True):
        error = await refused(
            "NotFoundError", client.chat.completions.create(model="no-such-model", messages=HI, stream=stream)
        )
        assert (error.status_code, error.code, error.param) == (404, "404", "model")


@check(CHAT, stream=True, error="APIError")
async def an_error_within_a_stream_is_raised(client: Any, target: Target) -> None:
    asked: Any = [{"role": "user", "content": "play error"}]

    async def read() -> None:
        stream = await client.chat.completions.create(model=target.model("played"), messages=asked, stream=True)
        async for _ in stream:
            pass

    await client.chat.completions.create(model=target.model("played"), messages=HI)
    error = await refused("APIError", read())
    await client.chat.completions.create(model=target.model("played"), messages=HI)
    assert "does not match the expected" in error.message


@check("/v1/completions", stream=True)
async def a_completion_is_streamed(client: Any, target: Target) -> None:
    ask = {"model": target.model("chat"), "prompt": "One, two,", "max_tokens": 4, "temperature": 0}
    whole = await client.completions.create(**ask)
    text = [chunk.choices[0].text async for chunk in await client.completions.create(**ask, stream=True)]
    assert "".join(text) == whole.choices[0].text


@check("/v1/embeddings")
async def vectors_are_decoded(client: Any, target: Target) -> None:
    one, other = await asyncio.gather(
        client.embeddings.create(model=target.model("embed"), input="a cat"),
        client.embeddings.create(model=target.model("embed"), input=["a cat"], encoding_format="float"),
    )
    pairs = zip(one.data[0].embedding, other.data[0].embedding, strict=True)
    assert max(abs(a - b) for a, b in pairs) < 1e-4


@check("/v1/responses", stream=True)
async def a_response_is_streamed(client: Any, target: Target) -> None:
    async with client.responses.stream(model=target.model("scripted"), input="hi") as stream:
        text = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    assert "".join(text) == final.output_text == HELLO
    assert final.usage.output_tokens == HELLO_TOKENS


@check("/v1/responses", tools=True)
async def a_functions_result_goes_on(client: Any, target: Target) -> None:
    made = await client.responses.create(model=target.model("scripted"), input="add", tools=[ADD_ITEM])
    result: Any = [{"type": "function_call_output", "call_id": made.output[0].call_id, "output": "3"}]
    after = await client.responses.create(
        model=target.model("scripted"), input=result, tools=[ADD_ITEM], previous_response_id=made.id
    )
    assert after.output_text == HELLO


@check("/v1/responses")
async def a_response_in_the_background_is_cancelled(client: Any, target: Target) -> None:
    made = await client.responses.create(model=target.model("scripted"), input="long", background=True)
    assert (await client.responses.cancel(made.id)).status == "cancelled"
    items = [item async for item in client.responses.input_items.list(made.id)]
    assert items[0].content[0].text == "long"


@check("/v1/files")
async def files_are_listed_page_by_page(client: Any, target: Target) -> None:
    made = [(await client.files.create(file=b"x", purpose="vision")).id for _ in range(3)]
    listed = [file.id async for file in client.files.list(purpose="vision", limit=2, order="asc")]
    content = await client.files.content(made[0])
    for id_ in made:
        assert (await client.files.delete(id_)).deleted
    assert [id_ for id_ in listed if id_ in made] == made
    assert content.content == b"x"


@check("/v1/models")
async def models_are_listed(client: Any, target: Target) -> None:
    assert target.model("scripted") in [model.id async for model in client.models.list()]
