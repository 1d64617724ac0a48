"""Embeddings: order, encoding, and answers that are none."""

import base64
import json
import struct
from typing import Any

import pytest

from tests.support.lane_rig import Rig, run


def vectors(*rows: tuple[int, Any]) -> bytes:
    """A child's answer."""
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in rows]
    return json.dumps(
        {"model": "/m/e.gguf", "object": "list", "usage": {"prompt_tokens": 4, "total_tokens": 4}, "data": data}
    ).encode()


async def embed(rig: Rig, answer: bytes, path: str = "/v1/embeddings", **body: Any) -> Any:
    """Post and answer."""
    reply = await rig.post(path, {"model": "tiny", **body})
    await rig.answer(answer)
    return reply


def test_a_right_answer_passes_as_bytes() -> None:
    """Only the model's name is the caller's."""

    async def test(rig: Rig) -> None:
        answer = vectors((0, [0.25, -1.5]))
        reply = await embed(rig, answer, input="x")
        assert reply.body == answer.replace(b"/m/e.gguf", b"tiny")
        assert rig.records[0].prompt_tokens == 4

    run(test)


def test_base64_is_little_endian_float32() -> None:
    """Asked for by SDKs without being told; an engine that answers numbers is mended (case M1)."""

    async def test(rig: Rig) -> None:
        reply = await embed(rig, vectors((0, [0.1] * 768)), input="x", encoding_format="base64")
        raw = base64.b64decode(reply.json()["data"][0]["embedding"])
        assert struct.unpack("<768f", raw) == pytest.approx([0.1] * 768)
        encoded = base64.b64encode(struct.pack("<2f", 0.5, 2.0)).decode()
        reply = await embed(rig, vectors((0, encoded)), input="x", encoding_format="base64")
        assert reply.json()["data"][0]["embedding"] == encoded
        reply = await embed(rig, vectors((0, encoded)), input="x")
        assert reply.json()["data"][0]["embedding"] == [0.5, 2.0]

    run(test)


def test_vectors_come_in_the_order_of_their_inputs() -> None:
    """Whatever order the engine finished them in (case M3)."""

    async def test(rig: Rig) -> None:
        reply = await embed(rig, vectors((2, [3.0]), (0, [1.0]), (1, [2.0])), input=["a", "b", "c"])
        assert [row["embedding"] for row in reply.json()["data"]] == [[1.0], [2.0], [3.0]]
        assert [row["index"] for row in reply.json()["data"]] == [0, 1, 2]

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        vectors((0, [])),
        vectors((0, [1.0, None])),
        vectors((0, [1.0])),
        vectors((0, [1.0]), (0, [2.0])),
        vectors((0, [1.0]), (1, [float("nan")])),
        b"{}",
        b"nonsense",
    ],
)
@pytest.mark.parametrize("path", ["/v1/embeddings", "/api/embed"])
def test_an_unusable_answer_is_a_502_that_says_so(path: str, answer: bytes) -> None:
    """Never an empty vector, a missing one or a NaN (cases B4, M4)."""

    async def test(rig: Rig) -> None:
        reply = await embed(rig, answer, path, input=["a", "b"])
        assert reply.status == 502
        assert b"unusable embedding" in reply.body

    run(test)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": [1, "a"]}, "input"),
        ({"input": "x", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "x", "dimensions": 256}, "dimensions"),
    ],
)
def test_wrong_fields_are_named(body: dict[str, Any], field: str) -> None:
    """A 400 with the field, before a model is loaded; `dimensions` is refused rather than ignored (case M8)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/embeddings", {"model": "tiny", **body})
        assert (reply.status, reply.json()["error"]["param"]) == (400, field)
        assert not rig.leasing.leases

    run(test)


def test_token_ids_are_one_input_and_lists_of_them_many() -> None:
    """As OpenAI counts them; nulls are absent."""

    async def test(rig: Rig) -> None:
        assert (await embed(rig, vectors((0, [1.0])), input=[1, 2, 3], user=None, dimensions=None)).status == 200
        assert "user" not in rig.asked
        assert (await embed(rig, vectors((0, [1.0]), (1, [2.0])), input=[[1], [2, 3]])).status == 200

    run(test)


@pytest.mark.parametrize("more", [{}, {"truncate": False}])
def test_odd_nothing_is_cut_unless_somebody_asks_for_it(more: dict[str, Any]) -> None:
    """The engine's refusal is the answer, and nothing else is asked, where ollama would cut."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/embed", {"model": "tiny", "input": "w " * 40, **more})
        await rig.answer(b'{"error":{"message":"input (40 tokens) is too large to process (batch size: 16)"}}', 500)
        assert (reply.status, rig.exchange.call.path) == (400, b"/v1/embeddings")

    run(test)


def test_ollamas_two_shapes() -> None:
    """`/api/embed` has a list with counts, `/api/embeddings` one vector, from `prompt` or `input` (case B4)."""

    async def test(rig: Rig) -> None:
        reply = await embed(rig, vectors((1, [2.0]), (0, [1.0])), "/api/embed", input=["a", "b"])
        said = reply.json()
        assert (said["model"], said["embeddings"], said["prompt_eval_count"]) == ("tiny", [[1.0], [2.0]], 4)
        for body in ({"prompt": "x"}, {"input": "x"}):
            reply = await embed(rig, vectors((0, [1.0])), "/api/embeddings", **body)
            assert reply.json() == {"embedding": [1.0]}

    run(test)
