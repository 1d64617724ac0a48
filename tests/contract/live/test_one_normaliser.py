"""Four dialects, one real engine: what is badly said reaches it whole, what is asked alike costs alike, and a receipt is true."""

import json
import urllib.request
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.contract.live.conftest import Gateway
from tests.contract.live.test_refusals import CHATS, message, post

ADD: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
FUNCTION: dict[str, Any] = {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": ADD}}
CLIENTS = ["openai", "responses", "ollama", "anthropic"]
Counts = tuple[int, int]


class Asking:
    """One question through every stock client; answers are the counts that it was told.

    `thought` are the tokens of thinking, of those that tell them: a chat completion is the engine's own, ollama has no field.
    """

    def __init__(self, gateway: Gateway, model: str, word: str, *, tools: bool, thinking: bool) -> None:
        self._gateway, self._model, self._tools, self._thinking = gateway, model, tools, thinking
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": word}]
        self.thought: list[int] = []

    def openai(self, *, stream: bool) -> Counts:
        more: dict[str, Any] = {"tools": [FUNCTION]} if self._tools else {}
        more["extra_body"] = {"chat_template_kwargs": {"enable_thinking": self._thinking}}
        with openai.OpenAI(base_url=f"{self._gateway.url}/v1", api_key=self._gateway.key, max_retries=0) as client:
            ask = client.chat.completions.create
            if not stream:
                got = ask(model=self._model, messages=self._messages, max_tokens=60, **more)
                return got.usage.prompt_tokens, got.usage.completion_tokens
            options = {"include_usage": True}
            with ask(
                model=self._model, messages=self._messages, max_tokens=60, stream=True, stream_options=options, **more
            ) as chunks:
                usage = [chunk.usage for chunk in chunks if chunk.usage][-1]
            return usage.prompt_tokens, usage.completion_tokens

    def responses(self, *, stream: bool) -> Counts:
        more: dict[str, Any] = {"tools": [{"type": "function", **FUNCTION["function"]}]} if self._tools else {}
        more |= {
            "input": self._messages,
            "max_output_tokens": 60,
            "reasoning": {"effort": "low" if self._thinking else "none"},
        }
        with openai.OpenAI(base_url=f"{self._gateway.url}/v1", api_key=self._gateway.key, max_retries=0) as client:
            if not stream:
                usage = client.responses.create(model=self._model, **more).usage
            else:
                with client.responses.create(model=self._model, stream=True, **more) as events:
                    usage = list(events)[-1].response.usage
            self.thought.append(usage.output_tokens_details.reasoning_tokens)
            return usage.input_tokens, usage.output_tokens

    def ollama(self, *, stream: bool) -> Counts:
        more: dict[str, Any] = {"tools": [FUNCTION]} if self._tools else {}
        headers = {"authorization": f"Bearer {self._gateway.key}"}
        with ollama.Client(host=self._gateway.url, headers=headers, timeout=120) as client:
            got = client.chat(
                self._model,
                messages=self._messages,
                stream=stream,
                think=self._thinking,
                options={"num_predict": 60},
                **more,
            )
            last = list(got)[-1] if stream else got
            return last.prompt_eval_count, last.eval_count

    def anthropic(self, *, stream: bool) -> Counts:
        more: dict[str, Any] = (
            {"tools": [{"name": "add", "description": "Adds.", "input_schema": ADD}]} if self._tools else {}
        )
        if self._thinking:
            more["thinking"] = {"type": "adaptive"}
        with anthropic.Anthropic(base_url=self._gateway.url, api_key=self._gateway.key, max_retries=0) as client:
            asked = {"model": self._model, "max_tokens": 60, "messages": self._messages, **more}
            if not stream:
                usage = client.messages.create(**asked).usage
            else:
                with client.messages.stream(**asked) as events:
                    usage = events.get_final_message().usage
            details = usage.output_tokens_details
            self.thought.append(details.thinking_tokens if details else 0)
            return usage.input_tokens + (usage.cache_read_input_tokens or 0), usage.output_tokens


@pytest.mark.parametrize(
    ("word", "tools", "thinking"),
    [("hi", False, False), ("add", True, False), ("think", False, True), ("think", True, True)],
)
def test_the_same_call_costs_the_same(
    gateway: Gateway, scripted_model: str, word: str, tools: bool, thinking: bool
) -> None:
    """Prompt and answer are counted alike by every client, streamed or not, with a warm cache or a cold one (A8, B12, C3)."""
    asking = Asking(gateway, scripted_model, word, tools=tools, thinking=thinking)
    told = {(name, stream): getattr(asking, name)(stream=stream) for name in CLIENTS for stream in (False, True)}
    assert len(set(told.values())) == 1, told
    assert min(told["openai", False]) > 0
    assert len(set(asking.thought)) == 1, asking.thought
    assert (asking.thought[0] > 0) == thinking
    assert len(asking.thought) == 4


def history(arguments: Any, **call: Any) -> list[dict[str, Any]]:
    """A turn with one call, answered."""
    return [
        {"role": "user", "content": "add"},
        {"role": "assistant", "tool_calls": [{**call, "function": {"name": "add", "arguments": arguments}}]},
        {"role": "tool", "content": "2"},
    ]


BAD: dict[str, list[dict[str, Any]]] = {
    "no type and no ids": history("{}"),
    "null ids": history("{}", id=None, type=None),
    "arguments as an object": history({"a": 1}, id="c", type="function"),
    "arguments that were cut off": history('{"a": 1, "b', id="c", type="function"),
    "arguments that are prose": history("one and one", id="c", type="function"),
    "no arguments": history("", id="c", type="function"),
    "an answer to no call": [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "z", "content": "2"}],
    "an answer first": [{"role": "tool", "tool_call_id": "z", "content": "2"}, {"role": "user", "content": "hi"}],
    "a call without an answer": [*history("{}")[:2], {"role": "user", "content": "hi"}],
    "reminders in between": [{"role": "user", "content": "hi"}, {"role": "developer", "content": "Be brief."}],
    "a part that is null": [
        {"role": "user", "content": [{"type": "text", "text": None}, {"type": "text", "text": "hi"}]}
    ],
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_is_answered(gateway: Gateway, scripted_model: str, name: str, stream: bool) -> None:
    """Never a 5xx: repaired, or shown to the model as it is (A16, A17, C1, C16)."""
    asked = {"model": scripted_model, "max_tokens": 8, "stream": stream, "messages": BAD[name], "tools": [FUNCTION]}
    request = urllib.request.Request(
        gateway.url + CHATS["openai"],
        json.dumps(asked).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {gateway.key}"},
    )
    with urllib.request.urlopen(request, timeout=120) as got:
        assert got.status == 200
        assert b'"error"' not in got.read()
        warnings = got.headers.get_all("x-blazar-warning") or []
    assert any("messages[1].tool_calls[0]" in warning for warning in warnings) == (name.startswith("arguments that"))


@pytest.mark.parametrize("dialect", CHATS)
def test_a_call_without_a_name_is_named(gateway: Gateway, scripted_model: str, dialect: str) -> None:
    """A 400 with its place in the caller's own words."""
    call: dict[str, Any] = {"function": {"arguments": "{}"}}
    last: dict[str, Any] = {"role": "assistant", "tool_calls": [call]}
    if dialect == "anthropic":
        last = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}
    body = {"model": scripted_model, "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}, last]}
    status, _, got = post(gateway, CHATS[dialect], body)
    assert status == 400
    assert "messages[1]." in message(got)


@pytest.mark.parametrize("dialect", CHATS)
def test_nulls_in_schemas_are_absent(gateway: Gateway, scripted_model: str, dialect: str) -> None:
    """A tool and a wanted form of a typed language's serialiser (A13, A16); the receipt is true (D19)."""
    schema = {
        "type": "object",
        "title": None,
        "properties": {"ok": {"type": "boolean", "enum": None, "description": None}},
        "required": ["ok"],
    }
    body = {"model": scripted_model, "max_tokens": 40, "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    form: dict[str, Any] = {
        "openai": {
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": None, "schema": schema}}
        },
        "ollama": {"format": schema},
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
    }
    status, headers, got = post(gateway, CHATS[dialect], body | form[dialect])
    assert status == 200, got
    assert headers["x-blazar-structured-output"] == "json_schema"
    tool = {"type": "function", "strict": None, "function": {"name": "f", "description": None, "parameters": schema}}
    tools: list[Any] = (
        [{"name": "f", "description": None, "input_schema": schema}] if dialect == "anthropic" else [tool]
    )
    assert post(gateway, CHATS[dialect], body | {"tools": tools})[0] == 200


@pytest.mark.parametrize("dialect", CHATS)
def test_an_answer_that_was_cut_short_has_no_receipt(gateway: Gateway, scripted_model: str, dialect: str) -> None:
    """The engine was told the schema, and what came of it has not got it (D19)."""
    schema = {"type": "object", "properties": {"text": {"type": "string", "minLength": 40}}, "required": ["text"]}
    body = {"model": scripted_model, "max_tokens": 3, "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    more: dict[str, Any] = {
        "openai": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}},
        "ollama": {"format": schema, "options": {"num_predict": 3}},
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
    }
    status, headers, _ = post(gateway, CHATS[dialect], body | more[dialect])
    assert (status, "x-blazar-structured-output" in headers) == (200, False)


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"name": "add", "description": "Adds.", "input_schema": ADD}]},
        {"tools": [{"name": "add", "input_schema": ADD}], "tool_choice": {"type": "any"}},
        {"tools": [{"name": "add", "input_schema": ADD}], "tool_choice": {"type": "none"}},
        {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"system": "A", "messages": [{"role": "user", "content": "hi"}, {"role": "system", "content": "B"}]},
    ],
)
def test_the_count_is_that_of_the_real_call(gateway: Gateway, scripted_model: str, more: dict[str, Any]) -> None:
    """Tools, system and thinking are in the rendered prompt, and in both counts alike, cold or cached (C3)."""
    asked = {"model": scripted_model, "messages": [{"role": "user", "content": "hello there"}], **more}
    counted = post(gateway, "/v1/messages/count_tokens", asked)[2]["input_tokens"]
    for _ in range(2):
        got = post(gateway, "/v1/messages", {**asked, "max_tokens": 4})[2]
        assert got["usage"]["input_tokens"] == counted


