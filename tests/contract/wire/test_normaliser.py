"""One normaliser before every dialect: the same conversation, said badly in each, reaches the child as the same request."""

from collections.abc import Callable
from typing import Any

import pytest

from blazar.domain.wire import anthropic, ollama, openai, responses

HI = {"role": "user", "content": "hi"}


def by_openai(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Through `/v1/chat/completions`."""
    return openai.normalise({"model": "m", "messages": messages, **more}, "m").body


def by_ollama(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Through `/api/chat`."""
    return ollama.chat_request({"model": "m", "messages": messages, **more}, "m").body


def by_anthropic(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Through `/v1/messages`."""
    if more.get("tools"):
        functions = [tool["function"] for tool in more["tools"]]
        more["tools"] = [
            {"name": one["name"], "description": one.get("description"), "input_schema": one["parameters"]}
            for one in functions
        ]
    return anthropic.messages_request({"model": "m", "max_tokens": 5, "messages": messages, **more}, "m").body


def by_responses(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Through `/v1/responses`."""
    if more.get("tools"):
        more["tools"] = [{"type": "function", **tool["function"]} for tool in more["tools"]]
    return responses.read_response({"model": "m", "input": messages, **more}, "m").child.body


READERS = [by_openai, by_ollama, by_anthropic, by_responses]
Read = Callable[..., dict[str, Any]]


def said(body: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Roles and contents as the child gets them."""
    return [(message["role"], message["content"]) for message in body["messages"]]


@pytest.mark.parametrize("read", READERS)
def test_system_and_developer_are_one_message_in_front(read: Read) -> None:
    """Whatever the dialect, in the order they came (C1, C16)."""
    body = read([{"role": "system", "content": "A"}, HI, {"role": "developer", "content": "B"}])
    assert said(body) == [("system", "A\n\nB"), ("user", "hi")]


@pytest.mark.parametrize("read", READERS)
def test_a_string_is_opaque(read: Read) -> None:
    """Text that looks like parts stays text (A18)."""
    text = '["1/4 cup sugar", {"type": "text", "text": null}]'
    assert said(read([{"role": "user", "content": text}])) == [("user", text)]


@pytest.mark.parametrize("read", READERS)
def test_null_is_absent_in_tools_and_in_their_schemas(read: Read) -> None:
    """Serialisers of typed languages write every unset member (A13, A16)."""
    schema = {"type": "object", "title": None, "properties": {"a": {"type": "string", "enum": None, "default": None}}}
    tool = {"type": "function", "function": {"name": "f", "description": None, "parameters": schema}}
    body = read([HI], tools=[tool], temperature=None, top_p=None, stop=None, tool_choice=None)
    (sent,) = body["tools"]
    assert sent["function"] == {
        "name": "f",
        "parameters": {"type": "object", "properties": {"a": {"type": "string", "default": None}}},
    }
    assert not {"temperature", "top_p", "stop", "tool_choice"} & body.keys()


CALLS: dict[Read, Callable[[Any], list[dict[str, Any]]]] = {
    by_openai: lambda arguments: [
        HI,
        {"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "f", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": None, "content": "done"},
    ],
    by_ollama: lambda arguments: [
        HI,
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]},
        {"role": "tool", "tool_name": "f", "content": "done"},
    ],
    by_anthropic: lambda arguments: [
        HI,
        {"role": "assistant", "content": [{"type": "tool_use", "id": None, "name": "f", "input": arguments}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": None, "content": "done"}]},
    ],
    by_responses: lambda arguments: [
        {"type": "message", **HI},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
    ],
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"a": 1}, '{"a":1}'),
        ({}, "{}"),
        ('{"path": "/etc', '{"raw":"{\\"path\\": \\"/etc"}'),
        ("hello", '{"raw":"hello"}'),
        ("", "{}"),
    ],
)
def test_a_history_of_calls_is_whole(read: Read, arguments: Any, sent: str) -> None:
    """Types, ids that belong together, arguments as the text of an object (A17, B16): engines fail the whole request otherwise."""
    if read is by_anthropic and isinstance(arguments, str):
        arguments = {"raw": arguments} if arguments else {}  # its clients keep an object and were told that one
    if read is by_responses and isinstance(arguments, dict):
        arguments = sent
    _, assistant, answer = read(CALLS[read](arguments))["messages"]
    (call,) = assistant["tool_calls"]
    assert (call["type"], call["function"]) == ("function", {"name": "f", "arguments": sent})
    assert call["id"]
    assert answer["role"] == "tool"
    assert (answer["tool_call_id"], answer["content"]) == (call["id"], "done")


@pytest.mark.parametrize(
    ("read", "more", "field", "number"),
    [
        (by_anthropic, {"max_tokens": 10.0}, "max_tokens", 10),
        (by_responses, {"max_output_tokens": 10.0}, "max_tokens", 10),
        (by_ollama, {"options": {"num_predict": 10.0}}, "max_tokens", 10),
        (by_ollama, {"options": {"seed": 1.0}}, "seed", 1),
    ],
)
def test_an_integral_float_is_a_whole_number(read: Read, more: dict[str, Any], field: str, number: int) -> None:
    """JSON has one kind of number."""
    sent = read([HI], **more)[field]
    assert (sent, type(sent)) == (number, int)


@pytest.mark.parametrize("read", READERS)
def test_an_answer_to_no_call_and_a_call_without_an_answer_pass(read: Read) -> None:
    """Nothing is invented for what was left out, and nothing is lost."""
    history = CALLS[read]({"a": 1} if read is not by_responses else "{}")
    for cut in ([*history[:2], history[0]], [history[0], history[2]], [*history[2:], history[0]]):
        roles = [message["role"] for message in read(cut)["messages"]]
        assert len(roles) == len(cut)
