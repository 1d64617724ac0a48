"""`/v1/responses` as the lane sees it."""

import copy
import json
import random
from contextlib import suppress
from typing import Any

import pytest

from blazar.adapters.http.lane.responses_jobs import ResponsesJob, responses
from blazar.domain.errors import Malformed
from blazar.domain.wire.delta import Finish, Reasoning, Text, ToolFragment, Usage
from blazar.domain.wire.responses_items import Recalled
from tests.support.kept_rig import RESPONSES, KeptRig, run_kept
from tests.support.lane_rig import whole_chat
from tests.support.typed_events import events

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
FORM = {"format": {"type": "json_schema", "name": "out", "schema": SCHEMA}}


def job(**body: Any) -> ResponsesJob:
    return responses(json.dumps({"model": "tiny", "input": "hi", **body}).encode())


def test_null_is_absent() -> None:
    """For every field (A13)."""
    names = ("instructions", "tools", "tool_choice", "text", "reasoning", "include", "metadata", "store", "stream")
    made = job(**dict.fromkeys(names), keep_alive=None, previous_response_id=None)
    assert made.warnings == ()
    assert json.loads(made.call("tiny").body) == json.loads(job().call("tiny").body)


def test_ids_cannot_be_guessed_and_differ() -> None:
    """A trace may be the caller's own word, an id may not."""
    first, second = (job().writer.response()["id"] for _ in range(2))
    assert first != second
    assert len(first) == len("resp_") + 32


@pytest.mark.parametrize(
    ("body", "keeps"),
    [({}, True), ({"store": False}, False), ({"store": False, "previous_response_id": "resp_1"}, True)],
)
def test_a_request_that_keeps_and_recalls_nothing_goes_the_short_way(body: dict[str, Any], keeps: bool) -> None:
    """Nothing of the store is on its path."""
    assert (job(**body).keeps is not None) is keeps


def test_what_clients_need_to_load_and_route_is_read() -> None:
    """How long the model stays (D4), whether there are pictures, and tools."""
    picture = [
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}
    ]
    made = job(keep_alive="5m", input=picture, tools=[{"type": "function", "name": "f"}])
    assert (made.keep_alive, made.vision, made.tools) == (300.0, True, True)


def test_a_wanted_form_gets_its_receipt() -> None:
    """Only while the answer is JSON (D19)."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", text=FORM)
        assert rig.asked["response_format"]["json_schema"]["schema"] == SCHEMA
        await rig.answered(whole_chat('{"n":1}'))
        assert reply.header(b"x-blazar-structured-output") == [b"json_schema"]
        reply = await rig.ask(RESPONSES, input="hi", text=FORM)
        await rig.answered(whole_chat("prose"))
        assert reply.header(b"x-blazar-structured-output") == []

    run_kept(test)


def test_a_schema_that_is_none_is_refused_before_anything_is_leased() -> None:
    """By the judge of all dialects, with the field's own name."""

    async def test(rig: KeptRig) -> None:
        form = {"format": {"type": "json_schema", "name": "x", "schema": {"type": 5}}}
        reply = await rig.ask(RESPONSES, input="hi", text=form)
        assert reply.json()["error"]["param"] == "text.format.schema"
        assert not rig.leasing.leases

    run_kept(test)


def test_warnings_leave_with_the_head() -> None:
    """Tools that are run elsewhere are named (A25)."""

    async def test(rig: KeptRig) -> None:
        tools = [{"type": "web_search"}, {"type": "function", "name": "f"}]
        reply = await rig.respond(input="hi", tools=tools)
        assert reply.header(b"x-blazar-warning") == [b"ignored; 'tools[0]' has no effect here"]
        assert [tool["function"]["name"] for tool in rig.asked["tools"]] == ["f"]

    run_kept(test)


def test_whole_and_streamed_are_the_same_response() -> None:
    """But for ids and times."""

    async def test(rig: KeptRig) -> None:
        whole = (await rig.respond(input="hi", said="Hello")).json()
        reply = await rig.ask(RESPONSES, input="hi", stream=True)
        rig.begin()
        rig.say("Hel", "lo")
        rig.end()
        await rig.until(rig.tasks[-1].done)
        streamed = events(reply.body)[-1]["response"]
        for response in (whole, streamed):
            response["output"][0].pop("id")
            response.pop("id")
        assert whole == streamed

    run_kept(test)


@pytest.mark.parametrize("body", [{"input": [{}]}, {"input": None}, {"tools": [5]}])
def test_what_cannot_be_understood_is_refused(body: dict[str, Any]) -> None:
    """While the job is made."""
    with pytest.raises(Malformed):
        job(**body)


