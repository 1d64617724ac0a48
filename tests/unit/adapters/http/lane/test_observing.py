"""What is observed of answers on their way, and what enforcement refuses."""

import asyncio
import json
from typing import Any

import pytest

from blazar.adapters.http.lane.relay import Limits
from blazar.application.ports.upstream import ChildAnswer
from blazar.domain.wire.raw_tools import RawLane
from tests.support.lane_rig import DONE, SSE, Rig, chunk, run, usage_chunk, whole_chat

CHAT = "/v1/chat/completions"
USER = [{"role": "user", "content": "hi"}]
CHATS = {
    CHAT: {"model": "tiny", "messages": USER},
    "/v1/messages": {"model": "tiny", "max_tokens": 99, "messages": USER},
    "/v1/responses": {"model": "tiny", "input": "hi"},
    "/api/chat": {"model": "tiny", "messages": USER, "stream": False},
}
TEXTS = {
    "/v1/completions": {"model": "tiny", "prompt": "hi"},
    "/api/generate": {"model": "tiny", "prompt": "hi", "stream": False},
}
SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
ON = {b"x-blazar-enforce": b"on"}


def whole(content: str | None = "hello", finish: str = "stop", **message: Any) -> bytes:
    said = json.loads(whole_chat())
    said["choices"] = [
        {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    ]
    return json.dumps(said).encode()


def called(name: str, arguments: str) -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return whole(None, "tool_calls", tool_calls=[call])


def text(content: str, finish: str = "stop") -> bytes:
    said = json.loads(whole_chat())
    said["choices"] = [{"index": 0, "finish_reason": finish, "text": content}]
    return json.dumps(said).encode()


def offering(path: str) -> dict[str, Any]:
    """The same tool in the words of each dialect."""
    if path == "/v1/messages":
        return {"tools": [{"name": "f", "input_schema": SCHEMA}]}
    if path == "/v1/responses":
        return {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]}
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]}


def codes(rig: Rig) -> list[str]:
    return [facts["code"] for _, code, facts in rig.records[-1].notes if code == "sentinel"]


def sentence(path: str, body: bytes) -> str:
    error = json.loads(body)["error"]
    return error if path.startswith("/api/") else error["message"]


STRANGE: list[tuple[bytes, list[str]]] = [
    (whole(), []),
    (whole("", "stop"), ["empty_response"]),
    (whole("hel", "length"), ["truncation"]),
    (whole("", reasoning_content="hm"), ["reasoning_no_answer"]),
    (called("f", '{"n":1}'), []),
    (called("f", '{"n":"x"}'), ["tool_arg_schema"]),
    (called("f", '{"n":'), ["tool_arg_json"]),
    (called("g", "{}"), ["tool_hallucinated_name"]),
]


@pytest.mark.parametrize(("raw", "found"), STRANGE)
@pytest.mark.parametrize("path", CHATS)
def test_a_whole_answer_is_observed_and_passes_as_it_is(path: str, raw: bytes, found: list[str]) -> None:
    """Warn-only: the same bytes as without the sentinel, and the codes in the record."""
    bodies = []

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, CHATS[path] | offering(path))
        await rig.answer(raw)
        assert reply.status == 200
        bodies.append((reply.body if path == CHAT else b"", reply.headers))
        assert codes(rig) == (found if rig.lane.limits.observes else [])

    run(test)
    run(test, Limits(observes=False))
    assert bodies[0] == bodies[1]
    assert path != CHAT or bodies[0][0] == raw


