"""Architectures that no table knows: what keys settle is read, what they do not is an upper bound."""

from typing import Any

import pytest

from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.demand import memory
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from tests.support.fit_rows import conventional, models, shape_of


def layers(of: ModelShape, **values: Any) -> list[int]:
    return [len(cache.layers) for cache in caches(of, Settings(ctx=4096, **values))]


def test_a_new_architecture_needs_no_code() -> None:
    """Grouped heads of their own widths are read from the keys."""
    new = conventional("brandnew")
    assert new.known
    (cache,) = caches(new, Settings(ctx=4096))
    assert (cache.k_bytes, cache.v_bytes) == (12 * 4096 * 2 * 64 * 2, 12 * 4096 * 2 * 32 * 2)


def test_a_new_windowed_architecture_needs_no_code() -> None:
    """A window with a pattern, flags or a period, is windowed."""
    flags = conventional(
        "brandnew", attention__sliding_window=256, attention__sliding_window_pattern=[True, True, False] * 4
    )
    period = conventional("brandnew", attention__sliding_window=256, attention__sliding_window_pattern=3)
    assert flags.known
    assert period.known
    assert layers(flags) == layers(period) == [4, 8]


def test_a_new_hybrid_needs_no_code() -> None:
    """Blocks without key heads, or a list of recurrent blocks, keep a state and no keys."""
    state = {"ssm__conv_kernel": 4, "ssm__inner_size": 1024, "ssm__state_size": 16}
    zeros = conventional("brandnew", attention__head_count_kv=[0, 0, 2] * 4, **state)
    listed = conventional("brandnew", attention__recurrent_layers=[1, 1, 0] * 4, **state)
    spaced = conventional("brandnew", full_attention_interval=3, **state)
    for one in (zeros, listed, spaced):
        assert one.known
        assert layers(one) == [4]
        assert [layer.block for layer in recurrent(one, Settings())] == [0, 1, 3, 4, 6, 7, 9, 10]


def test_a_new_latent_architecture_needs_no_code() -> None:
    """Latent head widths beside the cache's own mean that values are read from the keys."""
    keys = {"attention__key_length_mla": 96, "attention__value_length_mla": 64, "attention__kv_lora_rank": 128}
    new = conventional("brandnew", attention__head_count_kv=1, attention__key_length=160, **keys)
    (cache,) = caches(new, Settings(ctx=4096))
    assert new.known
    assert new.mla
    assert (cache.k_bytes, cache.v_bytes) == (12 * 4096 * 160 * 2, 0)


def test_shared_and_predicting_blocks_need_no_code() -> None:
    """Blocks that share another's cache and blocks that only predict keep nothing."""
    assert layers(conventional("brandnew", attention__shared_kv_layers=4)) == [8]
    assert layers(conventional("brandnew", nextn_predict_layers=2)) == [10]


# An unknown architecture


@pytest.mark.parametrize(
    "odd",
    [
        {"attention__sliding_window": 128},
        {"attention__kv_lora_rank": 256, "rope__dimension_count": 64},
        {"ssm__state_size": 64, "ssm__inner_size": 1024, "ssm__conv_kernel": 4},
        {"wkv__head_size": 64, "attention__head_count": 0},
        {"attention__indexer__key_length": 128},
        {"attention__compress_ratios": [4] * 12},
    ],
)
def test_what_conventions_do_not_settle_is_an_upper_bound(odd: dict[str, Any]) -> None:
    """A key that hints at something unsettled makes the figures bounds, above what any known reading would give."""
    found = conventional("brandnew", **odd)
    assert not found.known
    assert memory(found, Settings(ctx=4096)).upper_bound
    plain = memory(conventional("brandnew"), Settings(ctx=4096))
    bound = memory(found, Settings(ctx=4096))
    assert bound.kv_bytes >= plain.kv_bytes
    assert (bound.recurrent_bytes > 0) == any(key.startswith(("ssm", "wkv")) for key in odd)


@pytest.mark.parametrize("model", sorted(models()))
def test_an_unknown_reading_of_a_known_model_is_never_below_the_truth(model: str) -> None:
    """Under a name that nobody knows, every measured model is charged at least its own attention cache and its state."""
    metadata, tensors = models()[model]["metadata"], models()[model]["tensors"]
    arch = metadata["general.architecture"]
    renamed = {
        f"unheard.{key[len(arch) + 1 :]}": value for key, value in metadata.items() if key.startswith(f"{arch}.")
    }
    found = shape_from_gguf({"general.architecture": "unheard", **renamed}, tensors)
    asked = Settings(ctx=65536)
    known = memory(shape_of(model), asked)
    charged = memory(found, asked)
    assert charged.kv_bytes >= known.kv_bytes
    assert charged.recurrent_bytes >= known.recurrent_bytes