def test_what_an_anthropic_header_asks_for_in_vain_is_told(gateway: Gateway, scripted_model: str) -> None:
    """The SDK's `betas`; known ones are silent (D11)."""
    with anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0) as client:
        got = client.beta.messages.with_raw_response.create(
            model=scripted_model,
            max_tokens=4,
            betas=["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"],
            messages=[{"role": "user", "content": "hi"}],
        )
        assert got.headers["x-blazar-warning"] == "ignored; 'anthropic-beta.context-1m-2025-08-07' has no effect here"
        assert got.parse().content[0].type == "text"


@pytest.mark.parametrize("stream", [False, True])
def test_a_forced_tool_has_its_receipt(gateway: Gateway, scripted_model: str, stream: bool) -> None:
    """The engine holds the call to the tool's schema; a tool that may be called is no promise (D19)."""
    with anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0) as client:
        for choice, receipt in (({"type": "tool", "name": "add"}, "json_schema"), ({"type": "auto"}, None)):
            got = client.messages.with_raw_response.create(
                model=scripted_model,
                max_tokens=60,
                tools=[{"name": "add", "input_schema": ADD}],  # type: ignore[list-item,typeddict-item]
                tool_choice=choice,  # type: ignore[arg-type]
                messages=[{"role": "user", "content": "add"}],
                stream=stream,
            )
            assert got.headers.get("x-blazar-structured-output") == receipt
            got.close() if stream else got.parse()
