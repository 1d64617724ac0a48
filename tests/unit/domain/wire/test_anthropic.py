"""Anthropic's requests and whole answers."""

import json
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.anthropic import (
    count_reply,
    counting_request,
    messages_request,
    only_warms,
    reply,
    stop_of,
    usage_counts,
    warmed,
)
from blazar.domain.wire.anthropic_stream import BlockWriter
from blazar.domain.wire.delta import Finish, Text, Usage
from blazar.domain.wire.request import ChildRequest
from blazar.domain.wire.structured import Asked
from blazar.domain.wire.tools import Call
from blazar.domain.wire.turn import Turn

HI = [{"role": "user", "content": "hi"}]
TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
OTHER = {"name": "g", "input_schema": {"type": "object"}}


def ask(**more: Any) -> ChildRequest:
    return messages_request({"model": "m", "max_tokens": 64, "messages": HI, **more}, "child")


def refused(**more: Any) -> str | None:
    with pytest.raises(Malformed) as said:
        ask(**more)
    return said.value.field


def test_a_plain_request() -> None:
    """Not streamed unless asked; no `thinking` means none (C7)."""
    request = ask()
    assert request.body == {
        "model": "child",
        "messages": HI,
        "max_tokens": 64,
        "chat_template_kwargs": {"enable_thinking": False},
        "stream": False,
    }
    assert (request.path, request.stream, request.thinking, request.warnings) == (
        "/v1/chat/completions",
        False,
        False,
        (),
    )
    assert ask(stream=True).body["stream_options"] == {"include_usage": True}


def test_system_messages_in_the_middle_are_merged() -> None:
    """Exactly one, at index 0, A then B (C1)."""
    request = ask(system="A", messages=[*HI, {"role": "system", "content": "B"}])
    assert request.body["messages"] == [{"role": "system", "content": "A\n\nB"}, *HI]


def test_system_blocks() -> None:
    """Text blocks, whatever else they carry."""
    blocks = [{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "B"}]
    assert ask(system=blocks).body["messages"][0] == {"role": "system", "content": "A\n\nB"}
    assert ask(system=[]).body["messages"] == HI
    assert refused(system=[{"type": "image"}]) == "system"
    assert refused(system=7) == "system"


@pytest.mark.parametrize(
    ("thinking", "kwargs", "shown", "budget"),
    [
        ({"type": "enabled", "budget_tokens": 2000}, {"enable_thinking": True}, True, 2000),
        ({"type": "adaptive"}, {"enable_thinking": True}, True, None),
        ({"type": "disabled"}, {"enable_thinking": False}, False, None),
        (None, {"enable_thinking": False}, False, None),
    ],
)
def test_thinking(thinking: Any, kwargs: Any, shown: bool, budget: int | None) -> None:
    """The template's switch, the engine's budget, and whether blocks are shown."""
    request = ask(thinking=thinking)
    assert request.body["chat_template_kwargs"] == kwargs
    assert request.body.get("thinking_budget_tokens") == budget
    assert request.thinking is shown


def test_effort() -> None:
    """Newer clients send it beside the switch."""
    request = ask(thinking={"type": "adaptive"}, output_config={"effort": "high"})
    assert request.body["chat_template_kwargs"] == {"enable_thinking": True, "reasoning_effort": "high"}


