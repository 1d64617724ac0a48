"""The PyPI package `openai`: chats with tools, and chats whose answer has a form."""

import json
from typing import Any

from tests.matrix.clients.openai_python import CHAT, HI, OPENAI, connect, counts, refused, soothe
from tests.matrix.registry import Target
from tests.support.scripted_gguf import HELLO, PONDERED

ADD_IT: Any = [{"role": "user", "content": "add"}]


def function(name: str, *numbers: str) -> dict[str, Any]:
    """A tool that takes these whole numbers."""
    properties = {number: {"type": "integer", "description": f"the number {number}"} for number in numbers}
    schema = {"type": "object", "properties": properties, "required": list(numbers), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": f"does {name}", "parameters": schema}}


ADD, SUB = function("add", "a", "b"), function("sub", "c")


def called(target: Target, **fields: Any) -> list[str]:
    """The names of what the model calls when it may call `add` and `sub`."""
    ask = {"model": target.model("scripted"), "messages": ADD_IT, "tools": [ADD, SUB], "max_tokens": 120, **fields}
    with connect(target) as client:
        choice = client.chat.completions.create(**ask).choices[0]
    calls = choice.message.tool_calls or []
    assert (choice.finish_reason == "tool_calls") == bool(calls)
    assert bool(choice.message.content) != bool(calls)
    return [call.function.name for call in calls]


@OPENAI.check(CHAT, tools=True)
def a_tool_call_arrives_whole(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(
            model=target.model("scripted"), messages=ADD_IT, tools=[ADD], max_tokens=120
        )
    (call,) = got.choices[0].message.tool_calls
    arguments = json.loads(call.function.arguments)
    assert (call.type, call.function.name, set(arguments)) == ("function", "add", {"a", "b"})
    assert all(isinstance(value, int) for value in arguments.values())
    assert call.id
    assert got.choices[0].message.content in (None, "")


@OPENAI.check(CHAT, tools=True, stream=True)
def a_streamed_tool_call_is_the_same(target: Target) -> None:
    ask = {"model": target.model("scripted"), "messages": ADD_IT, "tools": [ADD], "max_tokens": 120}
    with connect(target) as client:
        whole = client.chat.completions.create(**ask)
        chunks = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    pieces = [call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
    assert {piece.index for piece in pieces} == {0}
    assert len([piece.id for piece in pieces if piece.id]) == 1
    call = whole.choices[0].message.tool_calls[0]
    assert "".join(piece.function.arguments or "" for piece in pieces) == call.function.arguments
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert counts(chunks[-1].usage) == counts(whole.usage)


@OPENAI.check(CHAT, tools=True, stream=True)
def the_stream_helper_tells_arguments(target: Target) -> None:
    with (
        connect(target) as client,
        client.chat.completions.stream(
            model=target.model("scripted"), messages=ADD_IT, tools=[ADD], max_tokens=120
        ) as stream,
    ):
        events = list(stream)
        final = stream.get_final_completion()
    deltas = [event for event in events if event.type == "tool_calls.function.arguments.delta"]
    (done,) = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert len(deltas) > 1
    assert "".join(event.arguments_delta for event in deltas) == done.arguments == deltas[-1].arguments
    assert (done.name, done.index) == ("add", 0)
    assert final.choices[0].message.tool_calls[0].function.arguments == done.arguments


@OPENAI.check(CHAT, tools=True, schema=True)
def a_pydantic_tool_is_parsed(target: Target) -> None:
    import openai
    from pydantic import BaseModel

    class Query(BaseModel):
        """Look something up."""

        table: str
        limit: int

    with connect(target) as client:
        got = client.chat.completions.parse(
            model=target.model("scripted"), messages=ADD_IT, tools=[openai.pydantic_function_tool(Query)]
        )
    (call,) = got.choices[0].message.tool_calls
    assert isinstance(call.function.parsed_arguments, Query)


@OPENAI.check(CHAT, tools=True, schema=True, stream=True)
def a_pydantic_tool_is_parsed_from_a_stream(target: Target) -> None:
    import openai
    from pydantic import BaseModel

    class Query(BaseModel):
        """Look something up."""

        words: list[str]

    with (
        connect(target) as client,
        client.chat.completions.stream(
            model=target.model("scripted"), messages=ADD_IT, tools=[openai.pydantic_function_tool(Query)]
        ) as stream,
    ):
        final = stream.get_final_completion()
    assert isinstance(final.choices[0].message.tool_calls[0].function.parsed_arguments, Query)


@OPENAI.check(CHAT, tools=True)
def the_choice_auto_lets_the_model_choose(target: Target) -> None:
    assert called(target, tool_choice="auto")
    with connect(target) as client:
        asked: Any = [{"role": "user", "content": "long"}]
        got = client.chat.completions.create(
            model=target.model("scripted"), messages=asked, tools=[ADD], tool_choice="auto", max_tokens=4
        )
    assert got.choices[0].message.content.startswith("tick")


@OPENAI.check(CHAT, tools=True)
def the_choice_none_forbids_calls(target: Target) -> None:
    assert called(target, tool_choice="none") == []


@OPENAI.check(CHAT, tools=True)
def the_choice_required_forces_a_call(target: Target) -> None:
    assert len(called(target, tool_choice="required")) == 1


@OPENAI.check(CHAT, tools=True)
def a_named_choice_forces_that_function(target: Target) -> None:
    for name in ("sub", "add"):
        assert called(target, tool_choice={"type": "function", "function": {"name": name}}) == [name]


@OPENAI.check(CHAT, tools=True)
def the_choice_of_allowed_tools_narrows(target: Target) -> None:
    for name in ("sub", "add"):
        for mode in ("auto", "required"):
            allowed = {"mode": mode, "tools": [{"type": "function", "function": {"name": name}}]}
            assert called(target, tool_choice={"type": "allowed_tools", "allowed_tools": allowed}) == [name]


@OPENAI.check(CHAT, tools=True, error="BadRequestError")
def a_choice_of_no_tool_is_refused(target: Target) -> None:
    with connect(target) as client:
        for choice in (
            {"type": "function", "function": {"name": "nobody"}},
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"function": {"name": "nobody"}}]}},
        ):
            error = refused(
                "BadRequestError",
                client.chat.completions.create,
                model=target.model("scripted"),
                messages=ADD_IT,
                tools=[ADD],
                tool_choice=choice,
            )
            assert "nobody" in error.message
            assert (error.param, error.status_code, error.type) == ("tool_choice", 400, "blazar_error")


