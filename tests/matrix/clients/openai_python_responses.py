"""The PyPI package `openai`: `client.responses`."""

import json
from typing import Any

from tests.matrix.clients.openai_python import HI, OPENAI, connect, refused, soothe
from tests.matrix.registry import Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT
from tests.support.typed_events import check_grammar

RESPONSES = "/v1/responses"
ADD: dict[str, Any] = {
    "type": "function",
    "name": "add",
    "description": "add two numbers",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "strict": True,
}


def call_in(response: Any) -> Any:
    """The one call of a function in it."""
    (call,) = [item for item in response.output if item.type == "function_call"]
    return call


@OPENAI.check(RESPONSES)
def a_response_has_text_status_and_usage(target: Target) -> None:
    with connect(target) as client:
        got = client.responses.create(
            model=target.model("scripted"), input="hi", instructions="Be brief.", metadata={"a": "b"}, temperature=0.5
        )
        chat = client.chat.completions.create(
            model=target.model("scripted"), messages=[{"role": "system", "content": "Be brief."}, *HI]
        )
    assert (got.object, got.status, got.model, got.id[:5]) == (
        "response",
        "completed",
        target.model("scripted"),
        "resp_",
    )
    assert (got.output_text, got.error, got.incomplete_details) == (HELLO, None, None)
    assert (got.metadata, got.instructions, got.temperature) == ({"a": "b"}, "Be brief.", 0.5)
    assert got.usage.output_tokens == HELLO_TOKENS
    assert (got.usage.input_tokens, got.usage.total_tokens) == (chat.usage.prompt_tokens, chat.usage.total_tokens)
    assert got._request_id.startswith("plm-")


@OPENAI.check("/v1/responses/input_tokens", tools=True)
def tokens_are_counted_before_a_response(target: Target) -> None:
    ask: Any = {"model": target.model("scripted"), "instructions": "Be brief.", "tools": [ADD]}
    with connect(target) as client:
        for more in ({"input": "hi"}, {"input": [{"role": "user", "content": "hi"}], "tool_choice": "none"}):
            counted = client.responses.input_tokens.count(**ask, **more)
            real = client.responses.create(**ask, **more, max_output_tokens=2)
            assert (counted.object, counted.input_tokens) == ("response.input_tokens", real.usage.input_tokens)
        after = client.responses.input_tokens.count(**ask, input="and", previous_response_id=real.id)
        assert after.input_tokens > counted.input_tokens


@OPENAI.check("/v1/responses/compact", error="NotFoundError")
def a_route_that_is_not_there_is_named(target: Target) -> None:
    with connect(target) as client:
        error = refused("NotFoundError", client.responses.compact, model=target.model("scripted"), input="hi")
    assert "/v1/responses/compact" in error.message


@OPENAI.check(RESPONSES, stream=True)
def the_events_keep_to_their_grammar(target: Target) -> None:
    with connect(target) as client:
        events = list(client.responses.create(model=target.model("scripted"), input="hi", stream=True))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == HELLO
    check_grammar([event.model_dump(mode="json", exclude_unset=True) for event in events])


@OPENAI.check(RESPONSES, stream=True)
def the_helper_ends_with_the_whole_response(target: Target) -> None:
    with connect(target) as client:
        with client.responses.stream(model=target.model("scripted"), input="hi") as stream:
            deltas = [event for event in stream if event.type == "response.output_text.delta"]
            final = stream.get_final_response()
        whole = client.responses.create(model=target.model("scripted"), input="hi")
    assert len(deltas) > 1
    assert deltas[-1].snapshot == final.output_text == whole.output_text
    assert (final.usage.input_tokens, final.usage.output_tokens) == (
        whole.usage.input_tokens,
        whole.usage.output_tokens,
    )


