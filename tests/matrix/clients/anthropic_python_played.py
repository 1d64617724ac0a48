"""The PyPI package `anthropic` and what only recorded streams can show: parallel calls, thoughts before a call, an engine that fails."""

from tests.matrix.clients.anthropic_python import ANTHROPIC, connect, only_text, said
from tests.matrix.clients.anthropic_python_tools import ADD, THINKING
from tests.matrix.raising import raised
from tests.matrix.registry import Target

WEATHER = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
CITIES = [{"city": "Paris"}, {"city": "Rome"}]


@ANTHROPIC.check("/v1/messages", tools=True)
def parallel_calls_are_blocks_of_their_own(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("played"), max_tokens=200, tools=[WEATHER], messages=said("play tool_parallel")
        )
    assert got.stop_reason == "tool_use"
    assert [block.input for block in got.content] == CITIES
    assert len({block.id for block in got.content}) == 2


@ANTHROPIC.check("/v1/messages", stream=True, tools=True)
def parallel_calls_stream_one_after_the_other(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("played"), max_tokens=200, tools=[WEATHER], messages=said("play tool_parallel")
        ) as stream,
    ):
        events = [event for event in stream if event.type in ("content_block_start", "content_block_stop")]
        final = stream.get_final_message()
    assert [block.input for block in final.content] == CITIES
    assert [(event.type[14:], event.index) for event in events] == [
        ("start", 0),
        ("stop", 0),
        ("start", 1),
        ("stop", 1),
    ]


@ANTHROPIC.check("/v1/messages", stream=True, tools=True)
def a_thought_before_a_call_streams(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("played"),
            max_tokens=2000,
            thinking=THINKING,
            tools=[ADD],
            messages=said("play think_tool"),
        ) as stream,
    ):
        final = stream.get_final_message()
    thought, call = final.content
    assert (thought.type, thought.thinking.strip()) == ("thinking", "A tool is needed.")
    assert (call.type, call.name, call.input) == ("tool_use", "add", {"a": 1, "b": 1})


@ANTHROPIC.check("/v1/messages", tools=True)
def a_call_without_its_thought_where_none_is_wanted(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("played"), max_tokens=200, tools=[ADD], messages=said("play think_tool")
        )
    assert [block.type for block in got.content] == ["tool_use"]


@ANTHROPIC.check("/v1/messages", stream=True, tools=True)
def a_call_that_is_cut_says_max_tokens(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("played"), "max_tokens": 30, "tools": [ADD], "messages": said("play tool_cut")}
        whole = client.messages.create(**asked)
        reasons = [
            event.delta.stop_reason
            for event in client.messages.create(**asked, stream=True)
            if event.type == "message_delta"
        ]
    assert [whole.stop_reason, *reasons] == ["max_tokens", "max_tokens"]


@ANTHROPIC.check("/v1/messages", stream=True)
def an_empty_answer_is_a_message(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("played"), "max_tokens": 30, "messages": said("play nothing")}
        whole = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
    assert whole.content == streamed.content == []
    assert whole.stop_reason == streamed.stop_reason == "end_turn"


@ANTHROPIC.check("/v1/messages", error="InternalServerError")
def the_engines_error_keeps_status_and_text(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = raised(
            anthropic.InternalServerError,
            lambda: client.messages.create(model=target.model("played"), max_tokens=30, messages=said("play error")),
        )
    assert (error.status_code, error.type) == (500, "api_error")
    assert "peg-native" in error.message


@ANTHROPIC.check("/v1/messages", stream=True, error="APIStatusError")
def an_error_in_the_stream_is_raised(target: Target) -> None:
    import anthropic

    def read() -> str:
        with client.messages.stream(model=target.model("played"), max_tokens=30, messages=said("play error")) as stream:
            return "".join(stream.text_stream)

    with connect(target) as client:
        error = raised(anthropic.APIStatusError, read)
    assert "peg-native" in error.message


@ANTHROPIC.check("/v1/messages", error="BadRequestError")
def a_prompt_that_is_too_long_is_refused(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = raised(
            anthropic.BadRequestError,
            lambda: client.messages.create(
                model=target.model("played"), max_tokens=30, messages=said("play refused/too_long")
            ),
        )
    assert error.type == "invalid_request_error"
    assert "tokens" in error.message


@ANTHROPIC.check("/v1/messages", stream=True)
def slow_pieces_arrive_as_they_come(target: Target) -> None:
    import time

    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("played"), max_tokens=30, messages=said("play text slowly")
        ) as stream,
    ):
        seen = [time.monotonic() for _ in stream.text_stream]
        final = stream.get_final_message()
    assert only_text(final)
    assert seen[-1] - seen[0] > 0.3
