"""The PyPI package `anthropic`: tools, the tool runner, thinking, and answers that have a form."""

import json
from typing import Any

from tests.matrix.clients.anthropic_python import ANTHROPIC, connect, only_text, said, with_async
from tests.matrix.raising import raised
from tests.matrix.registry import Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, THOUGHT

ADD = {
    "name": "add",
    "description": "add two numbers",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
PAINT = {
    "name": "paint",
    "input_schema": {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "green"]},
            "where": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        },
        "required": ["colour", "where"],
    },
}
THINKING = {"type": "enabled", "budget_tokens": 1024}


def used(message: Any) -> Any:
    """The one tool call of a message that ended for it."""
    assert message.stop_reason == "tool_use", message
    (block,) = [block for block in message.content if block.type == "tool_use"]
    return block


@ANTHROPIC.check("/v1/messages", tools=True)
def a_tool_is_used_when_the_model_chooses(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"),
            max_tokens=80,
            tools=[ADD],
            tool_choice={"type": "auto"},
            messages=said("add"),
        )
    block = used(got)
    assert block.id
    assert block.name == "add"
    assert {type(block.input[name]) for name in ("a", "b")} == {int}


@ANTHROPIC.check("/v1/messages", tools=True)
def any_tool_has_to_be_used(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"),
            max_tokens=120,
            tools=[ADD, PAINT],
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
            messages=said("Do."),
        )
    assert used(got).name in ("add", "paint")


@ANTHROPIC.check("/v1/messages", tools=True)
def the_named_tool_of_two_is_used(target: Target) -> None:
    with connect(target) as client:
        for tool in (PAINT, ADD):
            got = client.messages.create(
                model=target.model("scripted"),
                max_tokens=120,
                tools=[ADD, PAINT],
                tool_choice={"type": "tool", "name": tool["name"]},
                messages=said("Go."),
            )
            assert used(got).name == tool["name"]


@ANTHROPIC.check("/v1/messages", tools=True)
def no_tool_is_used_where_none_may_be(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("chat"),
            max_tokens=8,
            tools=[ADD],
            tool_choice={"type": "none"},
            messages=said("Add 1 and 2."),
        )
    assert only_text(got)


@ANTHROPIC.check("/v1/messages", tools=True, error="BadRequestError")
def a_forced_tool_without_a_name_is_refused(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = raised(
            anthropic.BadRequestError,
            lambda: client.messages.create(
                model=target.model("scripted"),
                max_tokens=80,
                tools=[ADD],
                tool_choice={"type": "tool"},
                messages=said("x"),
            ),
        )
    assert error.type == "invalid_request_error"
    assert "tool_choice" in error.message


@ANTHROPIC.check("/v1/messages", tools=True, error="BadRequestError")
def a_forced_tool_that_is_not_declared_is_refused(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = raised(
            anthropic.BadRequestError,
            lambda: client.messages.create(
                model=target.model("scripted"),
                max_tokens=80,
                tools=[ADD],
                tool_choice={"type": "tool", "name": "fly"},
                messages=said("x"),
            ),
        )
    assert "fly" in error.message


@ANTHROPIC.check("/v1/messages", tools=True, schema=True)
def the_input_obeys_the_tools_schema(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"), max_tokens=160, tools=[PAINT], messages=said("paint")
        )
    given = used(got).input
    assert given["colour"] in ("red", "green")
    assert isinstance(given["where"]["x"], int | float)


@ANTHROPIC.check("/v1/messages", stream=True, tools=True)
def a_tools_input_grows_in_the_stream(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("scripted"), max_tokens=80, tools=[ADD], messages=said("add")
        ) as stream,
    ):
        grown = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    assert used(final).input == json.loads("".join(grown))


@ANTHROPIC.check("/v1/messages", stream=True, tools=True)
def usage_with_tools_is_the_same_in_a_stream(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 80, "tools": [ADD], "messages": said("add")}
        whole = client.messages.create(**asked).usage
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message().usage
    assert (whole.input_tokens, whole.output_tokens) == (streamed.input_tokens, streamed.output_tokens)


@ANTHROPIC.check("/v1/messages", tools=True)
def two_calls_and_both_results_are_understood(target: Target) -> None:
    calls = [{"type": "tool_use", "id": f"toolu_{n}", "name": "add", "input": {"a": n, "b": 1}} for n in (1, 2)]
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "3"}]},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"},
    ]
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"),
            max_tokens=40,
            tools=[ADD],
            messages=[
                *said("add twice"),
                {"role": "assistant", "content": calls},
                {"role": "user", "content": results},
            ],
        )
    assert only_text(got) == HELLO


@ANTHROPIC.check("/v1/messages", tools=True)
def a_failed_tool_is_told_to_the_model(target: Target) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 40, "tools": [ADD]}
        for content in ("overflow", None, []):
            result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": content}
            turns = [*said("add"), {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
            assert only_text(client.messages.create(**asked, messages=turns)) == HELLO


@ANTHROPIC.check("/v1/messages", tools=True)
def words_after_a_result_come_after_it(target: Target) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
    said_then = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"},
        {"type": "text", "text": "Now tell it at long last."},
    ]
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"),
            max_tokens=2,
            tools=[ADD],
            messages=[
                *said("add"),
                {"role": "assistant", "content": [{"type": "text", "text": "Sure."}, call]},
                {"role": "user", "content": said_then},
            ],
        )
    assert only_text(got).startswith("tick")


