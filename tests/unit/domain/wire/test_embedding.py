"""Vectors out of a child's reply."""

import base64
import struct
from typing import Any

import pytest

from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.embedding import (
    as_base64,
    embed_reply,
    legacy_embed_reply,
    prompt_tokens,
    shortened,
    vectors,
    want_dimensions,
)
from blazar.domain.wire.turn import Turn


def row(index: int, *vector: Any) -> dict[str, Any]:
    return {"index": index, "embedding": list(vector)}


def test_order_is_by_index() -> None:
    """Engines may answer out of order (M3)."""
    assert vectors({"data": [row(2, 3.0), row(0, 1.0), row(1, 2.0)]}, 3, "m") == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize(
    "child",
    [
        {},
        {"data": []},
        {"data": [row(0, 1.0), row(1, 1.0)]},
        {"data": [row(0)]},
        {"data": [row(0, float("nan"))]},
        {"data": [row(0, float("inf"))]},
        {"data": [row(0, None)]},
        {"data": [row(5, 1.0)]},
        {"data": ["x"]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
    ],
)
def test_anything_less_is_the_engines_failure(child: dict[str, Any]) -> None:
    """Never an empty, short or broken vector with a 200 (B4, M3, M4)."""
    with pytest.raises(EngineSaid) as said:
        vectors(child, 1, "m")
    assert said.value.status == 502
    assert "'m'" in str(said.value)


def test_base64_is_little_endian_float32() -> None:
    """As the SDKs decode it (M1)."""
    raw = base64.b64decode(as_base64([0.5] * 768))
    assert struct.unpack("<768f", raw) == (0.5,) * 768


def test_ollama_replies() -> None:
    """The new shape and the old one; `load_duration` above 100 ms only."""
    child = {"data": [row(0, 1.0), row(1, 2.0)], "usage": {"prompt_tokens": 9}}
    said = embed_reply(child, 2, Turn("m"), 0.5)
    assert said == {"model": "m", "embeddings": [[1.0], [2.0]], "total_duration": 500_000_000, "prompt_eval_count": 9}
    assert embed_reply(child, 2, Turn("m", load_ns=200_000_000), 0.5)["load_duration"] == 200_000_000
    assert legacy_embed_reply({"data": [row(0, 1.0)]}, "m") == {"embedding": [1.0]}
    assert prompt_tokens({}) == prompt_tokens({"usage": {"prompt_tokens": None}}) == 0


def test_a_cut_vector_is_of_length_one() -> None:
    """One without any length stays as it is; nothing is cut that is not asked for (M8)."""
    assert shortened([[3.0, 4.0, 9.0], [0.0, 0.0, 1.0]], 2) == [[0.6, 0.8], [0.0, 0.0]]
    assert shortened([[3.0, 4.0]], 0) == shortened([[3.0, 4.0]], 2) == [[3.0, 4.0]]
    with pytest.raises(Malformed, match="have 2"):
        shortened([[3.0, 4.0]], 3)


@pytest.mark.parametrize("value", [0, -1, True, "8", 2.5, [8]])
def test_a_length_is_a_whole_number_above_nothing(value: Any) -> None:
    """Null is none."""
    assert (want_dimensions({}), want_dimensions({"dimensions": None}), want_dimensions({"dimensions": 8})) == (0, 0, 8)
    with pytest.raises(Malformed, match="dimensions"):
        want_dimensions({"dimensions": value})
