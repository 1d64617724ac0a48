"""What a Responses request may ask for beside its answer, on the real engine: probabilities, a conversation that is made to fit."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.contract.live.conftest import Gateway

LOGPROBS: Any = ["message.output_text.logprobs"]


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def test_probabilities_streamed_or_not(client: openai.OpenAI, gateway: Gateway) -> None:
    """A row a token, whose tokens are the text, with as many alternatives as were asked for."""
    asked: dict[str, Any] = {"model": gateway.chat, "input": "Say hello.", "max_output_tokens": 16, "temperature": 0}
    got = client.responses.create(**asked, include=LOGPROBS, top_logprobs=3)
    part: Any = got.output[0].content[0]  # type: ignore[union-attr] # a message
    assert got.top_logprobs == 3
    assert "".join(row.token for row in part.logprobs).strip() == part.text.strip()
    assert all(len(row.top_logprobs) == 3 and row.logprob <= 0 for row in part.logprobs)
    with client.responses.create(**asked, include=LOGPROBS, top_logprobs=3, stream=True) as events:
        told: list[Any] = list(events)
    last = told[-1].response.output[0].content[0]
    rows = [row for event in told if event.type == "response.output_text.delta" for row in event.logprobs]
    assert [row.token for row in rows] == [row.token for row in last.logprobs] == [row.token for row in part.logprobs]


def test_probabilities_nobody_wants_are_none(client: openai.OpenAI, gateway: Gateway) -> None:
    """An empty list, as the service writes it."""
    got = client.responses.create(model=gateway.chat, input="Say hello.", max_output_tokens=4)
    part: Any = got.output[0].content[0]  # type: ignore[union-attr] # a message
    assert part.logprobs == []


def test_thoughts_have_no_probabilities(client: openai.OpenAI, scripted_model: str) -> None:
    """The rows are those of the text, whether the answer came whole or in pieces."""
    whole = client.responses.create(model=scripted_model, input="think", include=LOGPROBS)
    text: Any = whole.output[1].content[0]  # type: ignore[union-attr] # thoughts come first
    assert "".join(row.token for row in text.logprobs).strip() == text.text.strip()


def test_probabilities_of_a_stream_with_tools_are_named(client: openai.OpenAI, scripted_model: str) -> None:
    """llama.cpp refuses the two together: the answer comes without, and says so."""
    tool: Any = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
    made = client.responses.with_raw_response.create(
        model=scripted_model, input="hi", include=LOGPROBS, tools=[tool], tool_choice="none", stream=True
    )
    assert "'include'" in made.headers["x-blazar-warning"]
    assert list(made.parse())[-1].type == "response.completed"


def talk(turns: int) -> list[Any]:
    """A long conversation."""
    return [
        {"role": role, "content": f"{at}: and then some more was said about it"}
        for at in range(turns)
        for role in ("user", "assistant")
    ] + [{"role": "user", "content": "Say hello."}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_that_does_not_fit(client: openai.OpenAI, scripted_model: str, stream: bool) -> None:
    """Refused with sizes unless it may lose its beginning; then it is answered and the loss is told."""
    long = talk(1500)
    with pytest.raises(openai.BadRequestError, match="window"):
        client.responses.create(model=scripted_model, input=long, max_output_tokens=4)
    made = client.responses.with_raw_response.create(
        model=scripted_model, input=long, max_output_tokens=4, truncation="auto", stream=stream
    )
    assert "from its beginning" in made.headers["x-blazar-warning"]
    got: Any = list(made.parse())[-1].response if stream else made.parse()
    assert got.truncation == "auto"
    assert got.output_text
    assert got.usage.input_tokens > 1000


def test_repairs_of_a_history_are_told(client: openai.OpenAI, scripted_model: str) -> None:
    """As in a chat: arguments that were cut off come to the model, and the caller hears of it."""
    items: Any = [
        {"role": "user", "content": "add"},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a": 1, "b'},
        {"type": "function_call_output", "call_id": "c", "output": "2"},
    ]
    made = client.responses.with_raw_response.create(model=scripted_model, input=items, store=False)
    assert "'input[1].arguments'" in made.headers["x-blazar-warning"]
    assert made.parse().output_text