@OPENAI.check(RESPONSES, stream=True)
def a_limit_makes_a_response_incomplete(target: Target) -> None:
    ask = {"model": target.model("scripted"), "input": "long", "max_output_tokens": 4}
    with connect(target) as client:
        whole = client.responses.create(**ask)
        events = list(client.responses.create(**ask, stream=True))
    assert events[-1].type == "response.incomplete"
    for got in (whole, events[-1].response):
        assert (got.status, got.incomplete_details.reason) == ("incomplete", "max_output_tokens")
        assert got.usage.output_tokens == 4


@OPENAI.check(RESPONSES)
def items_of_every_shape_are_read(target: Target) -> None:
    items: Any = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "b", "annotations": []}],
        },
        {"role": "user", "content": "hi"},
    ]
    with connect(target) as client:
        got = client.responses.create(model=target.model("scripted"), input=items, store=False)
        less = client.responses.create(model=target.model("scripted"), input=items[-1:], store=False)
    assert got.output_text == HELLO
    assert got.usage.input_tokens > less.usage.input_tokens


@OPENAI.check(RESPONSES)
def a_conversation_goes_on_from_its_id(target: Target) -> None:
    with connect(target) as client:
        first = client.responses.create(model=target.model("scripted"), input="hi")
        second = client.responses.create(model=target.model("scripted"), input="again", previous_response_id=first.id)
        items = list(client.responses.input_items.list(second.id, order="asc"))
    assert second.previous_response_id == first.id
    assert second.usage.input_tokens > first.usage.input_tokens
    assert [(item.type, item.role) for item in items] == [
        ("message", "user"),
        ("message", "assistant"),
        ("message", "user"),
    ]
    assert items[1].content[0].text == HELLO


@OPENAI.check(RESPONSES)
def a_response_is_kept_and_deleted(target: Target) -> None:
    with connect(target) as client:
        made = client.responses.create(model=target.model("scripted"), input="hi")
        assert client.responses.retrieve(made.id) == made
        client.responses.delete(made.id)
        error = refused("NotFoundError", client.responses.retrieve, response_id=made.id)
        unkept = client.responses.create(model=target.model("scripted"), input="hi", store=False)
        refused("NotFoundError", client.responses.retrieve, response_id=unkept.id)
    assert made.id in error.message


@OPENAI.check(RESPONSES, error="NotFoundError")
def a_conversation_that_is_not_kept_is_not_found(target: Target) -> None:
    with connect(target) as client:
        for stream in (False, True):
            error = refused(
                "NotFoundError",
                client.responses.create,
                model=target.model("scripted"),
                input="hi",
                previous_response_id="resp_nowhere",
                stream=stream,
            )
            assert "resp_nowhere" in error.message


@OPENAI.check(RESPONSES)
def the_pages_of_input_items(target: Target) -> None:
    items: Any = [{"role": "user", "content": f"say {n}"} for n in range(5)]
    with connect(target) as client:
        made = client.responses.create(model=target.model("scripted"), input=items)
        page = client.responses.input_items.list(made.id, limit=2, order="asc")
        texts = [item.content[0].text for item in page]
    assert (len(page.data), page.has_more) == (2, True)
    assert texts == [f"say {n}" for n in range(5)]


@OPENAI.check(RESPONSES, stream=True)
def a_response_in_the_background_is_waited_for(target: Target) -> None:
    with connect(target) as client:
        made = client.responses.create(model=target.model("scripted"), input="hi", background=True)
        assert made.status in ("queued", "in_progress")
        events = list(client.responses.retrieve(made.id, stream=True))
        later = list(client.responses.retrieve(made.id, stream=True, starting_after=2))
        done = client.responses.retrieve(made.id)
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in later] == [event.sequence_number for event in events[3:]]
    assert (done.status, done.output_text, done.background) == ("completed", HELLO, True)


