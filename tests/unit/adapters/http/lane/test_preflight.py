"""Prompts that are counted before they are computed."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.relay import Limits
from blazar.application.ports.upstream import ChildAnswer
from blazar.domain import teaching
from blazar.domain.manners import COUNTING, LLAMACPP, TOKENIZE
from tests.support.lane_rig import Rig, run, whole_chat

LONG = "word " * 1600  # 8000 bytes beside a window of 2048 tokens
TALK = [{"role": "user", "content": LONG}]
CHATS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": TALK},
    "/v1/messages": {"messages": TALK, "max_tokens": 9},
    "/v1/responses": {"input": LONG},
    "/api/chat": {"messages": TALK, "stream": False},
}
RAW: dict[str, dict[str, Any]] = {"/v1/completions": {"prompt": LONG}, "/api/generate": {"prompt": LONG, "raw": True}}


def counts(rig: Rig, tokens: int, status: int = 200) -> None:
    """What the child says when it is asked."""
    said = json.dumps({"input_tokens": tokens}).encode()
    rig.upstream.answers[COUNTING.encode()] = ChildAnswer(status, (), said)
    rig.upstream.answers[TOKENIZE.encode()] = ChildAnswer(status, (), json.dumps({"tokens": [1] * tokens}).encode())


@pytest.mark.parametrize("path", [*CHATS, *RAW])
def test_what_cannot_fit_is_one_400_and_nothing_is_computed(path: str) -> None:
    """The same sentence as for the child's own refusal, in every dialect; its place is given back."""

    async def test(rig: Rig) -> None:
        counts(rig, 2048)
        reply = await rig.post(path, {"model": "tiny", **CHATS.get(path, RAW.get(path, {}))})
        assert reply.status == 400
        assert teaching.prompt_too_long(2048, 2048) in reply.body.decode()
        assert rig.upstream.exchanges == []

    run(test)


@pytest.mark.parametrize("path", [*CHATS, *RAW])
def test_what_fits_goes_its_way(path: str) -> None:
    """However close it is."""

    async def test(rig: Rig) -> None:
        counts(rig, 2047)
        body = {"model": "tiny", **CHATS.get(path, RAW.get(path, {})), "stream": False}
        reply = await rig.post(path, body)
        await rig.answer(whole_chat())
        assert reply.status == 200

    run(test)


@pytest.mark.parametrize("why", ["short", "off", "kind", "picture", "failed", "mute", "garbled"])
def test_who_is_not_counted_is_asked(why: str) -> None:
    """A prompt that is far from the window, the switch, a kind that cannot count, pictures, a count that fails: the child decides."""

    async def test(rig: Rig) -> None:
        counts(rig, 9999, status=500 if why == "failed" else 200)
        talk: list[dict[str, Any]] = [{"role": "user", "content": "hi" if why == "short" else LONG}]
        if why == "kind":
            rig.leasing.manners = LLAMACPP._replace(routes=frozenset())
        elif why == "picture":
            part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
            talk[0]["content"] = [{"type": "text", "text": LONG}, part]
        elif why == "mute":
            rig.upstream.answers.clear()
        elif why == "garbled":
            rig.upstream.answers[COUNTING.encode()] = ChildAnswer(200, (), b"{")
        reply = await rig.post("/v1/chat/completions", {"model": "tiny", "messages": talk})
        await rig.answer(whole_chat())
        assert reply.status == 200

    run(test, Limits(preflight=why != "off"))


def test_several_answers_are_refused_once() -> None:
    """`n` asks one after the other; the first question is about all of them."""

    async def test(rig: Rig) -> None:
        counts(rig, 5000)
        reply = await rig.post("/v1/chat/completions", {"model": "tiny", "messages": TALK, "n": 3})
        assert reply.status == 400
        assert rig.upstream.exchanges == []

    run(test)


def test_the_share_of_a_window_is_named_where_that_binds() -> None:
    """Advice that helps: raising `ctx` would not."""

    async def test(rig: Rig) -> None:
        counts(rig, 5000)
        rig.leasing.ctx_key = "kv_unified_per_slot"
        reply = await rig.post("/v1/chat/completions", {"model": "tiny", "messages": TALK})
        assert reply.json()["error"]["message"] == teaching.prompt_over_share(5000, 2048)

    run(test)


def test_a_conversation_that_may_be_cut_is_cut_instead() -> None:
    """`truncation: auto` takes its beginning away until it is counted as short enough."""

    async def test(rig: Rig) -> None:
        counts(rig, 1500)
        rig.upstream.turns[COUNTING.encode()] = [ChildAnswer(200, (), b'{"input_tokens": 2500}')]
        talk = [{"role": "user", "content": "word " * 400} for _ in range(6)]
        reply = await rig.post("/v1/responses", {"model": "tiny", "input": talk, "truncation": "auto", "store": False})
        assert len(rig.asked["messages"]) < 6
        await rig.answer(whole_chat())
        assert reply.status == 200
        assert any(b"input" in warning for warning in reply.header(b"x-blazar-warning"))

    run(test)


def test_odd_how_long_the_answer_may_become_is_not_looked_at() -> None:
    """Agents name the most that any service would write; the engine ends at its window."""

    async def test(rig: Rig) -> None:
        counts(rig, 2000)
        reply = await rig.post("/v1/messages", {"model": "tiny", "messages": TALK, "max_tokens": 64_000})
        await rig.answer(whole_chat())
        assert reply.status == 200

    run(test)