@pytest.mark.parametrize("how", ["key", "header", "header, observation off"])
@pytest.mark.parametrize(("raw", "found"), STRANGE)
@pytest.mark.parametrize("path", CHATS)
def test_enforcement_refuses_what_breaks_the_request(path: str, raw: bytes, found: list[str], how: str) -> None:
    """422 in the envelope of each dialect, with every code; the tokens are told, and the child is well."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, CHATS[path] | offering(path), ON if how != "key" else {})
        await rig.answer(raw)
        record = rig.records[-1]
        assert codes(rig) == found
        assert reply.status == (422 if found else 200)
        if found:
            said = sentence(path, reply.body)
            assert said.startswith(f"sentinel enforce: [{found[0]}] ")
            assert record.refusal == (
                f"enforcement was on and the answer is not what was asked for ({', '.join(found)}); "
                "what it said was for the caller alone"
            )
        assert (record.prompt_tokens, record.completion_tokens) == (11, 7)
        assert rig.lease.released[-1][1] is False

    limits = Limits(enforces=how == "key", observes="off" not in how)
    run(test, limits)


@pytest.mark.parametrize("path", CHATS)
def test_the_header_wins_over_the_key(path: str) -> None:
    """Off is off, in any spelling; another word is a 400 that names it."""

    async def test(rig: Rig) -> None:
        for word, status in ((b"off", 200), (b" FALSE ", 200), (b"0", 200), (b"1", 422), (b"True", 422)):
            reply = await rig.post(path, CHATS[path], {b"x-blazar-enforce": word})
            await rig.answer(whole(""))
            assert reply.status == status, word
        reply = await rig.post(path, CHATS[path], {b"x-blazar-enforce": b"maybe"})
        assert reply.status == 400
        assert sentence(path, reply.body) == '\'x-blazar-enforce\' must be "on" or "off"'

    run(test, Limits(enforces=True))


@pytest.mark.parametrize("path", TEXTS)
def test_what_is_no_chat_is_observed_only(path: str) -> None:
    """And whoever asks for more is told so."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, TEXTS[path], ON)
        await rig.answer(text("", "length"))
        assert reply.status == 200
        assert reply.header(b"x-blazar-warning") == [b"ignored; 'x-blazar-enforce' has no effect here"]
        assert codes(rig) == ["truncation", "empty_response"]

    run(test, Limits(enforces=True))


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    CHAT: (
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}},
    ),
    "/v1/responses": (
        {"text": {"format": {"type": "json_object"}}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}},
    ),
    "/api/chat": ({"format": "json"}, {"format": SCHEMA}),
}


@pytest.mark.parametrize("path", FORMS)
def test_a_form_is_held_to_what_was_asked_for(path: str) -> None:
    """Without enforcement 200 with an observation and no receipt, with it a 422 (D19, E1, E2)."""

    async def test(rig: Rig) -> None:
        for more, said, code in zip(FORMS[path], ("[1]", '{"n":"x"}'), ("json_object", "json_schema"), strict=True):
            reply = await rig.post(path, CHATS[path] | more)
            await rig.answer(whole_chat(said))
            assert (reply.status, reply.header(b"x-blazar-structured-output")) == (200, [])
            assert codes(rig) == [code]
            reply = await rig.post(path, CHATS[path] | more, ON)
            await rig.answer(whole_chat(said))
            assert reply.status == 422
            assert sentence(path, reply.body).startswith(f"sentinel enforce: [{code}] ")

    run(test)


