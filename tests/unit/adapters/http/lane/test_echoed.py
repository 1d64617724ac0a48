"""`echo` of a raw completion as the lane serves it."""

import json
from typing import Any

import pytest

from blazar.application.ports.upstream import ChildAnswer
from tests.support.lane_rig import Rig, run

PATH = "/v1/completions"
ANSWER = json.dumps(
    {
        "id": "c",
        "model": "tiny",
        "choices": [{"index": 0, "text": " b"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
).encode()


def texts(reply: Any) -> list[str]:
    return [choice["text"] for choice in reply.json()["choices"]]


@pytest.mark.parametrize(
    ("prompt", "n", "wanted"), [("a", 1, ["a b"]), ("a", 2, ["a b"] * 2), (["a", "c"], 1, ["a b", "c b"])]
)
def test_texts_stand_before_their_answers(prompt: Any, n: int, wanted: list[str]) -> None:
    """The child never hears of it, and the counts are its own."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(PATH, {"model": "tiny", "prompt": prompt, "n": n, "echo": True})
        for _ in wanted:
            assert "echo" not in rig.asked
            await rig.answer(ANSWER)
        assert texts(reply) == wanted
        assert reply.json()["usage"]["completion_tokens"] == len(wanted)

    run(test)


def test_tokens_are_told_by_the_child_first() -> None:
    """One question for each prompt of them."""

    async def test(rig: Rig) -> None:
        rig.upstream.answers[b"/detokenize"] = ChildAnswer(200, (), b'{"content":"a"}')
        reply = await rig.post(PATH, {"model": "tiny", "prompt": [5, 6], "echo": True})
        await rig.answer(ANSWER)
        assert texts(reply) == ["a b"]

    run(test)


def test_a_child_that_does_not_tell_them_is_its_own_failure() -> None:
    """But for numbers that are no tokens, which the completion itself refuses."""

    async def test(rig: Rig) -> None:
        rig.upstream.answers[b"/detokenize"] = ChildAnswer(200, (), b"{}")
        reply = await rig.post(PATH, {"model": "tiny", "prompt": [5], "echo": True})
        await rig.clock.settle()
        assert reply.status == 502
        rig.upstream.answers[b"/detokenize"] = ChildAnswer(500, (), b'{"error":{"message":"vector::_M_range_check"}}')
        reply = await rig.post(PATH, {"model": "tiny", "prompt": [5], "echo": True})
        await rig.answer(b'{"error":{"message":"Prompt contains invalid tokens"}}', 400)
        assert (reply.status, reply.json()["error"]["param"]) == (400, "prompt")

    run(test)