@OPENAI.check(CHAT, tools=True)
def a_tool_loop_comes_to_its_end(target: Target) -> None:
    messages: Any = list(ADD_IT)
    with connect(target) as client:
        for _ in range(4):
            choice = client.chat.completions.create(
                model=target.model("scripted"), messages=messages, tools=[ADD, SUB], max_tokens=120
            ).choices[0]
            if not choice.message.tool_calls:
                break
            messages.append(choice.message)
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": "3"} for call in choice.message.tool_calls
            ]
    assert choice.message.content == HELLO
    assert [one["role"] if isinstance(one, dict) else one.role for one in messages] == ["user", "assistant", "tool"]


@OPENAI.check(CHAT, tools=True)
def parallel_calls_of_a_history_are_read(target: Target) -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
        for n in range(2)
    ]
    messages: Any = [
        *ADD_IT,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c0", "content": "3"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "4"}]},
    ]
    with connect(target) as client:
        for parallel in (True, False):
            got = client.chat.completions.create(
                model=target.model("scripted"), messages=messages, tools=[ADD], parallel_tool_calls=parallel
            )
            assert got.choices[0].message.content == HELLO


@OPENAI.check(CHAT, tools=True)
def one_call_is_made_where_parallel_ones_are_forbidden(target: Target) -> None:
    assert len(called(target, parallel_tool_calls=False)) == 1


