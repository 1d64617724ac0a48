"""ollama and Anthropic through the lane: the joints, not the translation (that is `tests/unit/domain/wire`)."""

import json

import pytest

from blazar.domain import teaching
from blazar.domain.wire.context import packed, unpacked
from tests.support.lane_rig import DONE, SSE, Rig, chunk, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]


def test_tool_calls_leave_whole_with_an_object() -> None:
    """Three fragments from the child are one NDJSON line with `arguments` as an object (case B16)."""
    pieces = [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a"'}},
        {"index": 0, "function": {"arguments": ":"}},
        {"index": 0, "function": {"arguments": "1}"}},
    ]

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/chat", {"model": "tiny", "messages": USER})
        rig.exchange.head(200, SSE)
        for piece in pieces:
            rig.exchange.body(chunk(tool_calls=[piece]))
        rig.exchange.body(chunk(finish="tool_calls") + usage_chunk() + DONE)
        rig.exchange.end()
        lines = [json.loads(line) for line in reply.body.splitlines()]
        calls = [line["message"]["tool_calls"] for line in lines if line["message"].get("tool_calls")]
        assert [call["function"]["arguments"] for call in calls[0]] == [{"a": 1}]
        assert lines[-1]["done"] is True
        assert lines[-1]["eval_count"] == 7

    run(test)


@pytest.mark.parametrize("size", [1, 5, 100_000])
def test_any_cut_of_the_childs_stream_gives_the_same_bytes(size: int) -> None:
    """Where reads fall does not show, in the middle of a character either."""
    answer = chunk("Grüße 😀") + chunk("b") + chunk(finish="stop") + usage_chunk() + DONE

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/messages", {"model": "tiny", "stream": True, "max_tokens": 9, "messages": USER})
        rig.exchange.head(200, SSE)
        for at in range(0, len(answer), size):
            rig.exchange.body(answer[at : at + size])
        rig.exchange.end()
        text = [json.loads(line[6:]) for line in reply.body.decode().splitlines() if line.startswith("data: ")]
        assert [event["delta"]["text"] for event in text if event["type"] == "content_block_delta"] == ["Grüße 😀", "b"]
        assert text[-1]["type"] == "message_stop"

    run(test)


def test_a_count_is_of_the_same_prompt_as_the_real_call() -> None:
    """The child counts the very messages and tools that it would answer (cases C2, C3)."""
    body = {
        "model": "tiny",
        "system": "S",
        "messages": USER,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/messages/count_tokens", body)
        assert rig.exchange.call.path == b"/v1/chat/completions/input_tokens"
        counted = rig.asked
        await rig.answer(b'{"input_tokens":437,"object":"response.input_tokens"}')
        assert reply.json() == {"input_tokens": 437}
        await rig.post("/v1/messages", {**body, "max_tokens": 9})
        for part in ("messages", "tools"):
            assert rig.asked[part] == counted[part]
        await rig.answer(whole_chat())

    run(test)


def test_a_count_that_is_none_is_a_502() -> None:
    """An engine's odd answer is its failure."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/messages/count_tokens", {"model": "tiny", "messages": USER})
        await rig.answer(b'{"tokens":3}')
        assert reply.status == 502
        assert reply.json()["error"]["message"] == teaching.child_garbled("tiny")

    run(test)


def test_a_failure_in_a_whole_answer_is_a_502() -> None:
    """A success status around an error object never becomes an empty answer (case C11)."""

    async def test(rig: Rig) -> None:
        for path in ("/v1/messages", "/api/chat"):
            reply = await rig.post(path, {"model": "tiny", "stream": False, "max_tokens": 9, "messages": USER})
            await rig.answer(b'{"choices":[],"error":{"message":"step failed"}}')
            assert reply.status == 502
            assert b"step failed" in reply.body

    run(test)


def test_warnings_are_headers_of_one_line() -> None:
    """Ignored fields are named in `x-blazar-warning`; a field's own name cannot break out of the header (D11)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(
            "/v1/messages", {"model": "tiny", "max_tokens": 9, "messages": USER, "odd\r\nset-cookie: x": 1, "grüße": 2}
        )
        await rig.answer(whole_chat())
        warnings = reply.header(b"x-blazar-warning")
        assert len(warnings) == 2
        assert not any(byte < 0x20 or byte > 0x7E for warning in warnings for byte in warning)

    run(test)


