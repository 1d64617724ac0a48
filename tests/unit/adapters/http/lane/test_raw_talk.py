"""Tools for models whose templates have no place for them: rendered, completed and read again, in every dialect."""

import json
from typing import Any

import pytest

from blazar.application.ports.upstream import ChildAnswer
from blazar.domain import teaching
from blazar.domain.admission.work import WorkClass
from blazar.domain.manners import COUNTING, TOKENIZE
from blazar.domain.wire.raw_tools import RESULT_OPEN, RawLane
from tests.support.lane_rig import DONE, JSON, SSE, Rig, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]
FUNCTION = {"name": "w", "parameters": {"type": "object"}}
CALLED = {"type": "function", "function": FUNCTION}
CHATS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": USER, "tools": [CALLED]},
    "/v1/messages": {"messages": USER, "max_tokens": 9, "tools": [{"name": "w", "input_schema": {"type": "object"}}]},
    "/v1/responses": {"input": "hi", "tools": [{"type": "function", **FUNCTION}], "store": False},
    "/api/chat": {"messages": USER, "tools": [CALLED]},
}
CHAT = "/v1/chat/completions"
D6 = '<tool_call>{"name":"w","arguments":{"code":"if (x) { y }"}}</tool_call>'
PROMPT = "<user>hi</user>"


def prepared(rig: Rig, lane: RawLane = RawLane(cap=2048), prompt: str = PROMPT) -> Rig:  # noqa: B008 - immutable
    """A lane for a model that is marked, and a child that renders."""
    rig.lane.raw_lanes = lambda name: lane if name == "tiny" else None
    rig.upstream.answers[b"/apply-template"] = ChildAnswer(200, (), json.dumps({"prompt": prompt}).encode())
    return rig


def piece(text: str, finish: str | None = None) -> bytes:
    """One event of a raw completion."""
    choice = {"text": text, "index": 0, "finish_reason": finish}
    return (
        b"data: " + json.dumps({"choices": [choice], "model": "tiny", "object": "text_completion"}).encode() + b"\n\n"
    )


def whole(text: str, finish: str = "stop") -> bytes:
    """A buffered one."""
    said = json.loads(whole_chat())
    return json.dumps({**said, "choices": [{"text": text, "index": 0, "finish_reason": finish}]}).encode()


def calls_in(path: str, said: Any) -> list[tuple[str, Any]]:
    """Name and arguments of each, in the dialect's place."""
    if path == "/v1/messages":
        return [(block["name"], block["input"]) for block in said["content"] if block["type"] == "tool_use"]
    if path == "/v1/responses":
        found = [item for item in said["output"] if item["type"] == "function_call"]
        return [(item["name"], json.loads(item["arguments"])) for item in found]
    message = said["message"] if path == "/api/chat" else said["choices"][0]["message"]
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [
        (one["name"], one["arguments"] if path == "/api/chat" else json.loads(one["arguments"])) for one in functions
    ]