@ANTHROPIC.check("/v1/messages", tools=True)
def a_tool_that_runs_elsewhere_is_named_in_a_warning(target: Target) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    with connect(target) as client:
        raw = client.messages.with_raw_response.create(
            model=target.model("scripted"), max_tokens=80, tools=[search, ADD], messages=said("add")
        )
    assert "tools[0]" in raw.headers["x-blazar-warning"]
    assert used(raw.parse()).name == "add"


def _adder(calls: list[tuple[int, int]]) -> Any:
    from anthropic import beta_tool

    @beta_tool
    def add(a: int, b: int) -> str:
        """Add two numbers.

        Args:
            a: One of them.
            b: The other.

        """
        calls.append((a, b))
        return str(a + b)

    return add


@ANTHROPIC.check("/v1/messages", tools=True)
def the_tool_runner_goes_the_whole_way(target: Target) -> None:
    calls: list[tuple[int, int]] = []
    with connect(target) as client:
        runner = client.beta.messages.tool_runner(
            model=target.model("scripted"), max_tokens=80, tools=[_adder(calls)], messages=said("add")
        )
        turns = list(runner)
    assert [turn.stop_reason for turn in turns] == ["tool_use", "end_turn"]
    assert len(calls) == 1
    assert turns[-1].content[0].text == HELLO


@ANTHROPIC.check("/v1/messages", stream=True, tools=True)
def the_tool_runner_streams(target: Target) -> None:
    calls: list[tuple[int, int]] = []
    with connect(target) as client:
        runner = client.beta.messages.tool_runner(
            model=target.model("scripted"), max_tokens=80, tools=[_adder(calls)], messages=said("add"), stream=True
        )
        finals = [turn.get_final_message() for turn in runner]
    assert [final.stop_reason for final in finals] == ["tool_use", "end_turn"]
    assert len(calls) == 1


@ANTHROPIC.check("/v1/messages", tools=True)
def the_tool_runner_tells_of_a_tool_that_raised(target: Target) -> None:
    from anthropic import beta_tool
    from anthropic.lib.tools import ToolError

    @beta_tool
    def fail(reason: str) -> str:
        """Fail for a reason."""
        raise ToolError(f"it failed: {reason}")

    with connect(target) as client:
        runner = client.beta.messages.tool_runner(
            model=target.model("scripted"), max_tokens=80, tools=[fail], messages=said("fail")
        )
        assert runner.until_done().content[0].text == HELLO


@ANTHROPIC.check("/v1/messages", tools=True)
def the_asynchronous_tool_runner_goes_the_whole_way(target: Target) -> None:
    from anthropic import beta_async_tool

    calls: list[str] = []

    @beta_async_tool
    async def look(city: str) -> str:
        """Look at the weather of a city."""
        calls.append(city)
        return "rain"

    async def work(client: Any) -> None:
        runner = client.beta.messages.tool_runner(
            model=target.model("scripted"), max_tokens=80, tools=[look], messages=said("look")
        )
        last = await runner.until_done()
        assert last.content[0].text == HELLO

    with_async(target, work)
    assert len(calls) == 1


@ANTHROPIC.check("/v1/messages")
def thinking_comes_before_the_text(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"), max_tokens=2000, thinking=THINKING, messages=said("think")
        )
    thought, text = got.content
    assert (thought.type, thought.thinking.strip()) == ("thinking", THOUGHT.strip())
    assert thought.signature
    assert text.text.strip() == CONCLUSION


@ANTHROPIC.check("/v1/messages")
def no_thinking_where_it_is_not_asked_for(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 40, "messages": said("think")}
        kinds = [
            {block.type for block in client.messages.create(**asked, **more).content}
            for more in ({}, {"thinking": {"type": "disabled"}})
        ]
    assert kinds == [{"text"}, {"text"}]


@ANTHROPIC.check("/v1/messages")
def adaptive_thinking_is_thinking(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"), max_tokens=200, thinking={"type": "adaptive"}, messages=said("think")
        )
    assert [block.type for block in got.content] == ["thinking", "text"]


@ANTHROPIC.check("/v1/messages", stream=True)
def thinking_streams_with_its_signature(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("scripted"), max_tokens=2000, thinking=THINKING, messages=said("think")
        ) as stream,
    ):
        events = list(stream)
        final = stream.get_final_message()
    kinds = [event.type for event in events if event.type in ("thinking", "signature", "text")]
    assert kinds == sorted(kinds, key=["thinking", "signature", "text"].index)
    assert "".join(event.thinking for event in events if event.type == "thinking") == final.content[0].thinking
    assert final.content[0].signature
    assert [event.index for event in events if event.type == "content_block_stop"] == [0, 1]


