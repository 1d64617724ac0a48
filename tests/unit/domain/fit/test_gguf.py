"""Headers of strangers → shapes: what is right is read, what is wrong is a BadShape and nothing else."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.errors import BadShape
from blazar.domain.fit.demand import memory
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import Attends, Tensor
from tests.support.fit_rows import CONVENTIONAL, conventional, models, shape_of


def test_a_real_header_is_read() -> None:
    """Blocks, experts, vocabulary and tensors of a published model's shape."""
    found = shape_of("qwen3-30b-a3b-shape")
    assert (found.arch, found.known, len(found.blocks), found.experts, found.loops) == ("qwen3moe", True, 48, 128, 1)
    first = found.blocks[0]
    assert (first.attends, first.heads, first.kv_heads, first.k_head, first.v_head) == (Attends.FULL, 32, 4, 128, 128)
    assert (first.expert_ff, first.experts_used) == (768, 8)
    assert found.vocabulary == 151936
    assert sum(row.bytes for row in found.tensors) == sum(row[3] for row in models()["qwen3-30b-a3b-shape"]["tensors"])


# Rows


class Named(NamedTuple):
    """As the file reader's rows are."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    size: int


@pytest.mark.parametrize(
    "row",
    [
        ("token_embd.weight", (512, 100), "F16", 102400),
        ["token_embd.weight", [512, 100], "F16", 102400],
        {"name": "token_embd.weight", "shape": [512, 100], "type": "F16", "bytes": 102400},
        Tensor("token_embd.weight", (512, 100), "F16", 102400),
        Named("token_embd.weight", (512, 100), "F16", 0, 102400),
    ],
)
def test_rows_may_have_any_usual_form(row: Any) -> None:
    """Sequences, mappings and objects name the same tensor; the vocabulary is its number of rows."""
    found = conventional("llama", [row])
    assert found.tensors == (Tensor("token_embd.weight", (512, 100), "F16", 102400),)
    assert found.vocabulary == 100


@pytest.mark.parametrize(
    "rows",
    [
        "text",
        7,
        None,
        {"a": 1},
        [7],
        [()],
        [("a", (1,), "F32")],
        [(7, (1,), "F32", 4)],
        [("a", "12", "F32", 4)],
        [("a", (1,) * 5, "F32", 4)],
        [("a", (-1,), "F32", 4)],
        [("a", (1.0,), "F32", 4)],
        [("a", (2**63,), "F32", 4)],
        [("a", (1,), None, 4)],
        [("a", (1,), "F32", -4)],
        [("a", (1,), "F32", 2**63)],
        [("a", (1,), "F32", True)],
        [{"name": "a"}],
        [Tensor("a", None, "F32", 4)],  # type: ignore[arg-type]
    ],
)
def test_a_table_that_is_none_is_refused(rows: Any) -> None:
    """Wrong rows are a BadShape, whatever they are."""
    with pytest.raises(BadShape):
        conventional("llama", rows)


def test_the_vocabulary_comes_from_wherever_it_is() -> None:
    """Output rows first, as they may be padded; else the key; else the texts themselves."""
    assert conventional("llama", [("output.weight", (512, 120), "F16", 1)], vocab_size=100).vocabulary == 120
    assert conventional("llama", vocab_size=100).vocabulary == 100
    keys = {f"llama.{key}": value for key, value in CONVENTIONAL.items()}
    tokens = {"general.architecture": "llama", "tokenizer.ggml.tokens": ["a", "b"]}
    assert shape_from_gguf({**keys, **tokens}, ()).vocabulary == 2


# Hostile metadata


@pytest.mark.parametrize(
    "metadata", [None, [], "x", {}, {"general.architecture": 7}, {"general.architecture": "", 7: 8}]
)
def test_what_is_no_metadata_is_refused(metadata: Any) -> None:
    """No mapping, no architecture, keys that are no texts."""
    with pytest.raises(BadShape):
        shape_from_gguf(metadata, ())
    with pytest.raises(BadShape):
        shape_from_gguf({"general.architecture": "llama", 7: 8}, ())


def test_an_empty_model_is_refused() -> None:
    """One key and no tensor: no block to divide by (ollama 7802)."""
    with pytest.raises(BadShape, match="block_count"):
        shape_from_gguf({"general.architecture": "llama"}, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("block_count", 10**9),
        ("block_count", 513),
        ("block_count", [12] * 12),
        ("block_count", 2**63),
        ("block_count", 12.0),
        ("attention.head_count", 0),
        ("attention.head_count", -8),
        ("attention.head_count", [8] * 11),
        ("attention.head_count", "8"),
        ("attention.head_count_kv", [2] * 13),
        ("attention.head_count_kv", float("nan")),
        ("attention.key_length", [64] * 12),
        ("attention.key_length", True),
        ("attention.key_length", 0),
        ("embedding_length", "big"),
        ("nextn_predict_layers", 13),
        ("expert_count", 1025),
        ("feed_forward_length", [1, 2]),
        ("context_length", [4096]),
        ("attention.shared_kv_layers", 12),
        ("vocab_size", -1),
    ],
)
def test_strange_values_are_refused_by_name(key: str, value: Any) -> None:
    """Arrays for scalars and the reverse, zeros, signs, fractions, giants: a BadShape that names the key."""
    with pytest.raises(BadShape) as caught:
        conventional("llama", **{key: value})
    assert caught.value.key == f"llama.{key}"


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.integers(0, 64),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.lists(st.integers(0, 9), max_size=8),
    st.lists(st.one_of(st.booleans(), st.integers(-2, 600), st.floats(), st.text(max_size=2)), max_size=6),
)
SAMPLE = sorted(models())


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_only_a_bad_shape_ever_escapes(data: st.DataObject) -> None:
    """Any model's metadata with any values in any of its keys: a shape that can be summed, or a BadShape."""
    model = models()[data.draw(st.sampled_from(SAMPLE))]
    metadata = dict(model["metadata"])
    rows = list(model["tensors"])
    for key in data.draw(st.lists(st.sampled_from(sorted(metadata)), min_size=1, max_size=4)):
        metadata[key] = data.draw(ODD)
    for key in data.draw(st.lists(st.sampled_from(sorted(metadata)), max_size=3)):
        metadata.pop(key, None)
    if data.draw(st.booleans()):
        rows[data.draw(st.integers(0, len(rows) - 1))] = data.draw(st.one_of(ODD, st.tuples(st.text(), ODD, ODD, ODD)))
    try:
        found = shape_from_gguf(metadata, rows[:: data.draw(st.integers(1, 9))])
    except BadShape:
        return
    summed = memory(found, Settings(ctx=data.draw(st.integers(0, 1 << 33)), parallel=data.draw(st.integers(0, 300))))
    assert summed.total_bytes >= 0
    assert len(found.blocks) <= 512


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=12), ODD, max_size=6), st.lists(ODD, max_size=3))
def test_noise_is_no_model(metadata: dict[str, Any], rows: list[Any]) -> None:
    """Random mappings and rows are refused and nothing worse."""
    for arch in ("llama", "x"):
        with pytest.raises(BadShape):
            shape_from_gguf({**metadata, "general.architecture": arch}, rows)