def test_tools() -> None:
    """Schemas become parameters; tools that only Anthropic's servers run are named in a warning."""
    request = ask(
        tools=[
            TOOL,
            {**OTHER, "type": "custom", "cache_control": None},
            {"type": "web_search_20250305", "name": "web_search"},
        ]
    )
    assert request.body["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "description": "d"}},
        {"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}},
    ]
    assert request.warnings == ("ignored; 'tools[2]' has no effect here",)


@pytest.mark.parametrize(("kind", "choice"), [("auto", "auto"), ("any", "required"), ("none", "none")])
def test_tool_choices(kind: str, choice: str) -> None:
    """Their words for the same things."""
    request = ask(tools=[TOOL], tool_choice={"type": kind, "disable_parallel_tool_use": True})
    assert request.body["tool_choice"] == choice
    assert request.body["parallel_tool_calls"] is False
    if kind != "any":
        assert "tool_choice" not in ask(tool_choice={"type": kind}).body


def test_a_call_that_must_be_of_no_tool_is_refused() -> None:
    """As the service does. That one may, or that none does, is as good as said, and of tools that are run elsewhere none is called."""
    assert refused(tool_choice={"type": "any"}) == "tool_choice"
    elsewhere = ask(tools=[{"type": "web_search_20250305", "name": "web_search"}], tool_choice={"type": "any"})
    assert elsewhere.warnings[-1] == "ignored; 'tool_choice' has no effect here"
    assert ask(tool_choice={"type": "auto"}).warnings == ask(tool_choice={"type": "none"}).warnings == ()


def test_a_conversation_of_no_messages_is_refused() -> None:
    """As the service it was written for does; the engine would answer to nothing."""
    assert refused(messages=[]) == "messages"
    with pytest.raises(Malformed, match="at least one message"):
        counting_request({"model": "m", "system": "s", "messages": []}, "child")


def test_a_forced_tool_is_the_only_one() -> None:
    """What a stock engine honours (A19)."""
    request = ask(tools=[TOOL, OTHER], tool_choice={"type": "tool", "name": "g"})
    assert request.body["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in request.body["tools"]] == ["g"]


def test_forcing_without_a_name_is_refused() -> None:
    """At the boundary, in the sentence of the contract."""
    with pytest.raises(Malformed) as said:
        ask(tools=[TOOL], tool_choice={"type": "tool"})
    assert str(said.value) == teaching.forced_tool_needs_name()
    assert refused(tools=[TOOL], tool_choice={"type": "tool", "name": "zzz"}) == "tool_choice"
    assert refused(tools=[TOOL], tool_choice={"type": "sometimes"}) == "tool_choice.type"
    assert refused(tools=[TOOL], tool_choice={"type": {}}) == "tool_choice.type"
    assert refused(tools=[TOOL], tool_choice="auto") == "tool_choice"


def test_stop_sequences_and_sampling() -> None:
    """Which sequence ended the answer is only known from the engine's verbose block, asked for then."""
    request = ask(
        stop_sequences=["END"], temperature=0, top_p=0.5, top_k=4, metadata={"user_id": "u"}, service_tier="auto"
    )
    expected = {"stop": ["END"], "verbose": True, "temperature": 0, "top_p": 0.5, "top_k": 4}
    assert {key: request.body[key] for key in expected} == expected
    assert request.warnings == ()
    assert "verbose" not in ask(stop_sequences=[]).body
    assert refused(stop_sequences=[7]) == "stop_sequences"


def test_structured_output() -> None:
    """Newer clients' spelling; beside tools the tools win (E9)."""
    wanted = {"type": "json_schema", "schema": {"type": "object"}}
    request = ask(output_config={"format": wanted})
    assert request.body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert (request.constraint, request.schema) == (
        "json_schema",
        Asked("output_config.format.schema", {"type": "object"}),
    )
    beside = ask(output_config={"format": wanted}, tools=[TOOL])
    assert "response_format" not in beside.body
    assert (beside.constraint, beside.schema) == ("", None)
    assert beside.warnings == ("ignored; 'output_config.format' has no effect here",)
    assert ask(output_format=wanted, tools=[TOOL]).warnings == ("ignored; 'output_format' has no effect here",)
    assert refused(output_config={"format": {"type": "json_schema"}}) == "output_config"


def test_fields_without_effect_are_named() -> None:
    """Once each."""
    assert ask(container="x", mcp_servers=[]).warnings == (
        "ignored; 'container' has no effect here",
        "ignored; 'mcp_servers' has no effect here",
    )


def test_no_token_is_one_of_an_engine() -> None:
    """Documented as "only read the prompt into the cache"; an engine says one token whatever it is told."""
    assert ask(max_tokens=0).body["max_tokens"] == 1
    assert [only_warms({"max_tokens": limit}) for limit in (0, 0.0, 1, None, False)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    said = warmed(Answer("x", "y", (), Finish("stop"), Usage(7, 1, 3, thought=1)))
    told = reply(Turn("m"), said)
    assert (told["content"], told["stop_reason"]) == ([], "max_tokens")
    assert (told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (7, 0)


def test_a_stream_asks_for_the_size_of_its_prompt() -> None:
    """`message_start` tells it; what is not streamed tells it anyway."""
    assert ask(stream=True).body["return_progress"] is True
    assert "return_progress" not in ask().body
    assert "return_progress" not in counting_request({"messages": HI, "stream": True}, "child").body


@pytest.mark.parametrize("limit", [None, -1, "64", True, 1.5])
def test_max_tokens_is_required(limit: Any) -> None:
    """As Anthropic requires it."""
    assert refused(max_tokens=limit) == "max_tokens"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"messages": None}, "messages"),
        ({"tools": [{"name": "f"}]}, "tools[0].input_schema"),
        ({"tools": [TOOL, TOOL]}, "tools"),
        ({"temperature": 2}, "temperature"),
        ({"top_p": -0.5}, "top_p"),
        ({"metadata": 5}, "metadata"),
        ({"messages": [7]}, "messages[0]"),
        ({"tools": [7]}, "tools[0]"),
        ({"tools": [{"input_schema": {}}]}, "tools[0].name"),
        ({"tools": [{"name": "f", "input_schema": 7}]}, "tools[0].input_schema"),
        ({"thinking": {"type": "often"}}, "thinking.type"),
        ({"stream": "no"}, "stream"),
        ({"thinking": False}, "thinking"),
        ({"output_config": False}, "output_config"),
        ({"output_config": {"format": False}}, "output_config"),
        ({"output_config": {"effort": 3}}, "output_config.effort"),
        ({"output_format": False}, "output_format"),
        ({"temperature": True}, "temperature"),
        ({"top_p": "0.5"}, "top_p"),
        ({"tools": [{**TOOL, "strict": "yes"}]}, "tools[0].strict"),
        ({"tools": [{**TOOL, "description": 7}]}, "tools[0].description"),
        (
            {"tools": [TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": "yes"}},
            "tool_choice.disable_parallel_tool_use",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "is_error": "yes"}]}]},
            "messages[0].content[0].is_error",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": False}]}]},
            "messages[0].content[0].thinking",
        ),
    ],
)
def test_what_is_malformed_is_named(more: dict[str, Any], field: str) -> None:
    """By its place."""
    assert refused(**more) == field


