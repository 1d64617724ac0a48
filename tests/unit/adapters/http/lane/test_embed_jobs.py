"""Embeddings: order, encoding, and answers that are none."""

import base64
import json
import struct
from typing import Any

import pytest

from blazar.adapters.http.lane.relay import Limits
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
        ({"input": "x", "dimensions": 0}, "dimensions"),
        ({"input": "x", "dimensions": "8"}, "dimensions"),
    ],
)
def test_wrong_fields_are_named(body: dict[str, Any], field: str) -> None:
    """A 400 with the field, before a model is loaded."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/embeddings", {"model": "tiny", **body})
        assert (reply.status, reply.json()["error"]["param"]) == (400, field)
        assert not rig.leasing.leases

    run(test)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_shorter_vectors_are_of_length_one_again(encoding: str) -> None:
    """Whatever encoding the engine chose; longer ones than the model's are refused, its own length stays (case M8)."""

    async def test(rig: Rig) -> None:
        answer = vectors((0, [3.0, 4.0, 12.0]))
        reply = await embed(rig, answer, input="x", dimensions=2, encoding_format=encoding)
        assert "dimensions" not in rig.asked
        found = reply.json()["data"][0]["embedding"]
        if encoding == "base64":
            found = struct.unpack("<2f", base64.b64decode(found))
        assert found == pytest.approx([0.6, 0.8])
        reply = await embed(rig, answer, input="x", dimensions=3)
        assert reply.json()["data"][0]["embedding"] == [3.0, 4.0, 12.0]
        reply = await embed(rig, answer, input="x", dimensions=4)
        assert (reply.status, reply.json()["error"]["param"]) == (400, "dimensions")
        reply = await embed(rig, answer, "/api/embed", input="x", dimensions=2)
        assert reply.json()["embeddings"][0] == pytest.approx([0.6, 0.8])
        reply = await embed(rig, answer, "/api/embed", input="x", dimensions=0)
        assert len(reply.json()["embeddings"][0]) == 3
        reply = await embed(rig, answer, "/api/embeddings", prompt="x", dimensions=1)
        assert reply.json() == {"embedding": [1.0]}

    run(test)


def test_fields_without_effect_are_named_and_not_sent() -> None:
    """Some mean something to other services; silence would look like consent."""

    async def test(rig: Rig) -> None:
        reply = await embed(rig, vectors((0, [1.0])), input="x", input_type="query", user="u", embd_normalize=-1)
        assert reply.header(b"x-blazar-warning") == [b"ignored; 'input_type' has no effect here"]
        assert rig.asked == {"model": "tiny", "input": "x", "user": "u", "embd_normalize": -1}

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


@pytest.mark.parametrize("given", ["", []])
def test_nothing_to_embed_loads_the_model(given: Any) -> None:
    """As clients of ollama preload it; the child is asked nothing."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/embed", {"model": "tiny", "input": given})
        await rig.clock.settle()
        assert (reply.status, reply.json()["embeddings"], rig.upstream.exchanges) == (200, [], [])
        assert [lease.released for lease in rig.leasing.leases] == [[(None, False)]]

    run(test)


@pytest.mark.parametrize("given", ["", [], [1, "a"], 7, None])
def test_an_input_that_is_none_is_refused(given: Any) -> None:
    """By name, and the child is not asked."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/embeddings", {"model": "tiny", "input": given})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "input")

    run(test)


def tokenwise(*rows: list[list[float]]) -> bytes:
    """The answer of a child that makes a vector of each token."""
    return json.dumps([{"index": at, "embedding": row} for at, row in enumerate(rows)]).encode()