@OPENAI.check(CHAT, tools=True)
def a_broken_history_is_repaired(target: Target) -> None:
    messages: Any = [
        *ADD_IT,
        {"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "add", "arguments": {"a": 1}}}]},
        {"role": "tool", "tool_call_id": None, "content": "3"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "add", "arguments": '{"a": 1'}}]},
        {"role": "tool", "content": None},
    ]
    with connect(target) as client:
        got = client.chat.completions.create(model=target.model("scripted"), messages=messages, tools=[ADD])
    assert got.choices[0].message.content == HELLO


@OPENAI.check(CHAT, tools=True, error="BadRequestError")
def a_call_without_a_name_is_refused(target: Target) -> None:
    bare = {"id": "x", "type": "function"}
    unnamed = {"id": "x", "function": {"arguments": "{}"}}
    for call, words in ((bare, "function"), (unnamed, "messages[1].tool_calls[0]")):
        with connect(target) as client:
            messages: Any = [*ADD_IT, {"role": "assistant", "tool_calls": [call]}]
            error = refused(
                "BadRequestError", client.chat.completions.create, model=target.model("scripted"), messages=messages
            )
        assert words in error.message


@OPENAI.check(CHAT, tools=True, error="BadRequestError")
def tools_for_a_template_without_them_are_refused(target: Target) -> None:
    ask = {"model": target.model("chat"), "messages": ADD_IT, "tools": [ADD], "max_tokens": 4}
    with connect(target) as client:
        error = refused("BadRequestError", client.chat.completions.create, **ask)
        unused = client.chat.completions.create(**ask, tool_choice="none")
    assert (error.param, target.model("scripted") in error.message) == ("tools", True)
    assert unused.choices[0].message.content


@OPENAI.check(CHAT, tools=True, schema=True)
def a_tool_may_have_no_description_and_no_parameters(target: Target) -> None:
    tool: Any = {"type": "function", "function": {"name": "now", "description": None, "parameters": None}}
    assert called(target, tools=[tool]) == ["now"]
    assert called(target, tools=[{"type": "function", "function": {"name": "now"}}]) == ["now"]


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "kind": {"type": "string", "enum": ["red", "blue"]},
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "inner": {"$ref": "#/$defs/inner"},
    },
    "required": ["n", "kind", "names", "inner"],
    "additionalProperties": False,
    "$defs": {
        "inner": {
            "type": "object",
            "properties": {"ok": {"type": "boolean"}},
            "required": ["ok"],
            "additionalProperties": False,
        }
    },
}


def shaped(target: Target, form: Any, **fields: Any) -> Any:
    """The raw answer that has this form."""
    ask = {"model": target.model("scripted"), "messages": HI, "max_tokens": 200}
    with connect(target) as client:
        return client.chat.completions.with_raw_response.create(**ask, response_format=form, **fields)


@OPENAI.check(CHAT, schema=True)
def the_format_text_changes_nothing(target: Target) -> None:
    raw = shaped(target, {"type": "text"})
    assert raw.parse().choices[0].message.content == HELLO
    assert "x-blazar-structured-output" not in raw.headers


@OPENAI.check(CHAT, schema=True)
def the_format_json_object_gives_an_object(target: Target) -> None:
    raw = shaped(target, {"type": "json_object"})
    assert isinstance(json.loads(raw.parse().choices[0].message.content), dict)
    assert raw.headers["x-blazar-structured-output"] == "json_object"


@OPENAI.check(CHAT, schema=True)
def a_json_schema_is_kept_to(target: Target) -> None:
    raw = shaped(target, {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}})
    said = json.loads(raw.parse().choices[0].message.content)
    assert set(said) == {"n", "kind", "names", "inner"}
    assert (said["kind"] in ("red", "blue"), len(said["names"]) >= 2, type(said["inner"]["ok"])) == (True, True, bool)
    assert raw.headers["x-blazar-structured-output"] == "json_schema"


