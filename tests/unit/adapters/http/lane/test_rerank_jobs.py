"""Rankings through the lane."""

import json

import pytest

from tests.support.lane_rig import Rig, run


def scores(*found: float) -> bytes:
    """A child's answer."""
    rows = [{"index": at, "relevance_score": score} for at, score in enumerate(found)]
    return json.dumps({"model": "x", "results": rows, "usage": {"prompt_tokens": 8, "total_tokens": 8}}).encode()


@pytest.mark.parametrize("path", ["/v1/rerank", "/v1/reranking", "/rerank", "/reranking"])
def test_every_name_of_the_route_ranks(path: str) -> None:
    """The best first, under the caller's name for the model; the child is asked for all scores."""

    async def test(rig: Rig) -> None:
        ask = {"model": "tiny:latest", "query": "q", "documents": ["a", "b"], "top_n": 1, "keep_alive": 9, "odd": 1}
        reply = await rig.post(path, ask)
        assert rig.asked == {"model": "tiny", "query": "q", "documents": ["a", "b"]}
        await rig.answer(scores(0.5, 2.5))
        assert (reply.status, reply.json()["model"]) == (200, "tiny:latest")
        assert reply.json()["results"] == [{"index": 1, "relevance_score": 2.5}]
        assert reply.header(b"x-blazar-warning") == [b"ignored; 'odd' has no effect here"]
        assert (rig.records[0].prompt_tokens, rig.lease.released) == (8, [(9.0, False)])

    run(test)


def test_a_pair_that_is_too_long_is_told_with_its_sizes() -> None:
    """The engine calls it its own failure; the child is not held responsible."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/rerank", {"model": "tiny", "query": "q", "documents": ["a"]})
        await rig.answer(b'{"error":{"message":"input (40 tokens) is too large to process (batch size: 16)"}}', 500)
        assert (reply.status, reply.json()["error"]["param"]) == (400, "documents")
        assert "40 tokens" in reply.json()["error"]["message"]
        assert rig.lease.released == [(None, False)]

    run(test)


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"nonsense", scores(1.0), scores(1.0, 2.0, 3.0)])
def test_an_unusable_answer_is_a_502(answer: bytes) -> None:
    """Never a document without a score."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/rerank", {"model": "tiny", "query": "q", "documents": ["a", "b"]})
        await rig.answer(answer)
        assert (reply.status, rig.lease.released) == (502, [(None, True)])

    run(test)


def test_wrong_fields_load_nothing() -> None:
    """A 400 with the field."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/rerank", {"model": "tiny", "query": "q", "documents": []})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "documents")
        assert not rig.leasing.leases

    run(test)