@ANTHROPIC.check("/v1/messages")
def thoughts_may_be_given_back_with_their_signature(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 2000, "thinking": THINKING}
        first = client.messages.create(**asked, messages=said("think"))
        redacted = {"type": "redacted_thinking", "data": "c2VjcmV0"}
        turns = [*said("think"), {"role": "assistant", "content": [redacted, *first.content]}, *said("think again")]
        second = client.messages.create(**asked, messages=turns)
    assert [block.type for block in second.content] == ["thinking", "text"]
    assert second.usage.input_tokens > first.usage.input_tokens


@ANTHROPIC.check("/v1/messages", tools=True)
def thoughts_before_a_call_may_be_given_back(target: Target) -> None:
    thought = {"type": "thinking", "thinking": "Adding.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"),
            max_tokens=2000,
            thinking=THINKING,
            tools=[ADD],
            messages=[
                *said("add"),
                {"role": "assistant", "content": [thought, call]},
                {"role": "user", "content": [result]},
            ],
        )
    assert only_text(got) == HELLO


def _city() -> Any:
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        people: int
        capital: bool

    return City


@ANTHROPIC.check("/v1/messages", schema=True)
def parse_gives_an_object_of_the_class(target: Target) -> None:
    city = _city()
    with connect(target) as client:
        got = client.messages.parse(
            model=target.model("scripted"), max_tokens=120, output_format=city, messages=said("Name a city.")
        )
    assert isinstance(got.parsed_output, city)


@ANTHROPIC.check("/v1/messages", stream=True, schema=True)
def a_stream_ends_with_an_object_of_the_class(target: Target) -> None:
    city = _city()
    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("scripted"), max_tokens=120, output_format=city, messages=said("Name a city.")
        ) as stream,
    ):
        final = stream.get_final_message()
    assert isinstance(final.parsed_output, city)


@ANTHROPIC.check("/v1/messages", schema=True)
def a_written_schema_is_kept_and_receipted(target: Target) -> None:
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}, "minItems": 1}, "n": {"type": "integer"}},
        "required": ["tags", "n"],
        "additionalProperties": False,
    }
    with connect(target) as client:
        raw = client.messages.with_raw_response.create(
            model=target.model("scripted"),
            max_tokens=120,
            output_config={"format": {"type": "json_schema", "schema": schema}},
            messages=said("x"),
        )
    got = json.loads(only_text(raw.parse()))
    assert set(got) == {"tags", "n"}
    assert got["tags"]
    assert isinstance(got["n"], int)
    assert raw.headers["x-blazar-structured-output"]


@ANTHROPIC.check("/v1/messages", schema=True)
def the_beta_half_parses_too(target: Target) -> None:
    city = _city()
    with connect(target) as client:
        got = client.beta.messages.parse(
            model=target.model("scripted"), max_tokens=120, output_format=city, messages=said("Name a city.")
        )
    assert isinstance(got.parsed_output, city)


@ANTHROPIC.check("/v1/messages", schema=True, error="BadRequestError")
def a_format_without_a_schema_is_refused(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = raised(
            anthropic.BadRequestError,
            lambda: client.messages.create(
                model=target.model("scripted"),
                max_tokens=9,
                output_config={"format": {"type": "json_schema"}},
                messages=said("x"),
            ),
        )
    assert "output_config" in error.message


@ANTHROPIC.check("/v1/messages", tools=True, stream=True)
def no_more_than_one_tool_is_used_where_that_is_asked_for(target: Target) -> None:
    weather = {
        "name": "get_weather",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    with connect(target) as client:
        for alone, cities in ((False, ["Paris", "Rome"]), (True, ["Paris"])):
            ask: Any = {
                "model": target.model("scripted"),
                "max_tokens": 120,
                "tools": [weather],
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": alone},
                "messages": said("call twice"),
            }
            with client.messages.stream(**ask) as stream:
                streamed = stream.get_final_message()
            for got in (client.messages.create(**ask), streamed):
                assert [block.input["city"] for block in got.content if block.type == "tool_use"] == cities
                assert got.stop_reason == "tool_use"


@ANTHROPIC.check("/v1/messages", tools=True, stream=True)
def a_tool_use_that_was_cut_is_the_same_streamed(target: Target) -> None:
    ends = set()
    with connect(target) as client:
        for limit in range(4, 26, 3):
            ask: Any = {
                "model": target.model("scripted"),
                "max_tokens": limit,
                "tools": [PAINT],
                "tool_choice": {"type": "any"},
                "messages": said("Go."),
            }
            with client.messages.stream(**ask) as stream:
                streamed = stream.get_final_message()
            whole = client.messages.create(**ask)
            inputs = [[block.input for block in got.content if block.type == "tool_use"] for got in (whole, streamed)]
            assert inputs[0] == inputs[1]
            assert whole.stop_reason == streamed.stop_reason
            if inputs[0]:
                ends.add(whole.stop_reason)
                assert "raw" not in inputs[0][0]
    assert "max_tokens" in ends
