"""`client.responses` of the stock `openai` package against the gateway, and its kept chat completions."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import FunctionToolParam, Response
from pydantic import BaseModel

from tests.contract.live.conftest import Gateway
from tests.support.typed_events import check_grammar

ADD: FunctionToolParam = {
    "type": "function",
    "name": "add",
    "description": "add two numbers",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "strict": False,
}


class Person(BaseModel):
    """A form that an answer shall have."""

    name: str
    age: int


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def call_in(response: Response) -> Any:
    return next(item for item in response.output if item.type == "function_call")


def test_a_response(client: openai.OpenAI, gateway: Gateway) -> None:
    """Text, status, counts and the caller's name for the model."""
    got = client.responses.create(
        model=gateway.chat, input="Say hello.", max_output_tokens=12, instructions="Be brief."
    )
    assert got.output_text
    assert got.status in ("completed", "incomplete")
    assert got.model == gateway.chat
    assert got.usage is not None
    assert got.usage.input_tokens > 0
    assert got.usage.total_tokens == got.usage.input_tokens + got.usage.output_tokens


def test_a_response_that_is_cut_says_why(client: openai.OpenAI, gateway: Gateway) -> None:
    """Incomplete, by its limit."""
    got = client.responses.create(model=gateway.chat, input="Count to one hundred.", max_output_tokens=3)
    assert got.status == "incomplete"
    assert got.incomplete_details is not None
    assert got.incomplete_details.reason == "max_output_tokens"


def test_counts_are_those_of_a_chat(client: openai.OpenAI, scripted_model: str) -> None:
    """The same conversation costs the same on both routes, streamed or not."""
    chat = client.chat.completions.create(model=scripted_model, messages=[{"role": "user", "content": "hi"}])
    whole = client.responses.create(model=scripted_model, input="hi")
    with client.responses.stream(model=scripted_model, input="hi") as stream:
        streamed = stream.get_final_response()
    assert chat.usage is not None
    for got in (whole, streamed):
        assert got.usage is not None
        assert (got.usage.input_tokens, got.usage.output_tokens) == (
            chat.usage.prompt_tokens,
            chat.usage.completion_tokens,
        )


def test_a_stream(client: openai.OpenAI, gateway: Gateway, scripted_model: str) -> None:
    """The package's own accumulator takes the events; their order and numbers are the documented ones (A28)."""
    with client.responses.stream(model=scripted_model, input="hi") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text
    events = client.responses.create(model=gateway.chat, input="Count.", max_output_tokens=8, stream=True)
    check_grammar([event.model_dump(mode="json", exclude_unset=True) for event in events])


def test_a_tool_is_used_and_answered(client: openai.OpenAI, scripted_model: str) -> None:
    """Whole and streamed; its result goes on by the response's id alone."""
    with client.responses.stream(model=scripted_model, input="add", tools=[ADD]) as stream:
        events = [event.model_dump(mode="json", exclude_unset=True) for event in stream]
        streamed = call_in(stream.get_final_response())
    assert len([event for event in events if event["type"] == "response.function_call_arguments.delta"]) > 1
    got = client.responses.create(model=scripted_model, input="add", tools=[ADD])
    called = call_in(got)
    assert (called.name, called.arguments) == (streamed.name, streamed.arguments)
    assert isinstance(json.loads(called.arguments)["a"], int)
    result: Any = [{"type": "function_call_output", "call_id": called.call_id, "output": "2"}]
    went_on = client.responses.create(model=scripted_model, previous_response_id=got.id, input=result, tools=[ADD])
    assert went_on.output_text == "Hello from the scripted model."
    kinds = [item.type for item in client.responses.input_items.list(went_on.id, order="asc")]
    assert kinds == ["message", "function_call", "function_call_output"]