@OPENAI.check(CHAT, schema=True)
def a_grammar_is_kept_to(target: Target) -> None:
    raw = shaped(target, {"type": "gbnf", "grammar": 'root ::= "yes" | "no"'})
    assert raw.parse().choices[0].message.content in ("yes", "no")
    assert raw.headers["x-blazar-structured-output"] == "gbnf"


@OPENAI.check(CHAT, schema=True)
def parse_gives_an_object_of_ones_class(target: Target) -> None:
    from pydantic import BaseModel

    class Step(BaseModel):
        say: str

    class Plan(BaseModel):
        title: str
        steps: list[Step]
        done: bool | None

    with connect(target) as client:
        got = client.chat.completions.parse(model=target.model("scripted"), messages=HI, response_format=Plan)
    assert isinstance(got.choices[0].message.parsed, Plan)


@OPENAI.check(CHAT, schema=True, stream=True)
def a_stream_is_parsed_as_it_comes(target: Target) -> None:
    from pydantic import BaseModel

    class Plan(BaseModel):
        title: str
        count: int

    with (
        connect(target) as client,
        client.chat.completions.stream(model=target.model("scripted"), messages=HI, response_format=Plan) as stream,
    ):
        events = list(stream)
        final = stream.get_final_completion()
    assert any(event.type == "content.delta" and isinstance(event.parsed, dict) for event in events)
    (done,) = [event for event in events if event.type == "content.done"]
    assert done.parsed == final.choices[0].message.parsed
    assert isinstance(done.parsed, Plan)


@OPENAI.check(CHAT, schema=True, error="LengthFinishReasonError")
def an_answer_that_is_cut_is_not_parsed(target: Target) -> None:
    from pydantic import BaseModel

    class Plan(BaseModel):
        title: str
        steps: list[str]

    with connect(target) as client:
        error = refused(
            "LengthFinishReasonError",
            client.chat.completions.parse,
            model=target.model("scripted"),
            messages=HI,
            response_format=Plan,
            max_tokens=3,
        )
    assert error.completion.usage.completion_tokens == 3


@OPENAI.check(CHAT, schema=True, error="BadRequestError")
def a_form_that_is_none_is_refused(target: Target) -> None:
    forms: dict[str, Any] = {
        "response_format": 5,
        "response_format.grammar": {"type": "gbnf"},
    }
    with connect(target) as client:
        for param, form in forms.items():
            error = refused(
                "BadRequestError",
                client.chat.completions.create,
                model=target.model("scripted"),
                messages=HI,
                response_format=form,
            )
            assert (error.param, error.status_code) == (param, 400)


@OPENAI.check(CHAT, schema=True, tools=True)
def beside_tools_a_form_gives_way_with_a_warning(target: Target) -> None:
    raw = shaped(target, {"type": "json_object"}, tools=[ADD])
    assert raw.parse().choices[0].message.tool_calls
    assert "response_format" in raw.headers["x-blazar-warning"]


WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
TWICE: Any = [{"role": "user", "content": "call twice"}]