@pytest.mark.parametrize("path", CHATS)
def test_a_call_reaches_every_client(path: str) -> None:
    """Asked as a raw completion of what the child's template made of it, without tools; the answer's call is told as one."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        reply = await rig.post(path, {"model": "tiny", **CHATS[path], "stream": False})
        assert rig.exchange.call.path == b"/v1/completions"
        assert rig.asked["prompt"] == PROMPT
        assert not {"tools", "messages", "tool_choice"} & rig.asked.keys()
        assert rig.asked["max_tokens"] == (9 if path == "/v1/messages" else 2048)
        await rig.answer(whole(f"Let me see. {D6}"))
        assert reply.status == 200
        assert calls_in(path, reply.json()) == [("w", {"code": "if (x) { y }"})]
        assert "Let me see." in reply.body.decode()
        assert "<tool_call>" not in reply.body.decode()

    run(test)


@pytest.mark.parametrize("path", CHATS)
def test_a_streamed_call_in_single_letters(path: str) -> None:
    """Case D6: braces in its strings end nothing, wherever it is cut; no tag reaches a client."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        reply = await rig.post(path, {"model": "tiny", **CHATS[path], "stream": True})
        rig.exchange.head(200, SSE)
        for letter in f"So. {D6}":
            rig.exchange.body(piece(letter))
        rig.exchange.body(piece("", "stop") + usage_chunk() + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        said = reply.body.decode()
        assert reply.finished
        assert "tool_call>" not in said
        assert "if (x) { y }" in said
        ends = {"/v1/messages": '"tool_use"', "/v1/responses": "function_call", "/api/chat": '"tool_calls"'}
        assert ends.get(path, '"finish_reason":"tool_calls"') in said
        assert rig.records[0].completion_tokens == 7

    run(test)


def test_it_waits_in_line_as_a_raw_generation() -> None:
    """Behind everybody else (D16)."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT]})
        assert rig.leasing.works[-1].kind is WorkClass.RAW_LONG
        assert rig.records[0].work == "raw_long"
        await rig.answer(whole("a"))

    run(test)


@pytest.mark.parametrize("more", [{"tools": None}, {"tools": []}, {"tool_choice": "none"}])
def test_without_tools_it_is_a_chat_like_any_other(more: dict[str, Any]) -> None:
    """The child's own lane, and its own class."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT], **more})
        assert rig.exchange.call.path == b"/v1/chat/completions"
        assert rig.records[0].work == "interactive"
        await rig.answer(whole_chat())

    run(test)


def test_another_model_is_asked_as_ever() -> None:
    """Only what is marked."""

    async def test(rig: Rig) -> None:
        prepared(rig).lane.raw_lanes = lambda name: None
        await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT]})
        assert rig.asked["tools"] == [CALLED]
        assert rig.records[0].work == "tool"
        await rig.answer(whole_chat())

    run(test)


def test_pictures_ride_the_childs_lane() -> None:
    """Classified as what it is; that its template drops the tools is told."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        talk = [{"role": "user", "content": [{"type": "text", "text": "hi"}, part]}]
        reply = await rig.post(CHAT, {"model": "tiny", "messages": talk, "tools": [CALLED]})
        assert rig.exchange.call.path == b"/v1/chat/completions"
        assert rig.records[0].work == "tool"
        await rig.answer(whole_chat())
        assert reply.header(b"x-blazar-warning") == [teaching.warn_ignored("tools").encode()]

    run(test)


def test_strict_attaches_the_grammar_and_claims_no_receipt() -> None:
    """The receipt is for what a caller asks for (D19)."""

    async def test(rig: Rig) -> None:
        prepared(rig, RawLane(strict=True))
        reply = await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT]})
        assert rig.asked["grammar"].startswith("root ::= call")
        assert "max_tokens" not in rig.asked
        await rig.answer(whole(D6))
        assert reply.header(b"x-blazar-structured-output") == []

    run(test)


@pytest.mark.parametrize("prefilled", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_thinking_is_taken_out(stream: bool, prefilled: bool) -> None:
    """Also where the template opened the tag itself; what is in a thought is no call."""

    async def test(rig: Rig) -> None:
        prepared(rig, prompt="<think>\n" if prefilled else PROMPT)
        reply = await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT], "stream": stream})
        text = ("" if prefilled else "<think>") + f"hm {D6}</think>\n\nDone."
        if stream:
            rig.exchange.head(200, SSE)
            rig.exchange.body(piece(text) + piece("", "stop") + DONE)
            rig.exchange.end()
            await rig.clock.settle()
            assert b'"reasoning_content":"hm ' in reply.body
            assert b'"content":"Done."' in reply.body
            assert b'"tool_calls"' not in reply.body
        else:
            await rig.answer(whole(text))
            message = reply.json()["choices"][0]["message"]
            assert (message["content"], message["reasoning_content"]) == ("Done.", f"hm {D6}")

    run(test)


def test_a_template_that_takes_no_system_message_gets_none() -> None:
    """Then the first user message begins with what is to be said of the tools."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        refused = ChildAnswer(500, (), b'{"error":{"message":"System role not supported"}}')
        rig.upstream.turns = {b"/apply-template": [refused]}
        await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT]})
        bodies = [json.loads(call.body)["messages"] for call in rig.upstream.fetched]
        assert [[message["role"] for message in one] for one in bodies] == [["system", "user"], ["user"]]
        await rig.answer(whole("a"))

    run(test)