def test_a_tool_of_a_namespace_and_one_that_is_run_elsewhere(client: openai.OpenAI, scripted_model: str) -> None:
    """The one keeps its name and namespace (A30), the other is named in a warning (A25)."""
    tools: Any = [{"type": "web_search"}, {"type": "namespace", "name": "ns", "description": "", "tools": [ADD]}]
    raw = client.responses.with_raw_response.create(model=scripted_model, input="add", tools=tools)
    assert "tools[0]" in raw.headers["x-blazar-warning"]
    called = call_in(raw.parse())
    assert (called.name, called.namespace) == ("add", "ns")


def test_a_custom_tool(client: openai.OpenAI, scripted_model: str) -> None:
    """Called with a text."""
    tools: Any = [{"type": "custom", "name": "note", "description": "writes a note"}]
    got = client.responses.create(model=scripted_model, input="note", tools=tools)
    called = next(item for item in got.output if item.type == "custom_tool_call")
    assert called.name == "note"
    assert isinstance(called.input, str)
    items: Any = [
        {"role": "user", "content": "note"},
        called.model_dump(exclude_unset=True),
        {"type": "custom_tool_call_output", "call_id": called.call_id, "output": "done"},
    ]
    assert client.responses.create(model=scripted_model, input=items, tools=tools, store=False).output_text


def test_thoughts(client: openai.OpenAI, scripted_model: str) -> None:
    """As text, as a summary, sealed for a caller that keeps nothing here, or not at all."""
    got = client.responses.create(model=scripted_model, input="think")
    thought = got.output[0]
    assert thought.type == "reasoning"
    assert thought.content
    assert thought.content[0].text == "The user wants thought.\n"
    assert got.usage is not None
    assert 0 < got.usage.output_tokens_details.reasoning_tokens < got.usage.output_tokens
    sealed = client.responses.create(
        model=scripted_model,
        input="think",
        store=False,
        reasoning={"effort": "low", "summary": "auto"},
        include=["reasoning.encrypted_content"],
    )
    thought = sealed.output[0]
    assert thought.type == "reasoning"
    assert thought.summary[0].text == "The user wants thought.\n"
    assert thought.encrypted_content
    history: Any = [item.model_dump(exclude_unset=True) for item in sealed.output]
    more: Any = [{"role": "user", "content": "think"}, *history, {"role": "user", "content": "hi"}]
    assert client.responses.create(model=scripted_model, input=more, store=False).output_text
    silent = client.responses.create(model=scripted_model, input="think", reasoning={"effort": "none"})
    assert "reasoning" not in [item.type for item in silent.output]


def test_a_form_is_kept_to(client: openai.OpenAI, gateway: Gateway) -> None:
    """`parse` gets its object; the receipt says what held the engine (D19)."""
    got = client.responses.parse(model=gateway.chat, input="Ada is 36.", text_format=Person, max_output_tokens=200)
    assert isinstance(got.output_parsed, Person)
    raw = client.responses.with_raw_response.create(
        model=gateway.chat, input="Ada.", text={"format": {"type": "json_object"}}, max_output_tokens=200
    )
    if raw.parse().status == "completed":
        assert raw.headers["x-blazar-structured-output"] == "json_object"


def test_kept_and_not_kept(client: openai.OpenAI, scripted_model: str) -> None:
    """Retrieved, gone on from, deleted; then a 404, as for one that was never to be kept."""
    got = client.responses.create(model=scripted_model, input="hi", metadata={"topic": "x"})
    again = client.responses.retrieve(got.id)
    assert again == got
    assert again.metadata == {"topic": "x"}
    reference: Any = [{"type": "item_reference", "id": got.output[0].id}, {"role": "user", "content": "hi"}]
    assert client.responses.create(model=scripted_model, input=reference).output_text
    client.responses.delete(got.id)
    unkept = client.responses.create(model=scripted_model, input="hi", store=False)
    for id_ in (got.id, unkept.id):
        with pytest.raises(openai.NotFoundError, match="is kept here"):
            client.responses.retrieve(id_)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=scripted_model, input="hi", previous_response_id=got.id)


