"""A child's first answer is not always the last word: what is asked next, what is told, and whose fault it was."""

import json
import re
from typing import Any

import pytest

from blazar.domain import teaching
from tests.support.lane_rig import SSE, Rig, run, whole_chat

CHATS = {"/v1/chat/completions": "response_format", "/api/chat": "format", "/v1/messages": "output_config"}
GRAMMAR = b'{"error":{"code":400,"message":"failed to parse grammar"}}'
HUGE = {"type": "string", "maxLength": 10**6}


def a_tool(path: str, schema: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": "tiny",
        "max_tokens": 5,
        "stream": False,
        "messages": [{"role": "user", "content": "x"}],
    }
    if path == "/v1/messages":
        return body | {"tools": [{"name": "f", "input_schema": schema}]}
    return body | {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]}


@pytest.mark.parametrize("path", CHATS)
def test_a_refused_grammar_is_asked_again_on_the_same_lease(path: str) -> None:
    """Twice at most; the lease comes back once and the child is not blamed (C14, C15)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, a_tool(path, {"properties": {"a": HUGE}}))
        await rig.answer(GRAMMAR, 400)
        assert rig.asked["tools"][0]["function"]["parameters"] == {"properties": {"a": {"type": "string"}}}
        await rig.answer(GRAMMAR, 400)
        assert rig.asked["tools"][0]["function"]["parameters"] == {"type": "object"}
        await rig.answer(whole_chat())
        assert reply.status == 200
        assert len(rig.upstream.exchanges) == 3
        assert sum(b"rewritten" in warning for warning in reply.header(b"x-blazar-warning")) == 2
        assert rig.lease.released == [(None, False)]

    run(test)


@pytest.mark.parametrize("path", CHATS)
def test_when_nothing_is_left_to_try_the_refusal_is_passed_on(path: str) -> None:
    """With the engine's own words (D10)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, a_tool(path, {"type": "object"}))
        await rig.answer(GRAMMAR, 400)
        assert reply.status == 400
        assert b"failed to parse grammar" in reply.body
        assert len(rig.upstream.exchanges) == 1

    run(test)


def test_a_client_that_leaves_between_two_tries_leaves_nothing() -> None:
    """The second exchange is closed as the first would have been (K1)."""

    async def test(rig: Rig) -> None:
        path = "/v1/chat/completions"
        reply = await rig.post(path, a_tool(path, {"properties": {"a": HUGE}}))
        await rig.answer(GRAMMAR, 400)
        reply.leave()
        await rig.clock.settle()
        assert rig.exchange.aborted

    run(test)


@pytest.mark.parametrize("path", [*CHATS, "/api/embed", "/v1/embeddings"])
@pytest.mark.parametrize("status", [400, 500])
def test_a_request_that_the_engine_cannot_read_is_not_its_failure(path: str, status: int) -> None:
    """llama.cpp's 500 about messages or tools becomes the 400 it is; three of them evict nobody (A21, G6)."""

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "input": "x"} if "embed" in path else a_tool(path, {"type": "object"})
        reply = await rig.post(path, body)
        await rig.answer(b'{"error":{"message":"Failed to parse tools: x"}}', status)
        assert reply.status == 400
        assert rig.lease.released == [(None, False)]

    run(test)


@pytest.mark.parametrize("path", CHATS)
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_the_model_spoilt_is_not_the_childs_failure(path: str, stream: bool) -> None:
    """The engine's status and words, streamed or not; a call of a tool that nobody declared evicts nobody (C11, G6)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, a_tool(path, {"type": "object"}) | {"stream": stream})
        error = b'{"error":{"code":500,"message":"got exception: Unexpected empty grammar stack (297)"}}'
        if stream:
            rig.exchange.head(200, SSE)
            rig.exchange.body(b"data: " + error + b"\n\n")
            await rig.clock.settle()
        else:
            await rig.answer(error, 500)
        assert reply.status == 500
        assert "empty grammar stack" in json.dumps(reply.json())
        assert rig.lease.released == [(None, False)]

    run(test)


@pytest.mark.parametrize("path", [*CHATS, "/api/embed", "/v1/embeddings"])
def test_a_stranger_on_the_port_is_a_502_and_counts_against_the_child(path: str) -> None:
    """Our key is not the caller's: a 401 from there never reaches a client (G17)."""

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "input": "x"} if "embed" in path else a_tool(path, {"type": "object"})
        reply = await rig.post(path, body)
        await rig.answer(b'{"error":{"message":"Invalid API Key"}}', 401)
        assert reply.status == 502
        assert teaching.child_stranger("tiny") in json.dumps(reply.json(), ensure_ascii=False)
        assert rig.lease.released == [(None, True)]

    run(test)