@OPENAI.check(RESPONSES)
def a_response_in_the_background_is_polled(target: Target) -> None:
    with connect(target) as client:
        got = client.responses.create(model=target.model("scripted"), input="hi", background=True)
        for _ in range(2000):
            if got.status not in ("queued", "in_progress"):
                break
            got = client.responses.retrieve(got.id)
    assert (got.status, got.output_text) == ("completed", HELLO)


@OPENAI.check(RESPONSES)
def a_response_in_the_background_is_cancelled(target: Target) -> None:
    with connect(target) as client:
        made = client.responses.create(model=target.model("scripted"), input="long", background=True)
        assert client.responses.cancel(made.id).status == "cancelled"
        assert client.responses.retrieve(made.id).status == "cancelled"
        next_ = client.responses.create(model=target.model("scripted"), input="hi")
        error = refused("BadRequestError", client.responses.cancel, response_id=next_.id)
    assert next_.output_text == HELLO
    assert "background" in error.message


@OPENAI.check(RESPONSES, tools=True)
def a_function_is_called_and_answered(target: Target) -> None:
    with connect(target) as client:
        made = client.responses.create(model=target.model("scripted"), input="add", tools=[ADD])
        call = call_in(made)
        result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "3"}]
        by_id = client.responses.create(
            model=target.model("scripted"), input=result, previous_response_id=made.id, tools=[ADD]
        )
        history: Any = [{"role": "user", "content": "add"}, *made.output, *result]
        by_hand = client.responses.create(model=target.model("scripted"), input=history, tools=[ADD], store=False)
    assert (call.name, call.status, set(json.loads(call.arguments))) == ("add", "completed", {"a", "b"})
    assert by_id.output_text == by_hand.output_text == HELLO
    assert by_id.usage.input_tokens == by_hand.usage.input_tokens


@OPENAI.check(RESPONSES, tools=True, stream=True)
def a_functions_arguments_are_streamed(target: Target) -> None:
    with connect(target) as client:
        with client.responses.stream(model=target.model("scripted"), input="add", tools=[ADD]) as stream:
            events = list(stream)
            final = call_in(stream.get_final_response())
        whole = client.responses.create(model=target.model("scripted"), input="add", tools=[ADD])
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    (done,) = [event for event in events if event.type == "response.function_call_arguments.done"]
    added = next(event.item for event in events if event.type == "response.output_item.added")
    assert len(deltas) > 1
    assert "".join(deltas) == done.arguments == final.arguments == call_in(whole).arguments
    assert (added.id, added.call_id) == (final.id, final.call_id)


@OPENAI.check(RESPONSES, tools=True, stream=True)
def parallel_calls_are_items_of_their_own(target: Target) -> None:
    tool: Any = {
        "type": "function",
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": False,
    }
    ask = {"model": target.model("scripted"), "input": "call twice", "tools": [tool], "parallel_tool_calls": True}
    with connect(target) as client:
        whole = client.responses.create(**ask)
        with client.responses.stream(**ask) as stream:
            streamed = stream.get_final_response()
        results: Any = [
            {"type": "function_call_output", "call_id": item.call_id, "output": "sun"} for item in whole.output
        ]
        after = client.responses.create(
            model=target.model("scripted"), input=results, tools=[tool], previous_response_id=whole.id
        )
    for got in (whole, streamed):
        assert [json.loads(item.arguments)["city"] for item in got.output] == ["Paris", "Rome"]
        assert len({item.call_id for item in got.output} | {item.id for item in got.output}) == 4
    assert after.output_text == HELLO


@OPENAI.check(RESPONSES, tools=True)
def every_choice_of_a_function_is_kept(target: Target) -> None:
    sub = {**ADD, "name": "sub"}
    choices: list[tuple[Any, list[str] | None]] = [
        ("none", []),
        ("auto", None),
        ("required", None),
        ({"type": "function", "name": "sub"}, ["sub"]),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "sub"}]}, ["sub"]),
    ]
    with connect(target) as client:
        for choice, names in choices:
            got = client.responses.create(
                model=target.model("scripted"), input="add", tools=[ADD, sub], tool_choice=choice, store=False
            )
            called = [item.name for item in got.output if item.type == "function_call"]
            assert called == names if names is not None else len(called) == 1, choice