def test_counting_reads_the_same_prompt() -> None:
    """The real call and the count must agree to the token (C3)."""
    body = {
        "model": "m",
        "messages": HI,
        "system": "A",
        "tools": [TOOL],
        "thinking": {"type": "enabled", "budget_tokens": 9},
    }
    real = messages_request({**body, "max_tokens": 5}, "child").body
    assert counting_request(body, "child").body == {key: value for key, value in real.items() if key != "max_tokens"}
    assert count_reply(7) == {"input_tokens": 7}


def test_a_buffered_reply() -> None:
    """Thinking, text, calls; only tool_use has an `input` (C6)."""
    answer = Answer("a", "b", (Call("c1", "f", '{"x":1}'), Call("", "g", "")), Finish("tool_calls"), Usage(30, 4, 20))
    said = reply(Turn("m", id="plm-1"), answer)
    assert [block["type"] for block in said["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert [("input" in block) for block in said["content"]] == [False, False, True, True]
    assert said["content"][0]["signature"]
    assert said["content"][2] == {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}
    assert said["content"][3]["id"] == "call_plm-1_1"
    assert (said["id"], said["model"], said["stop_reason"], said["stop_sequence"]) == (
        "msg_plm-1",
        "m",
        "tool_use",
        None,
    )
    assert said["usage"]["input_tokens"] == 30
    json.dumps(said)
    assert next(block["type"] for block in reply(Turn("m", thinking=False), answer)["content"]) == "text"


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        (Finish("stop"), ("end_turn", None)),
        (Finish("stop", "END"), ("stop_sequence", "END")),
        (Finish("length", "END"), ("max_tokens", None)),
        (Finish("tool_calls"), ("tool_use", None)),
        (Finish("content_filter"), ("refusal", None)),
    ],
)
def test_stop_reasons(finish: Finish, expected: tuple[str, str | None]) -> None:
    """Their words for the same ends."""
    assert stop_of(finish) == expected