WHOLE: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_file", "file_data": "aGk="}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "aGk="},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "namespace": "ns"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "file_id": "file-1"}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
        {"type": "item_reference", "id": "msg_1"},
    ],
    "instructions": "i",
    "tools": [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "description": "d"},
        {"type": "namespace", "name": "ns", "tools": [{"type": "custom", "name": "c", "format": {"definition": "x"}}]},
    ],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "metadata": {"a": "b"},
    "max_output_tokens": 5,
    "previous_response_id": "r",
}
STRANGE: tuple[Any, ...] = (None, True, -1, 1.5, 10**30, "", "x", [], {}, [[]], [{}], {"a": 1}, ["x"], {"type": ["x"]})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [place for key, item in inner for place in places(item, (*path, key))]


def test_no_mutation_of_a_request_does_worse_than_a_refusal() -> None:
    """Whatever stands anywhere in it: it is understood, answered, kept, or refused with a sentence."""
    chance = random.Random(7)  # the same ones each time
    for _ in range(1500):
        body = copy.deepcopy(WHOLE)
        for _ in range(chance.randint(1, 2)):
            *way, last = chance.choice(places(body)[1:])
            holder = body
            for key in way:
                holder = holder[key]
            holder[last] = copy.deepcopy(chance.choice(STRANGE))
        with suppress(Malformed):
            made = responses(json.dumps(body).encode())
            made.call("m")
            made.recall(Recalled([{"type": "message", "role": "user", "content": "h"}], {}, {}))
            for delta in (Reasoning("a"), Text("b"), ToolFragment(0, "c", "ns__c", "{}"), Finish("stop"), Usage(1, 2)):
                made.writer.write(delta)
            made.writer.flush()
            assert made.saved("", b"", 1.0) is not None


def too_long(tokens: int, window: int) -> bytes:
    error = {
        "code": 400,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens,
        "n_ctx": window,
        "message": "m",
    }
    return json.dumps({"error": error}).encode()


def long_talk() -> list[dict[str, str]]:
    return [{"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} " + "x" * 100} for at in range(21)]


@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_that_is_too_long_loses_its_beginning_on_request(stream: bool) -> None:
    """As often as the child refuses it; how much went is said once, and the child is not blamed."""

    async def test(rig: KeptRig) -> None:
        body = {"model": "tiny", "input": long_talk(), "truncation": "auto", "store": False, "stream": stream}
        reply = await rig.post(RESPONSES, body)
        await rig.answer(too_long(900, 800), 400)
        first = rig.asked["messages"]
        assert 1 < len(first) < 21
        assert first[0]["role"] == "user"
        await rig.answer(too_long(820, 800), 400)
        assert rig.asked["messages"] == first[-len(rig.asked["messages"]) :]
        gone = 21 - len(rig.asked["messages"])
        if stream:
            rig.begin()
            rig.say("Hello")
            rig.end()
            await rig.until(rig.tasks[-1].done)
        else:
            await rig.answer(whole_chat())
        assert reply.status == 200
        assert b'"truncation":"auto"' in reply.body
        (warning,) = reply.header(b"x-blazar-warning")
        assert f"lost {gone} messages".encode() in warning
        assert len(rig.upstream.exchanges) == 3

    run_kept(test)


@pytest.mark.parametrize(("truncation", "input_"), [("disabled", long_talk()), ("auto", "one long text")])
def test_nothing_is_lost_unasked_and_a_last_word_never(truncation: str, input_: Any) -> None:
    """A 400 with sizes (B5)."""

    async def test(rig: KeptRig) -> None:
        body = {"model": "tiny", "input": input_, "truncation": truncation, "store": False}
        reply = await rig.post(RESPONSES, body)
        await rig.answer(too_long(900, 800), 400)
        assert reply.status == 400
        assert "900" in reply.json()["error"]["message"]

    run_kept(test)


COUNT = "/v1/responses/input_tokens"
COUNTED = b'{"input_tokens":9,"object":"response.input_tokens"}'


def test_a_count_asks_for_the_very_prompt_of_the_response() -> None:
    """With the conversation that it goes on from, and keeps nothing of it."""

    async def test(rig: KeptRig) -> None:
        first = (await rig.respond(input="hi", instructions="s")).json()
        tools = [{"type": "function", "name": "f"}]
        body: dict[str, Any] = {"input": "more", "previous_response_id": first["id"], "tools": tools}
        counted = await rig.ask(COUNT, **body, stream=True, background=True, store=True)
        assert rig.exchange.call.path == b"/v1/chat/completions/input_tokens"
        asked = rig.asked
        await rig.answered(COUNTED)
        assert counted.json() == {"object": "response.input_tokens", "input_tokens": 9}
        await rig.respond(**body)
        for part in ("messages", "tools"):
            assert rig.asked[part] == asked[part]

    run_kept(test)


def test_a_count_that_is_none_is_a_502() -> None:
    """And one that nothing can be counted of is refused as the response would be."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(COUNT, input="hi")
        await rig.answered(b"{}")
        assert reply.status == 502
        assert (await rig.ask(COUNT)).json()["error"]["param"] == "input"

    run_kept(test)