@OPENAI.check(RESPONSES, tools=True)
def tools_that_run_elsewhere_are_named_in_a_warning(target: Target) -> None:
    tools: Any = [{"type": "web_search"}, ADD, {"type": "file_search", "vector_store_ids": ["x"]}]
    with connect(target) as client:
        raw = client.responses.with_raw_response.create(model=target.model("scripted"), input="add", tools=tools)
    told = ",".join(raw.headers.get_list("x-blazar-warning"))
    assert "tools[0]" in told
    assert "tools[2]" in told
    assert call_in(raw.parse()).name == "add"


@OPENAI.check(RESPONSES, tools=True)
def a_custom_tool_is_called_with_a_text(target: Target) -> None:
    tools: Any = [{"type": "custom", "name": "note", "description": "writes a note"}]
    with connect(target) as client:
        got = client.responses.create(model=target.model("scripted"), input="note", tools=tools)
        (call,) = [item for item in got.output if item.type == "custom_tool_call"]
        result: Any = [{"type": "custom_tool_call_output", "call_id": call.call_id, "output": "done"}]
        after = client.responses.create(
            model=target.model("scripted"), input=result, tools=tools, previous_response_id=got.id
        )
    assert (call.name, type(call.input), after.output_text) == ("note", str, HELLO)


@OPENAI.check(RESPONSES, tools=True, schema=True)
def a_pydantic_function_is_parsed(target: Target) -> None:
    import openai
    from pydantic import BaseModel

    class Query(BaseModel):
        """Look something up."""

        table: str
        limit: int

    with connect(target) as client:
        got = client.responses.parse(
            model=target.model("scripted"),
            input="look",
            tools=[openai.pydantic_function_tool(Query)],
        )
    assert isinstance(call_in(got).parsed_arguments, Query)


@OPENAI.check(RESPONSES, schema=True)
def a_text_format_is_parsed(target: Target) -> None:
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    with connect(target) as client:
        got = client.responses.parse(model=target.model("scripted"), input="Ada.", text_format=Person)
        raw = client.responses.with_raw_response.create(
            model=target.model("scripted"), input="Ada.", text={"format": {"type": "json_object"}}
        )
        with client.responses.stream(model=target.model("scripted"), input="Ada.", text_format=Person) as stream:
            streamed = stream.get_final_response()
    assert isinstance(got.output_parsed, Person)
    assert streamed.output_parsed == got.output_parsed
    assert raw.headers["x-blazar-structured-output"] == "json_object"
    assert isinstance(json.loads(raw.parse().output_text), dict)


@OPENAI.check(RESPONSES, stream=True)
def thoughts_are_items_before_the_message(target: Target) -> None:
    with connect(target) as client:
        whole = client.responses.create(model=target.model("scripted"), input="think")
        with client.responses.stream(model=target.model("scripted"), input="think") as stream:
            streamed = stream.get_final_response()
        silent = client.responses.create(model=target.model("scripted"), input="think", reasoning={"effort": "none"})
    for got in (whole, streamed):
        assert [item.type for item in got.output] == ["reasoning", "message"]
        assert got.output[0].content[0].text.strip() == THOUGHT.strip()
        assert got.output_text.strip() == CONCLUSION
        assert 0 < got.usage.output_tokens_details.reasoning_tokens < got.usage.output_tokens
    assert [item.type for item in silent.output] == ["message"]