def test_a_prompt_that_is_too_long_is_told_in_the_words_that_agents_look_for() -> None:
    """Claude Code reads both sizes after Anthropic's words, LiteLLM and what is built on it look for OpenAI's."""
    sentences = (teaching.prompt_too_long, teaching.prompt_over_share, teaching.prompt_over_training)
    for said in (sentence(20, 16) for sentence in sentences):
        sizes = re.search(r"prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)", said)
        assert sizes is not None
        assert sizes.groups() == ("20", "16")
        assert "This model's maximum context length is" in said


def test_sizes_come_in_our_words() -> None:
    """And a 500 about an embedding that is too long blames nobody (B5, B19)."""

    async def test(rig: Rig) -> None:
        path = "/v1/chat/completions"
        reply = await rig.post(path, a_tool(path, {"type": "object"}))
        refusal = {"type": "exceed_context_size_error", "message": "x", "n_prompt_tokens": 20, "n_ctx": 16}
        await rig.answer(json.dumps({"error": refusal}).encode(), 400)
        assert reply.json()["error"]["message"] == teaching.prompt_too_long(20, 16)
        reply = await rig.post("/api/embed", {"model": "tiny", "input": "x"})
        await rig.answer(b'{"error":{"message":"input (20 tokens) is too large to process (batch size: 16)"}}', 500)
        assert reply.status == 400
        assert reply.json()["error"] == teaching.input_too_long(20, 16)
        assert rig.lease.released == [(None, False)]

    run(test)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/api/chat"])
def test_what_binds_is_what_is_advised(path: str) -> None:
    """A slot that may use less of the cache than its window is helped by the key that says so, and not by a larger window."""

    async def test(rig: Rig) -> None:
        rig.leasing.ctx_key = "kv_unified_per_slot"
        reply = await rig.post(path, a_tool(path, {"type": "object"}))
        refusal = {"type": "exceed_context_size_error", "message": "x", "n_prompt_tokens": 20, "n_ctx": 16}
        await rig.answer(json.dumps({"error": refusal}).encode(), 400)
        assert reply.status == 400
        said = json.dumps(reply.json(), ensure_ascii=False)
        assert teaching.prompt_over_share(20, 16) in said
        assert "kv_unified_per_slot" in said

    run(test)


def test_a_tokeniser_that_answers_nonsense_is_the_engines_fault() -> None:
    """While an input is being cut (M2)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/embed", {"model": "tiny", "input": "w " * 40, "truncate": True})
        await rig.answer(b'{"error":{"message":"input (40 tokens) is too large to process (batch size: 16)"}}', 500)
        assert rig.exchange.call.path == b"/tokenize"
        await rig.answer(b'{"tokens":"x"}')
        assert reply.status == 502

    run(test)


def test_a_model_is_not_given_more_than_it_was_trained_for() -> None:
    """Where its window is all of that, no setting is advised (U11)."""

    async def test(rig: Rig) -> None:
        rig.leasing.ctx_key = ""
        path = "/v1/chat/completions"
        reply = await rig.post(path, a_tool(path, {"type": "object"}))
        refusal = {"type": "exceed_context_size_error", "message": "x", "n_prompt_tokens": 20, "n_ctx": 16}
        await rig.answer(json.dumps({"error": refusal}).encode(), 400)
        said = reply.json()["error"]["message"]
        assert said == teaching.prompt_over_training(20, 16)
        assert "raise" not in said

    run(test)
