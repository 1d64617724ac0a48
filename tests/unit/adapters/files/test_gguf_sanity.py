"""Which metadata values can be true."""

from typing import Any

import pytest

from blazar.adapters.files.gguf_sanity import MOST_BLOCKS, check_metadata
from blazar.domain.errors import BadModelFile

TRUE: dict[str, Any] = {
    "general.architecture": "gemma3",
    "gemma3.block_count": MOST_BLOCKS,
    "gemma3.context_length": 1_048_576,
    "gemma3.attention.head_count": (8,) * 12,
    "gemma3.attention.head_count_kv": 4,
    "gemma3.attention.sliding_window_pattern": (True, False),
    "gemma3.attention.sliding_window": 1024,
    "gemma3.leading_dense_block_count": 0,
    "gemma3.pooling_type": 0,
    "gemma3.rope.freq_base": 1e6,
    "own.key": -1,
}


def test_what_real_models_say_is_accepted() -> None:
    """Per-model and per-block numbers, patterns, and keys that nobody sizes anything by."""
    check_metadata("m.gguf", TRUE, {"tokenizer.ggml.tokens": 262_144})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("x.block_count", -1),
        ("x.block_count", 1.0),
        ("x.block_count", (1,)),
        ("x.context_length", True),
        ("x.context_length", 2**31),
        ("x.pooling_type", "mean"),
        ("x.attention.head_count", 2.5),
        ("x.feed_forward_length", ("a",)),
        ("x.expert_count", -1),
        ("split.count", (1,) * 4_000),
        ("split.no", -1),
        ("split.tensors.count", "many"),
        ("general.name", 3),
        ("general.type", (1,)),
    ],
)
def test_what_cannot_be_true_is_refused_by_key(key: str, value: Any) -> None:
    """The sentence names the key."""
    with pytest.raises(BadModelFile, match=key):
        check_metadata("m.gguf", {key: value}, {})


def test_a_long_array_where_one_value_belongs_is_refused() -> None:
    """Arrays that were too long to keep are judged by their length."""
    for key in ("x.context_length", "x.attention.head_count", "general.architecture", "tokenizer.chat_template"):
        with pytest.raises(BadModelFile, match=key):
            check_metadata("m.gguf", {}, {key: 5_000})