@pytest.mark.parametrize("stream", [False, True])
def test_generate_with_a_suffix_fills_the_gap(stream: bool) -> None:
    """Ollama's shape out of the child's infill route, with its counts."""
    last = {"content": "", "stop": True, "stop_type": "limit", "tokens_predicted": 3, "tokens_evaluated": 28}

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/generate", {"model": "tiny", "prompt": "a", "suffix": "b", "stream": stream})
        assert rig.exchange.call.path == b"/infill"
        assert (rig.asked["input_prefix"], rig.asked["input_suffix"]) == ("a", "b")
        if stream:
            rig.exchange.head(200, SSE)
            rig.exchange.body(b'data: {"content":"return 42","stop":false}\n\n')
            rig.exchange.body(b"data: " + json.dumps(last).encode() + b"\n\n")
            rig.exchange.end()
            await rig.clock.settle()
        else:
            await rig.answer(json.dumps(last | {"content": "return 42"}).encode())
        lines = [json.loads(line) for line in reply.body.splitlines()]
        assert "".join(line["response"] for line in lines) == "return 42"
        assert (lines[-1]["done_reason"], lines[-1]["prompt_eval_count"], lines[-1]["eval_count"]) == ("length", 28, 3)

    run(test)


def test_a_count_has_no_receipt() -> None:
    """The same body as the real call, and nothing is generated under its constraint (C3, D19)."""
    wanted = {"format": {"type": "json_schema", "schema": {"type": "object"}}}

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "messages": USER, "output_config": wanted}
        reply = await rig.post("/v1/messages/count_tokens", body)
        await rig.answer(b'{"input_tokens":7}')
        assert reply.json() == {"input_tokens": 7}
        assert reply.header(b"x-blazar-structured-output") == []

    run(test)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat", "/v1/messages"])
def test_a_form_that_had_to_be_eased_has_no_receipt(path: str) -> None:
    """The answer is held to less than was asked for; the warning says to what (C14, D19)."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 10**6}}}
    form = {
        "/v1/chat/completions": {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}},
        "/api/chat": {"format": schema},
        "/v1/messages": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
    }[path]

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "messages": USER, "max_tokens": 9, "stream": False} | form
        reply = await rig.post(path, body)
        await rig.answer(b'{"error":{"code":400,"message":"failed to parse grammar"}}', 400)
        await rig.answer(whole_chat("{}"))
        assert reply.status == 200
        assert reply.header(b"x-blazar-warning")
        assert reply.header(b"x-blazar-structured-output") == []

    run(test)


@pytest.mark.parametrize(("path", "limit"), [("/v1/messages", {"max_tokens": 9}), ("/api/chat", {"stream": False})])
def test_an_answer_goes_on_where_the_request_stopped(path: str, limit: dict[str, object]) -> None:
    """The child repeats the turn that is open, the answer does not: as in a stream."""
    open_turn = {"role": "assistant", "content": "The answer is"}

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {"model": "tiny", "messages": [*USER, open_turn], **limit})
        await rig.answer(whole_chat("The answer is 42."))
        said = reply.json()
        text = said["content"][0]["text"] if "content" in said else said["message"]["content"]
        assert text == " 42."

    run(test)


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/api/chat", {"options": {"num_predict": 4294967301}}),
        ("/v1/messages", {"max_tokens": 4294967301}),
        ("/v1/responses", {"input": "hi", "max_output_tokens": 4294967301}),
    ],
)
def test_a_limit_that_would_wrap_is_as_many_as_there_are(path: str, more: dict[str, object]) -> None:
    """An engine keeps it in 32 bits: it would be 5 there."""

    async def test(rig: Rig) -> None:
        await rig.post(path, {"model": "tiny", "messages": USER, "stream": False, **more})
        assert rig.asked["max_tokens"] == 2**31 - 1
        await rig.answer(whole_chat())

    run(test)


def test_a_prompt_that_is_only_read() -> None:
    """`max_tokens: 0` of Anthropic's: nothing is told of what the engine said all the same."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/messages", {"model": "tiny", "max_tokens": 0, "messages": USER})
        assert rig.asked["max_tokens"] == 1
        await rig.answer(whole_chat())
        assert (reply.json()["content"], reply.json()["stop_reason"]) == ([], "max_tokens")
        assert reply.json()["usage"]["output_tokens"] == 0
        assert reply.json()["usage"]["input_tokens"] > 0

    run(test)


