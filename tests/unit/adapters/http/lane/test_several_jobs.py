"""Several answers to one request, asked one after the other."""

import json
from typing import Any

import pytest

from tests.support.lane_rig import DONE, SSE, Rig, chunk, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def events(body: bytes) -> list[Any]:
    """What a stream told before its end."""
    assert body.endswith(DONE)
    assert body.count(DONE) == 1
    return [json.loads(line[6:]) for line in body.removesuffix(DONE).splitlines() if line.startswith(b"data: ")]


async def stream(rig: Rig, *data: bytes) -> None:
    """One part of the child's stream."""
    rig.exchange.head(200, SSE)
    for one in data:
        rig.exchange.body(one)
    rig.exchange.end()
    await rig.clock.settle()


def test_buffered_answers_are_asked_at_one_place() -> None:
    """One lease, a request to the child for each; the answer counts every token that was made (n)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "n": 3, "seed": 4, "temperature": None})
        for at in range(3):
            assert rig.asked == {"model": "tiny", "messages": USER, "seed": 4 + at}
            assert not reply.status
            await rig.answer(whole_chat(f"answer {at}"))
        said = reply.json()
        assert [choice["message"]["content"] for choice in said["choices"]] == ["answer 0", "answer 1", "answer 2"]
        assert [choice["index"] for choice in said["choices"]] == [0, 1, 2]
        assert (said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]) == (11, 21)
        assert (len(rig.leasing.leases), rig.records[0].completion_tokens) == (1, 21)

    run(test)


def test_a_stream_goes_on_with_the_next_answer() -> None:
    """Choices numbered, one id, counts once and only where they are wanted, one end."""

    async def test(rig: Rig) -> None:
        ask = {"model": "tiny", "messages": USER, "n": 2, "stream": True, "stream_options": {"include_usage": True}}
        reply = await rig.post(CHAT, ask)
        for text in ("a", "b"):
            await stream(rig, chunk(text), chunk(finish="stop"), usage_chunk(11, 7), DONE)
        seen = events(reply.body)
        assert [[choice["index"] for choice in one["choices"]] for one in seen] == [[0], [0], [1], [1], []]
        assert (seen[-1]["usage"]["prompt_tokens"], seen[-1]["usage"]["completion_tokens"]) == (11, 14)
        assert (reply.finished, rig.records[0].completion_tokens) == (True, 14)
        reply = await rig.post(CHAT, {**ask, "stream_options": None})
        for _ in range(2):
            await stream(rig, chunk("a"), chunk(finish="stop"), usage_chunk(), DONE)
        assert not any("usage" in one for one in events(reply.body))

    run(test)


def test_a_list_of_prompts_is_answered_in_its_order() -> None:
    """Each by itself; every prompt counts."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(TEXT, {"model": "tiny", "prompt": ["a", [1, 2]], "max_tokens": 3})
        for prompt in ("a", [1, 2]):
            assert rig.asked == {"model": "tiny", "prompt": prompt, "max_tokens": 3}
            usage = {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
            answer = {"model": "tiny", "choices": [{"index": 0, "text": str(prompt)}], "usage": usage}
            await rig.answer(json.dumps(answer).encode())
        assert [choice["text"] for choice in reply.json()["choices"]] == ["a", "[1, 2]"]
        assert reply.json()["usage"]["total_tokens"] == 10

    run(test)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("failing", [0, 1])
def test_a_part_that_is_refused_ends_it_all(failing: int, streams: bool) -> None:
    """With its status where nothing was said yet, else as the last event (D35). Nothing more is asked."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "n": 3, "stream": streams})
        for _ in range(failing):
            if streams:
                await stream(rig, chunk("a"), chunk(finish="stop"), usage_chunk(), DONE)
            else:
                await rig.answer(whole_chat())
        await rig.answer(b'{"error":{"message":"no more","code":500}}', 500)
        assert len(rig.upstream.exchanges) == failing + 1
        if failing and streams:
            assert reply.status == 200
            assert b"no more" in reply.body.splitlines()[-2]
            assert DONE not in reply.body
        else:
            assert reply.status == 500

    run(test)


def test_a_broken_stream_asks_for_nothing_more() -> None:
    """The error of its part is the last event."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "n": 2, "stream": True})
        await stream(rig, chunk("a"))
        assert len(rig.upstream.exchanges) == 1
        assert b'"error"' in reply.body
        assert reply.finished

    run(test)


def test_what_every_part_is_asked_for_holds_for_all() -> None:
    """A form, tools, a client that stays loaded; a receipt only where all parts kept to it (D19)."""

    async def test(rig: Rig) -> None:
        ask = {"model": "tiny", "messages": USER, "n": 2, "response_format": {"type": "json_object"}, "keep_alive": 5}
        for last, kept in (("{}", [b"json_object"]), ("{", [])):
            reply = await rig.post(CHAT, ask)
            await rig.answer(whole_chat("{}"))
            await rig.answer(whole_chat(last))
            assert reply.header(b"x-blazar-structured-output") == kept
        assert rig.lease.released == [(5.0, False)]

    run(test)


@pytest.mark.parametrize(
    "bad",
    [
        b'data: {"choices":[{bad}]}\n\n',
        b'data: {"choices":[7]}\n\n',
        b'data: {"choices":7}\n\n',
        b"data: {not json}\n\n",
    ],
)
def test_a_part_that_cannot_be_read_ends_all_of_it(bad: bytes) -> None:
    """An event is numbered, so it is read: what is none is the engine's failure, told once and last."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "n": 2, "stream": True})
        await stream(rig, chunk("a"), chunk(finish="stop"), DONE)
        await stream(rig, chunk("b"), bad + chunk(finish="stop") + DONE)
        told = [json.loads(line[6:]) for line in reply.body.splitlines() if line.startswith(b"data: ")]
        assert ["error" in one for one in told] == [False] * (len(told) - 1) + [True]
        assert told[-1]["error"]["code"] == 502
        assert reply.finished

    run(test)


@pytest.mark.parametrize("bad", [b"{}", b"[]", b"{", b'{"choices":7}', b'{"choices":[7]}'])
def test_a_whole_part_that_is_no_answer_is_the_engines_failure(bad: bytes) -> None:
    """502, as it is for a request for one."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "n": 2})
        await rig.answer(whole_chat("a"))
        await rig.answer(bad)
        assert reply.status == 502
        assert "error" in reply.json()

    run(test)


@pytest.mark.parametrize("n", [0, 129, True, "2"])
def test_a_number_that_cannot_be_loads_nothing(n: Any) -> None:
    """A 400 that names it."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "n": n})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "n")
        assert not rig.leasing.leases

    run(test)