def test_any_of_several_answers_is_looked_at() -> None:
    """The first one is as much of an answer as the last."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, CHATS[CHAT] | {"n": 2}, ON)
        await rig.answer(whole(""))
        await rig.answer(whole())
        assert reply.status == 422
        assert codes(rig) == ["empty_response"]
        assert rig.records[-1].completion_tokens == 14

    run(test)


def test_a_limit_of_the_callers_own_is_observed_and_not_refused() -> None:
    """It asked for so many tokens; agents probe with one."""

    async def test(rig: Rig) -> None:
        for path, chat in CHATS.items():
            field = {"/v1/responses": "max_output_tokens", "/api/chat": "options"}.get(path, "max_tokens")
            limit = {"num_predict": 7} if field == "options" else 16 if path == "/v1/responses" else 7
            said = json.loads(whole("hel", "length"))
            said["usage"]["completion_tokens"] = 16
            reply = await rig.post(path, chat | {field: limit}, ON)
            await rig.answer(json.dumps(said).encode())
            assert reply.status == 200, path
            assert codes(rig) == ["truncation"]

    run(test)


STREAMED: list[tuple[list[bytes], list[str]]] = [
    ([chunk(""), chunk("hel"), chunk("lo"), chunk(finish="stop")], []),
    ([chunk(""), chunk(finish="stop")], ["empty_response"]),
    ([chunk(reasoning_content="hm"), chunk(finish="stop")], ["reasoning_no_answer"]),
    ([chunk("hel"), chunk(finish="length")], ["truncation"]),
    (
        [
            chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"n":'}}]),
            chunk(tool_calls=[{"index": 0, "function": {"arguments": "1}"}}]),
            chunk(finish="tool_calls"),
        ],
        [],
    ),
    (
        [
            chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]),
            chunk(finish="tool_calls"),
        ],
        ["tool_arg_json"],
    ),
    (
        [
            chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "g", "arguments": "{}"}}]),
            chunk(finish="tool_calls"),
        ],
        ["tool_hallucinated_name"],
    ),
]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(("events", "found"), STREAMED)
@pytest.mark.parametrize("path", CHATS)
def test_a_stream_is_observed_while_it_passes(path: str, events: list[bytes], found: list[str], together: bool) -> None:
    """Whatever a read brings; never refused; and what passes unread passes as it came."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, CHATS[path] | offering(path) | {"stream": True})
        rig.exchange.head(200, SSE)
        whole = [*events, usage_chunk(), DONE]
        for data in [b"".join(whole)] if together else whole:
            rig.exchange.body(data)
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.status == 200
        assert codes(rig) == found
        if path == CHAT:
            assert reply.body == b"".join([*events, DONE])

    run(test, Limits(enforces=True))


def test_a_stream_of_text_is_observed_too() -> None:
    """Raw completions have a field of their own."""

    async def test(rig: Rig) -> None:
        for word, found in (("hi", []), ("", ["empty_response"])):
            await rig.post("/v1/completions", TEXTS["/v1/completions"] | {"stream": True})
            said = {"choices": [{"index": 0, "text": word, "finish_reason": None}], "model": "tiny"}
            end = {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}], "model": "tiny"}
            rig.exchange.head(200, SSE)
            for event in (said, end):
                rig.exchange.body(b"data: " + json.dumps(event).encode() + b"\n\n")
            rig.exchange.body(DONE)
            rig.exchange.end()
            await rig.clock.settle()
            assert codes(rig) == found

    run(test)


@pytest.mark.parametrize("path", CHATS)
def test_a_stream_that_breaks_is_an_error_and_no_observation(path: str) -> None:
    """Its caller is told; nothing is known of an answer that is not whole."""

    async def test(rig: Rig) -> None:
        await rig.post(path, CHATS[path] | {"stream": True})
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk(""))
        rig.exchange.end()
        await rig.clock.settle()
        assert codes(rig) == []

    run(test)