def test_a_model_that_has_no_thoughts_is_not_asked_for_them() -> None:
    """In ollama's words, on which its clients ask again without; that it need not think is fine (D10: one string)."""

    async def test(rig: Rig) -> None:
        rig.leasing.thoughtless = True
        for think in (True, "low"):
            reply = await rig.post("/api/chat", {"model": "tiny", "messages": USER, "think": think})
            assert (reply.status, reply.json()) == (400, {"error": '"tiny" does not support thinking'})
        assert all(lease.released for lease in rig.leasing.leases)
        await rig.post("/api/chat", {"model": "tiny", "messages": USER, "think": False, "stream": False})
        await rig.answer(whole_chat())

    run(test)


def test_a_window_that_is_not_served_is_told() -> None:
    """Without a word its caller would believe that its whole conversation is read."""

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "messages": USER, "stream": False}
        reply = await rig.post("/api/chat", {**body, "options": {"num_ctx": 4096}})
        await rig.answer(whole_chat())
        told = "rewritten; 'options.num_ctx' is 2048: that is the window which this model is served with"
        assert reply.header(b"x-blazar-warning") == [told.encode()]
        reply = await rig.post("/api/chat", {**body, "options": {"num_ctx": 2048}})
        await rig.answer(whole_chat())
        assert reply.header(b"x-blazar-warning") == []

    run(test)


def refused_size(tokens: int, window: int) -> bytes:
    said = {
        "code": 400,
        "type": "exceed_context_size_error",
        "message": "x",
        "n_prompt_tokens": tokens,
        "n_ctx": window,
    }
    return json.dumps({"error": said}).encode()


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_truncate_drops_the_beginning_and_says_so(path: str) -> None:
    """Where it is asked for (B5); the system message and the last question stay."""
    talk = [{"role": "system", "content": "S"}]
    for at in range(8):
        talk += [{"role": "user", "content": f"{at} " * 200}, {"role": "assistant", "content": "yes"}]
    last = {"role": "user", "content": "and now?"}
    bodies = {
        "/api/chat": {"messages": [*talk, last]},
        "/api/generate": {"prompt": "and now?", "context": packed(talk, "A")},
    }

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "stream": False, "truncate": True, **bodies[path]}
        reply = await rig.post(path, body)
        before = rig.asked["messages"]
        await rig.answer(refused_size(900, 500), 400)
        after = rig.asked["messages"]
        assert len(after) < len(before)
        assert (after[0], after[-1]) == (before[0], last)
        await rig.answer(whole_chat())
        field = "messages" if path == "/api/chat" else "context"
        assert reply.header(b"x-blazar-warning")[0].startswith(f"rewritten; '{field}'".encode())
        if field == "context":
            assert len(unpacked(reply.json()["context"])) == len(after) + 1
        reply = await rig.post(path, {**body, "truncate": False})
        await rig.answer(refused_size(900, 500), 400)
        assert reply.status == 400

    run(test)
