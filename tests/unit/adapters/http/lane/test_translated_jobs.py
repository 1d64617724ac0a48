"""ollama and Anthropic through the lane: the joints, not the translation (that is `tests/unit/domain/wire`)."""

import json

import pytest

from blazar.domain import teaching
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