@pytest.mark.parametrize(("pooling", "wanted"), [("mean", [0.6, 0.8]), ("cls", [1.0, 0.0]), ("last", [0.0, 1.0])])
def test_a_child_that_leaves_the_last_step_to_us(pooling: str, wanted: list[float]) -> None:
    """Every request to it: one vector for an input, as it would have made it itself, and each token is counted."""

    async def test(rig: Rig) -> None:
        rig.leasing.late = pooling
        for path, ask in (("/v1/embeddings", {"input": ["a"]}), ("/api/embed", {"input": "a"})):
            reply = await rig.post(path, {"model": "tiny", **ask})
            assert (rig.exchange.call.path, rig.asked) == (b"/embeddings", {"model": "tiny", "input": ["a"]})
            await rig.answer(tokenwise([[6.0, 0.0], [0.0, 8.0]]))
            said = reply.json()
            found = said["data"][0]["embedding"] if path.startswith("/v1") else said["embeddings"][0]
            assert found == wanted
            assert rig.records[-1].prompt_tokens == 2
        reply = await rig.post("/v1/embeddings", {"model": "tiny", "input": "a", "encoding_format": "base64"})
        await rig.answer(tokenwise([[6.0, 0.0], [0.0, 8.0]]))
        assert struct.unpack("<2f", base64.b64decode(reply.json()["data"][0]["embedding"])) == pytest.approx(wanted)
        reply = await rig.post("/v1/embeddings", {"model": "tiny", "input": "a"})
        await rig.answer(b"nonsense")
        assert reply.status == 502

    run(test)


async def cut(rig: Rig, *answers: list[int]) -> None:
    """What the child's tokeniser says, piece by piece."""
    for tokens in answers:
        assert rig.exchange.call.path == b"/tokenize"
        await rig.answer(json.dumps({"tokens": tokens}).encode())


@pytest.mark.parametrize("path", ["/v1/embeddings", "/api/embed"])
def test_a_text_is_embedded_as_a_whole_and_cut_afterwards(path: str) -> None:
    """One request for the whole, marks around it, a vector for each piece."""

    async def test(rig: Rig) -> None:
        rig.leasing.late = "cls"
        reply = await rig.post(path, {"model": "tiny", "input": ["ab", "c"], "late_chunking": True})
        assert rig.asked == {"content": "ab", "add_special": True}
        await cut(rig, [101, 5, 6, 102], [5, 6], [7])
        assert (rig.exchange.call.path, rig.asked) == (b"/embeddings", {"model": "tiny", "input": [101, 5, 6, 7, 102]})
        await rig.answer(tokenwise([[9.0, 9.0], [6.0, 0.0], [0.0, 8.0], [0.0, 3.0], [9.0, 9.0]]))
        said = reply.json()
        found = [row["embedding"] for row in said["data"]] if path.startswith("/v1") else said["embeddings"]
        assert found == [[0.6, 0.8], [0.0, 1.0]]
        assert (rig.records[0].prompt_tokens, len(rig.leasing.leases)) == (5, 1)

    run(test)


def test_a_text_that_is_too_long_is_a_413_in_both_dialects() -> None:
    """By the gateway's bound; by the model's window it is a 400 with its sizes. The child is well."""

    async def test(rig: Rig) -> None:
        rig.leasing.late = "mean"
        for path in ("/v1/embeddings", "/api/embed"):
            reply = await rig.post(path, {"model": "tiny", "input": ["a", "b"], "late_chunking": True})
            await cut(rig, [1], [1], [2, 3, 4, 5])
            assert reply.status == 413
            assert b"late_chunking_max_tokens is 4" in reply.body
        reply = await rig.post(
            "/v1/embeddings", {"model": "tiny", "input": "a", "late_chunking": True, "truncate": True}
        )
        await cut(rig, [1], [1])
        await rig.answer(b'{"error":{"message":"input (40 tokens) is too large to process (batch size: 16)"}}', 500)
        assert (reply.status, reply.json()["error"]["param"]) == (400, "input")
        assert {lease.released[0] for lease in rig.leasing.leases} == {(None, False)}

    run(test, Limits(late_tokens=4))


def test_a_model_that_was_not_told_to_says_how() -> None:
    """Nothing is asked of its child."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/embeddings", {"model": "tiny", "input": "a", "late_chunking": True})
        assert (reply.status, reply.json()["error"]["param"]) == (400, "late_chunking")
        assert not rig.upstream.exchanges

    run(test)