@pytest.mark.parametrize("said", [(500, b"{}"), (200, b"{}"), (200, b"["), (200, b'{"prompt":7}'), (200, b"[]")])
def test_a_template_that_cannot_be_rendered_is_a_502_with_a_sentence(said: tuple[int, bytes]) -> None:
    """Nothing is computed, and the place is given back."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        rig.upstream.answers[b"/apply-template"] = ChildAnswer(said[0], (), said[1])
        reply = await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT]})
        assert (reply.status, reply.json()["error"]["message"]) == (502, teaching.prompt_not_shown("tiny"))
        assert rig.upstream.exchanges == []

    run(test)


def test_several_answers_share_a_prompt() -> None:
    """`n`: rendered once, completed as often as is wanted, each one's calls its own."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        reply = await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT], "n": 2})
        assert rig.asked["prompt"] == PROMPT
        exchange = rig.exchange
        exchange.head(200, JSON)
        exchange.body(whole(D6))
        exchange.end()
        await rig.clock.settle()
        assert rig.asked["prompt"] == PROMPT
        await rig.answer(whole("none"))
        choices = reply.json()["choices"]
        assert [choice["finish_reason"] for choice in choices] == ["tool_calls", "stop"]
        assert len(rig.upstream.fetched) == 1

    run(test)


def test_tokens_are_counted_of_the_prompt_that_it_would_get() -> None:
    """`count_tokens` is about the real call (case C3)."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        reply = await rig.post("/v1/messages/count_tokens", {"model": "tiny", **CHATS["/v1/messages"]})
        assert rig.exchange.call.path == TOKENIZE.encode()
        assert rig.asked["content"] == PROMPT
        await rig.answer(b'{"tokens":[1,2,3]}')
        assert reply.json() == {"input_tokens": 3}

    run(test)


def test_a_prompt_that_cannot_fit_is_counted_as_it_is_rendered() -> None:
    """Instructions included."""

    async def test(rig: Rig) -> None:
        prepared(rig, prompt="x" * 9000)
        rig.upstream.answers[TOKENIZE.encode()] = ChildAnswer(200, (), json.dumps({"tokens": [1] * 3000}).encode())
        rig.upstream.answers[COUNTING.encode()] = ChildAnswer(200, (), b'{"input_tokens": 7}')
        talk = [{"role": "user", "content": "x" * 9000}]
        reply = await rig.post(CHAT, {"model": "tiny", "messages": talk, "tools": [CALLED]})
        assert reply.json()["error"]["message"] == teaching.prompt_too_long(3000, 2048)

    run(test)


def test_what_a_child_refuses_is_told() -> None:
    """A grammar that it cannot hold is not tried in other words: there are none."""

    async def test(rig: Rig) -> None:
        prepared(rig, RawLane(strict=True))
        reply = await rig.post(CHAT, {"model": "tiny", **CHATS[CHAT]})
        await rig.answer(b'{"error":{"code":400,"message":"failed to parse grammar"}}', 400)
        assert reply.status == 400
        assert len(rig.upstream.exchanges) == 1

    run(test)


def test_results_go_back_as_text() -> None:
    """The second turn of a loop, as ollama's clients send it."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        talk = [
            *USER,
            {"role": "assistant", "tool_calls": [{"function": {"name": "w", "arguments": {"a": 1}}}]},
            {"role": "tool", "tool_name": "w", "content": "sunny"},
        ]
        await rig.post("/api/chat", {"model": "tiny", "messages": talk, "tools": [CALLED], "stream": False})
        _, _, called, result = json.loads(rig.upstream.fetched[0].body)["messages"]
        assert '<tool_call>\n{"name": "w", "arguments": {"a": 1}}' in called["content"]
        assert result == {"role": "user", "content": f"{RESULT_OPEN}\nsunny\n</tool_response>"}
        await rig.answer(whole("It is sunny."))

    run(test)


def test_log_probabilities_are_said_to_be_missing_once() -> None:
    """Not that there are none and, in the same breath, that some are incomplete (U12)."""

    async def test(rig: Rig) -> None:
        prepared(rig)
        rig.leasing.guesses = True
        body = {"model": "tiny", **CHATS["/v1/chat/completions"], "stream": False, "logprobs": True}
        reply = await rig.post("/v1/chat/completions", body)
        await rig.answer(whole("no"))
        assert reply.header(b"x-blazar-warning") == [teaching.warn_ignored("logprobs").encode()]

    run(test)