@OPENAI.check(RESPONSES)
def thoughts_are_sealed_for_who_keeps_them(target: Target) -> None:
    with connect(target) as client:
        got = client.responses.create(
            model=target.model("scripted"),
            input="think",
            store=False,
            reasoning={"summary": "auto"},
            include=["reasoning.encrypted_content"],
        )
        more: Any = [{"role": "user", "content": "think"}, *got.output, {"role": "user", "content": "hi"}]
        after = client.responses.create(model=target.model("scripted"), input=more, store=False)
    assert got.output[0].summary[0].text.strip() == THOUGHT.strip()
    assert got.output[0].encrypted_content
    assert after.output_text == HELLO


@OPENAI.check(RESPONSES, error="BadRequestError")
def what_a_response_cannot_be_made_of_is_named(target: Target) -> None:
    asks: dict[str, Any] = {
        "input[0]": {"input": [{}]},
        "conversation": {"input": "hi", "conversation": "conv_1"},
        "background": {"input": "hi", "background": True, "store": False},
        "tool_choice": {"input": "hi", "tools": [ADD], "tool_choice": {"type": "function", "name": "nobody"}},
    }
    with connect(target) as client:
        for param, more in asks.items():
            error = refused("BadRequestError", client.responses.create, model=target.model("scripted"), **more)
            assert (error.param, error.code) == (param, "400")


@OPENAI.check(RESPONSES, error="NotFoundError")
def a_response_of_an_unknown_or_unfit_model(target: Target) -> None:
    with connect(target) as client:
        refused("NotFoundError", client.responses.create, model="no-such-model", input="hi")
        error = refused("BadRequestError", client.responses.create, model=target.model("embed"), input="hi")
    assert "embedding model" in error.message


@OPENAI.check(RESPONSES, stream=True)
def a_response_that_is_left_frees_its_place(target: Target) -> None:
    with connect(target) as client:
        with client.responses.stream(model=target.model("scripted"), input="long") as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    break
        got = client.responses.create(model=target.model("scripted"), input="hi", timeout=20)
    assert got.output_text == HELLO


@OPENAI.check(RESPONSES, tools=True, stream=True)
def the_tool_runner_comes_to_its_end(target: Target) -> None:
    from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner

    ran: list[Any] = []

    def add(arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return "3"

    asked: Any = {"model": target.model("scripted"), "input": "add"}
    with connect(target) as client:
        for stream in (False, True):
            runner = ResponsesToolRunner(functions=[RegisteredFunction(ADD, add)])  # type: ignore[arg-type]
            final = runner.run(client, asked, max_steps=4, stream=stream)
            assert final.output_text == HELLO
    assert [set(one) for one in ran] == [{"a", "b"}, {"a", "b"}]


@OPENAI.check(RESPONSES, stream=True, error="InternalServerError")
def a_responses_error_keeps_its_status_and_text(target: Target) -> None:
    with connect(target) as client:
        soothe(client, target)
        for stream in (False, True):
            error = refused(
                "InternalServerError",
                client.responses.create,
                model=target.model("played"),
                input="play error",
                stream=stream,
            )
            soothe(client, target)
            assert (error.status_code, error.code) == (500, "500")
            assert "does not match the expected" in error.message


@OPENAI.check(RESPONSES, tools=True, stream=True)
def no_more_than_one_call_responds_where_calls_may_not_be_parallel(target: Target) -> None:
    weather = {
        "type": "function",
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": False,
    }
    ask: Any = {"model": target.model("scripted"), "input": "call twice", "tools": [weather], "max_output_tokens": 120}
    with connect(target) as client:
        for parallel, cities in ((True, ["Paris", "Rome"]), (False, ["Paris"])):
            whole = client.responses.create(**ask, parallel_tool_calls=parallel)
            with client.responses.stream(**ask, parallel_tool_calls=parallel) as stream:
                streamed = stream.get_final_response()
            for got in (whole, streamed):
                calls = [item for item in got.output if item.type == "function_call"]
                assert [json.loads(call.arguments)["city"] for call in calls] == cities
                assert (got.status, got.parallel_tool_calls) == ("completed", parallel)