def test_in_the_background(client: openai.OpenAI, scripted_model: str) -> None:
    """Answered at once, listened to from any number on, whole in the end."""
    got = client.responses.create(model=scripted_model, input="hi", background=True)
    assert got.status in ("queued", "in_progress")
    events = [event.model_dump(mode="json") for event in client.responses.retrieve(got.id, stream=True)]
    assert events[-1]["type"] == "response.completed"
    later = [event.sequence_number for event in client.responses.retrieve(got.id, stream=True, starting_after=3)]
    assert later == [event["sequence_number"] for event in events[4:]]
    assert client.responses.retrieve(got.id).output_text == "Hello from the scripted model."
    both = list(client.responses.create(model=scripted_model, input="hi", background=True, stream=True))
    assert [event.type for event in both[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert both[-1].type == "response.completed"


def test_cancelled_in_the_background(client: openai.OpenAI, scripted_model: str) -> None:
    """The engine is free for the next at once (K8)."""
    got = client.responses.create(model=scripted_model, input="long", background=True)
    cancelled = client.responses.cancel(got.id)
    assert cancelled.status == "cancelled"
    assert client.responses.retrieve(got.id).status == "cancelled"
    assert client.responses.create(model=scripted_model, input="hi").output_text == "Hello from the scripted model."
    finished = client.responses.create(model=scripted_model, input="hi")
    with pytest.raises(openai.BadRequestError, match="does not run in the background"):
        client.responses.cancel(finished.id)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": [{}]}, "input[0]"),
        ({"input": "hi", "conversation": "conv_1"}, "conversation"),
        ({"input": "hi", "background": True, "store": False}, "background"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://127.0.0.1/x.png"}]}]},
            None,
        ),
    ],
)
def test_refusals_are_the_clients_own(client: openai.OpenAI, gateway: Gateway, body: Any, param: str | None) -> None:
    """A 400 with the field (A27), before a model is loaded."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=gateway.chat, **body)
    assert param is None or caught.value.param == param
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="no-such-model", input="hi")


def test_kept_chat_completions(client: openai.OpenAI, scripted_model: str) -> None:
    """Kept only where it was asked for; listed by metadata, changed, deleted, with its messages."""
    asked: Any = {"model": scripted_model, "messages": [{"role": "user", "content": "hi"}]}
    kept, other = {"topic": secrets.token_hex(4)}, {"topic": secrets.token_hex(4)}
    client.chat.completions.create(**asked)
    whole = client.chat.completions.create(**asked, store=True, metadata=kept)
    chunks = list(client.chat.completions.create(**asked, store=True, metadata=kept, stream=True))
    assert all(chunk.usage is None for chunk in chunks)
    rows = list(client.chat.completions.list(metadata=kept, limit=1))
    assert [row.id for row in rows] == [whole.id, chunks[0].id]
    assert {row.choices[0].message.content for row in rows} == {"Hello from the scripted model."}
    assert client.chat.completions.retrieve(whole.id).choices == whole.choices
    client.chat.completions.update(whole.id, metadata=other)
    assert [row.id for row in client.chat.completions.list(metadata=other)] == [whole.id]
    (message,) = client.chat.completions.messages.list(whole.id)
    assert (message.role, message.content) == ("user", "hi")
    assert client.chat.completions.delete(whole.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.retrieve(whole.id)


def test_files_that_were_sent_before(client: openai.OpenAI, scripted_model: str) -> None:
    """Named by their ids; one that is not there is a 404."""
    kept = client.files.create(file=("a.txt", b"a text"), purpose="user_data")
    asked: Any = [{"role": "user", "content": [{"type": "input_file", "file_id": kept.id}]}]
    got = client.responses.create(model=scripted_model, input=asked)
    assert got.usage is not None
    shorter = client.responses.create(model=scripted_model, input="")
    assert shorter.usage is not None
    assert got.usage.input_tokens > shorter.usage.input_tokens
    client.files.delete(kept.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=scripted_model, input=asked)