@pytest.mark.parametrize("path", CHATS)
def test_a_stream_stalls_once_it_has_begun(path: str) -> None:
    """Not while the prompt is read, not by comments of the engine's; once for each silence, within a quarter more than its bound."""

    async def test(rig: Rig) -> None:
        await rig.post(path, CHATS[path] | {"stream": True})
        rig.exchange.head(200, SSE)
        await rig.clock.advance(60)
        rig.exchange.body(chunk("a"))
        for _ in range(5):
            await rig.clock.advance(10)
            rig.exchange.body(b": \n\n")
        await rig.clock.advance(60)
        rig.exchange.body(chunk("b"))
        await rig.clock.advance(19)
        rig.exchange.body(chunk("c") + chunk(finish="stop") + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        assert codes(rig) == ["stalled_stream"]
        (at, _, facts) = rig.records[-1].notes[0]
        assert facts["detail"] == "nothing came in the middle of a stream"
        assert 80 <= at - rig.records[-1].started <= 85.1

    run(test, Limits(stall=20.0, header_timeout=0, heartbeat=0))


def test_a_client_that_reads_slowly_stalls_nobody() -> None:
    """Its child is paused by us."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, CHATS[CHAT] | {"stream": True})
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        assert reply.on_pause is not None
        assert reply.on_resume is not None
        reply.on_pause()
        await rig.clock.advance(100)
        reply.on_resume()
        rig.exchange.body(chunk(finish="stop") + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        assert codes(rig) == []

    run(test, Limits(stall=20.0, header_timeout=0, heartbeat=0))


def test_infill_and_counts_are_not_observed() -> None:
    """An empty middle is an answer, and a count is no text."""

    async def test(rig: Rig) -> None:
        await rig.post("/v1/completions", TEXTS["/v1/completions"] | {"suffix": "x"}, {b"x-blazar-enforce": b"on"})
        await rig.answer(b'{"content":"","stop":true,"tokens_predicted":0,"tokens_evaluated":1}')
        assert codes(rig) == []
        await rig.post("/v1/messages/count_tokens", {"model": "tiny", "messages": USER})
        await rig.answer(b'{"input_tokens":3}')
        assert codes(rig) == []

    run(test)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", CHATS)
def test_calls_in_words_are_judged_as_any_calls(path: str, stream: bool) -> None:
    """Of a model without tools of its own (`ollama_compat`): what it says is no word of an answer, and is judged by its schema."""
    said = 'Let me see. <tool_call>{"name":"f","arguments":{"n":"x"}}</tool_call>'

    async def test(rig: Rig) -> None:
        rig.lane.raw_lanes = lambda _name: RawLane()
        rig.upstream.answers[b"/apply-template"] = ChildAnswer(200, (), b'{"prompt":"<user>hi</user>"}')
        reply = await rig.post(path, CHATS[path] | offering(path) | {"stream": stream}, {} if stream else ON)
        if not stream:
            await rig.answer(text(said))
            assert reply.status == 422
            assert codes(rig) == ["tool_arg_schema"]
            return
        rig.exchange.head(200, SSE)
        for word, finish in ((said, None), ("", "stop")):
            event = {"choices": [{"index": 0, "text": word, "finish_reason": finish}], "model": "tiny"}
            rig.exchange.body(b"data: " + json.dumps(event).encode() + b"\n\n")
        rig.exchange.body(DONE)
        rig.exchange.end()
        async with asyncio.timeout(20):
            while not rig.tasks[-1].done():
                await asyncio.sleep(0.001)
        assert (reply.status, codes(rig)) == (200, ["tool_arg_schema"])

    run(test)


FORMED = {
    "json_schema": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}},
    "json_object": {"response_format": {"type": "json_object"}},
}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("form", FORMED)
@pytest.mark.parametrize(("said", "odd"), [('{"n": 1}', False), ('{"n": ', True), ("x" * 300_000, False)])
def test_the_form_of_a_stream_is_judged_when_it_has_ended(form: str, said: str, *, odd: bool, together: bool) -> None:
    """Its client has every byte by then. What is too long to keep is not judged."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, CHATS[CHAT] | FORMED[form] | {"stream": True})
        rig.exchange.head(200, SSE)
        whole = b"".join(chunk(said[at : at + 1000]) for at in range(0, len(said), 1000))
        whole += chunk(finish="stop") + usage_chunk() + DONE
        for data in [whole] if together else [whole[at : at + 777] for at in range(0, len(whole), 777)]:
            rig.exchange.body(data)
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.finished
        async with asyncio.timeout(20):
            while not rig.tasks[-1].done():
                await asyncio.sleep(0.001)
        assert codes(rig) == ([form] if odd else [])
        assert len(rig.lease.released) == 1

    run(test)


@pytest.mark.parametrize(("arguments", "found"), [('{"n": 1}', []), ('{"n": "x"}', ["tool_arg_schema"])])
def test_a_streamed_call_is_judged_by_its_tools_schema(arguments: str, found: list[str]) -> None:
    """As that of a whole answer."""

    async def test(rig: Rig) -> None:
        await rig.post(CHAT, CHATS[CHAT] | offering(CHAT) | {"stream": True})
        rig.exchange.head(200, SSE)
        call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        rig.exchange.body(chunk(tool_calls=[call]) + chunk(finish="tool_calls") + usage_chunk() + DONE)
        rig.exchange.end()
        async with asyncio.timeout(20):
            while not rig.tasks[-1].done():
                await asyncio.sleep(0.001)
        assert codes(rig) == found

    run(test)
