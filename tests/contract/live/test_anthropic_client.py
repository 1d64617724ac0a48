"""The stock `anthropic` package against the gateway."""

from collections.abc import Iterator

import anthropic
import pytest
from anthropic.types import ToolParam

from tests.contract.live.conftest import TRACE, Gateway

ADD: ToolParam = {
    "name": "add",
    "description": "add two numbers",
    "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


@pytest.fixture
def client(gateway: Gateway) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def test_a_message(client: anthropic.Anthropic, gateway: Gateway) -> None:
    """A whole answer with one text block, a stop reason and usage."""
    got = client.messages.create(
        model=gateway.chat, max_tokens=12, system="Be brief.", messages=[{"role": "user", "content": "Say hello."}]
    )
    assert got.content[0].type == "text"
    assert got.content[0].text
    assert got.stop_reason in ("end_turn", "max_tokens")
    assert got.usage.input_tokens > 0
    assert got.usage.output_tokens > 0
    assert got.model == gateway.chat


def test_a_stream(client: anthropic.Anthropic, gateway: Gateway) -> None:
    """The SDK's own accumulator takes the events and ends with the same message."""
    with client.messages.stream(
        model=gateway.chat, max_tokens=12, messages=[{"role": "user", "content": "Count to three."}]
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text
    assert final.content[0].type == "text"
    assert final.content[0].text == text
    assert final.usage.output_tokens > 0


def test_the_event_order(client: anthropic.Anthropic, gateway: Gateway) -> None:
    """message_start first, blocks strictly nested, message_delta and message_stop last."""
    kinds = [
        event.type
        for event in client.messages.create(
            model=gateway.chat, max_tokens=8, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        if event.type != "ping"
    ]
    assert kinds[0] == "message_start"
    assert kinds[1] == "content_block_start"
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]


def test_a_tool_is_used(client: anthropic.Anthropic, scripted_model: str) -> None:
    """Whole and streamed, the call has its name and object input."""
    asked = {"model": scripted_model, "max_tokens": 80, "tools": [ADD]}
    got = client.messages.create(**asked, messages=[{"role": "user", "content": "add"}])
    assert got.stop_reason == "tool_use"
    used = next(block for block in got.content if block.type == "tool_use")
    assert used.name == "add"
    assert isinstance(used.input["a"], int)
    with client.messages.stream(**asked, messages=[{"role": "user", "content": "add"}]) as stream:
        final = stream.get_final_message()
    assert any(block.type == "tool_use" and block.name == "add" for block in final.content)


def test_a_tool_result_turn(client: anthropic.Anthropic, scripted_model: str) -> None:
    """History with tool_use and tool_result is understood."""
    got = client.messages.create(
        model=scripted_model,
        max_tokens=40,
        tools=[ADD],
        messages=[
            {"role": "user", "content": "add"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}]},
        ],
    )
    assert got.content[0].type == "text"
    assert got.content[0].text == "Hello from the scripted model."


def test_thinking_blocks(client: anthropic.Anthropic, scripted_model: str) -> None:
    """With thinking on, a thinking block precedes the text; without the field there is none (C7)."""
    got = client.messages.create(
        model=scripted_model,
        max_tokens=2000,
        thinking={"type": "enabled", "budget_tokens": 1024},
        messages=[{"role": "user", "content": "think"}],
    )
    assert [block.type for block in got.content] == ["thinking", "text"]


def test_count_tokens_equals_the_real_count(client: anthropic.Anthropic, gateway: Gateway) -> None:
    """The count is of the rendered prompt, system and all (C2, C3)."""
    asked = {"model": gateway.chat, "system": "Be brief.", "messages": [{"role": "user", "content": "Say hello."}]}
    counted = client.messages.count_tokens(**asked)
    got = client.messages.create(**asked, max_tokens=1)
    assert counted.input_tokens == got.usage.input_tokens


def test_errors_are_the_clients_own(client: anthropic.Anthropic, gateway: Gateway) -> None:
    """Unknown models and bad bodies raise the SDK's classes with our sentence and a request id."""
    with pytest.raises(anthropic.NotFoundError, match="not found") as caught:
        client.messages.create(model="no-such-model", max_tokens=1, messages=[{"role": "user", "content": "x"}])
    assert TRACE.fullmatch(caught.value.request_id or "")
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(
            model=gateway.chat,
            max_tokens=1,
            messages=[{"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}],  # type: ignore[list-item,typeddict-item]
        )


def test_models_in_the_anthropic_shape(client: anthropic.Anthropic, gateway: Gateway) -> None:
    """The listing has the Anthropic shape when an anthropic-version header asks for it."""
    page = client.models.list()
    assert gateway.chat in [model.id for model in page.data]