@pytest.mark.parametrize(("window", "full"), [(0, False), (100, True), (102, True), (200, False)])
def test_a_full_window_is_another_end_than_the_limit(window: int, full: bool) -> None:
    """Whole and streamed alike; a window that nobody knows is never full."""
    expected = "model_context_window_exceeded" if full else "max_tokens"
    usage = Usage(60, 40)
    assert stop_of(Finish("length"), usage, window) == (expected, None)
    assert stop_of(Finish("stop"), usage, window) == ("end_turn", None)
    assert reply(Turn("m"), Answer("a", "", (), Finish("length"), usage), window)["stop_reason"] == expected
    writer = BlockWriter(Turn("m"), window=window)
    for delta in (Text("a"), Finish("length"), usage):
        writer.write(delta)
    assert f'"stop_reason":"{expected}"'.encode() in writer.flush()


def test_a_tools_unread_fields_are_named_and_strict_is_handed_on() -> None:
    """`cache_control` has no effect on one local answer anyway."""
    tool = {
        "name": "f",
        "input_schema": {"type": "object"},
        "strict": True,
        "cache_control": {},
        "input_examples": [{}],
    }
    request = messages_request(
        {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "tools": [tool]}, "child"
    )
    assert request.body["tools"][0]["function"]["strict"] is True
    assert request.warnings == ("ignored; 'tools[0].input_examples' has no effect here",)


def test_thinking_that_is_not_to_be_shown_is_named() -> None:
    """Thoughts are shown as they are, or not asked for."""
    given = {"type": "adaptive", "display": "omitted"}
    assert (
        "thinking.display"
        in messages_request(
            {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "thinking": given}, "child"
        ).warnings[0]
    )
    with pytest.raises(Malformed, match="budget_tokens"):
        messages_request(
            {
                "model": "m",
                "max_tokens": 5,
                "messages": [{"role": "user", "content": "hi"}],
                "thinking": {"type": "enabled", "budget_tokens": -1},
            },
            "child",
        )


def test_the_whole_prompt_is_input() -> None:
    """Cached or not, so that it equals what count_tokens said (C3)."""
    assert usage_counts(Usage(237, 35, 236))["input_tokens"] == 237
    assert usage_counts(Usage(1, 10, thought=4))["output_tokens_details"] == {"thinking_tokens": 4}


def test_a_forced_tool_is_a_form() -> None:
    """Its call's arguments are to have its schema; one that may be called is no promise (D19)."""
    request = ask(tools=[TOOL, OTHER], tool_choice={"type": "tool", "name": "g"})
    assert (request.schema, request.constraint) == (
        Asked("tool_choice", {"type": "object"}, of_call=True),
        "json_schema",
    )
    for choice in ({"type": "any"}, {"type": "auto"}, None):
        request = ask(tools=[TOOL], tool_choice=choice)
        assert (request.schema, request.constraint) == (None, "")


def test_of_a_cut_call_the_input_is_what_was_told_whole() -> None:
    """As the SDK has it of a stream; a call that ended by itself keeps what is no object under `raw`."""
    for finish, value in (("length", {"a": 1}), ("tool_calls", {"raw": '{"a": 1, "b": "x'})):
        answer = Answer("", "", (Call("c", "f", '{"a": 1, "b": "x'),), Finish(finish), Usage(1, 1))
        said = reply(Turn("m"), answer)
        assert said["content"][0]["input"] == value
    assert (
        reply(Turn("m"), Answer("", "", (Call("c", "f", "{"),), Finish("length"), Usage(1, 1)))["stop_reason"]
        == "max_tokens"
    )