@OPENAI.check(CHAT, tools=True)
def parallel_calls_are_told_apart(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(
            model=target.model("scripted"), messages=TWICE, tools=[WEATHER], parallel_tool_calls=True
        )
    calls = got.choices[0].message.tool_calls
    assert [json.loads(call.function.arguments)["city"] for call in calls] == ["Paris", "Rome"]
    assert len({call.id for call in calls}) == 2


@OPENAI.check(CHAT, tools=True, stream=True)
def parallel_calls_are_accumulated(target: Target) -> None:
    with (
        connect(target) as client,
        client.chat.completions.stream(
            model=target.model("scripted"), messages=TWICE, tools=[WEATHER], parallel_tool_calls=True
        ) as stream,
    ):
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    assert [(event.index, json.loads(event.arguments)["city"]) for event in done] == [(0, "Paris"), (1, "Rome")]
    calls = final.choices[0].message.tool_calls
    assert [call.function.arguments for call in calls] == [event.arguments for event in done]
    assert len({call.id for call in calls}) == 2


@OPENAI.check(CHAT, tools=True, stream=True)
def a_thought_before_a_call_is_apart(target: Target) -> None:
    asked: Any = [{"role": "user", "content": "ponder"}]
    with connect(target) as client:
        whole = client.chat.completions.create(model=target.model("scripted"), messages=asked, tools=[ADD])
        with client.chat.completions.stream(model=target.model("scripted"), messages=asked, tools=[ADD]) as stream:
            streamed = stream.get_final_completion()
    for got in (whole, streamed):
        message = got.choices[0].message
        assert message.reasoning_content.strip() == PONDERED.strip()
        assert (len(message.tool_calls), message.content or "") == (1, "")


@OPENAI.check(CHAT, tools=True, stream=True, error="APIError")
def an_error_within_a_stream_is_raised(target: Target) -> None:
    def read(client: Any) -> None:
        asked: Any = [{"role": "user", "content": "play error"}]
        list(client.chat.completions.create(model=target.model("played"), messages=asked, stream=True))

    with connect(target) as client:
        soothe(client, target)
        error = refused("APIError", read, client=client)
        soothe(client, target)
    assert "does not match the expected" in error.message


@OPENAI.check(CHAT, error="InternalServerError")
def an_engines_error_keeps_its_status_and_text(target: Target) -> None:
    asked: Any = [{"role": "user", "content": "play error"}]
    with connect(target) as client:
        soothe(client, target)
        error = refused(
            "InternalServerError", client.chat.completions.create, model=target.model("played"), messages=asked
        )
        soothe(client, target)
    assert (error.status_code, error.code, error.type) == (500, "500", "blazar_error")
    assert "does not match the expected" in error.message


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@OPENAI.check(CHAT, tools=True)
def no_more_than_one_call_comes_where_calls_may_not_be_parallel(target: Target) -> None:
    ask: Any = {"messages": [{"role": "user", "content": "call twice"}], "tools": [WEATHER], "max_tokens": 120}
    with connect(target) as client:
        for parallel, cities in ((True, ["Paris", "Rome"]), (False, ["Paris"])):
            choice = client.chat.completions.create(
                model=target.model("scripted"), parallel_tool_calls=parallel, **ask
            ).choices[0]
            assert [json.loads(call.function.arguments)["city"] for call in choice.message.tool_calls] == cities
            assert choice.finish_reason == "tool_calls"


@OPENAI.check(CHAT, tools=True, stream=True)
def no_more_than_one_call_is_streamed_where_calls_may_not_be_parallel(target: Target) -> None:
    ask: Any = {"messages": [{"role": "user", "content": "call twice"}], "tools": [WEATHER], "max_tokens": 120}
    with connect(target) as client:
        for parallel, cities in ((True, ["Paris", "Rome"]), (False, ["Paris"])):
            with client.chat.completions.stream(
                model=target.model("scripted"), parallel_tool_calls=parallel, **ask
            ) as stream:
                choice = stream.get_final_completion().choices[0]
            assert [json.loads(call.function.arguments)["city"] for call in choice.message.tool_calls] == cities
            assert choice.finish_reason == "tool_calls"


@OPENAI.check(CHAT, error="BadRequestError")
def whether_calls_may_be_parallel_is_a_switch(target: Target) -> None:
    with connect(target) as client:
        ask: Any = {"model": target.model("chat"), "messages": ADD_IT, "extra_body": {"parallel_tool_calls": "no"}}
        error = refused("BadRequestError", client.chat.completions.create, **ask)
    assert error.param == "parallel_tool_calls"
