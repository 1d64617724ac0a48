"""Which caches and which state a model is given."""

from typing import Any

import pytest

from blazar.domain.errors import BadShape
from blazar.domain.fit.shape import ModelShape
from tests.support.fit_rows import conventional, shape_of


def named(shape: ModelShape) -> dict[str, list[int]]:
    """Blocks of each cache by its name."""
    return {cache.name: [layer.block for layer in cache.layers] for cache in shape.caches}


def test_loops_multiply_layers_and_number_them_on() -> None:
    """Each pass through the stack keeps its own cache, at the engine's own layer numbers."""
    looped = conventional("nanbeige", num_loops=3)
    assert looped.loops == 3
    assert [layer.block for layer in looped.caches[0].layers] == list(range(36))
    with pytest.raises(BadShape, match="num_loops"):
        conventional("nanbeige", num_loops=100)


INDEXER: dict[str, Any] = {"attention__indexer__key_length": 128, "attention__indexer__top_k": 64}


def test_an_indexer_has_a_cache_of_its_own() -> None:
    """Sparse attention keeps index keys beside its own; without a budget there is no indexer."""
    assert named(conventional("deepseek32", **INDEXER)) == {"full": [*range(12)], "indexer": [*range(12)]}
    assert list(named(conventional("hy_v4"))) == ["full"]


def test_leading_dense_blocks_have_no_indexer() -> None:
    """MiniMax M3's indexer starts behind them, and keeps one head of values too."""
    found = conventional("minimax-m3", leading_dense_block_count=3, **INDEXER)
    assert named(found)["indexer"] == [*range(3, 12)]
    assert found.caches[1].layers[0].v == 32


def test_an_indexer_of_two_widths_follows_the_trained_window() -> None:
    """GLM 5.2 shares its indexers four by four from a trained window of 2**20 on; below that every block has one."""
    assert len(named(conventional("glm-dsa", **INDEXER))["indexer"]) == 12
    found = conventional("glm-dsa", context_length=1 << 20, **INDEXER)
    assert named(found)["indexer"] == [0, 1, 2, 6, 10]
    listed = conventional("glm-dsa", context_length=1 << 20, attention__indexer__types=[1] + [0] * 11, **INDEXER)
    assert named(listed)["indexer"] == [0]


def test_a_model_that_reads_anothers_cache_has_none() -> None:
    """Gemma 4's assistant attends to its target's keys and values."""
    window = {"attention__sliding_window": 64, "attention__sliding_window_pattern": [True, False] * 6}
    assert conventional("gemma4-assistant", **window).caches == ()


def test_encoders_have_no_cache() -> None:
    """Nor have diffusion models; they attend both ways."""
    for arch in ("bert", "dream", "gemma-embedding"):
        found = conventional(arch)
        assert (found.caches, found.recurrent, found.causal) == ((), (), False)


def test_a_compressed_cache_needs_a_ratio_for_each_block() -> None:
    """Raw window, two compressed caches and the indexer's, in the engine's order; a short list is no model."""
    assert list(named(shape_of("deepseek4-moe")))[:5] == ["full", "window", "csa", "hca", "indexer"]
    with pytest.raises(BadShape, match="compress_ratios"):
        conventional("deepseek4", attention__compress_ratios=[4], attention__sliding_window=64)


def test_state_sizes_follow_the_kind_of_state() -> None:
    """Convolution rows and scan state of each kind, in f32 elements (n_embd_r, n_embd_s)."""
    for arch, keys, r, s in (
        (
            "mamba2",
            {"ssm__conv_kernel": 4, "ssm__inner_size": 64, "ssm__state_size": 8, "ssm__group_count": 2},
            288,
            512,
        ),
        ("rwkv7", {"wkv__head_size": 64}, 1024, 32768),
        ("lfm2", {"shortconv__l_cache": 3, "attention__head_count_kv": [0, 2] * 6}, 1024, 0),
        (
            "kimi-linear",
            {"kda__head_dim": 16, "ssm__conv_kernel": 4, "attention__head_count_kv": [0, 2] * 6},
            1152,
            2048,
        ),
        ("minimax-01", {}, 0, 64 * 64 * 8),
    ):
        layer = conventional(arch, **keys).recurrent[0]
        assert (layer.r, layer.s) == (r, s), arch
