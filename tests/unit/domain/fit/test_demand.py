"""The sum of one load: every part once, refusals instead of numbers."""

from dataclasses import replace

import pytest

from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.compute import compute_bytes
from blazar.domain.fit.demand import memory
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import Projector
from blazar.domain.fit.weights import weigh
from tests.support.fit_rows import models, shape_of


@pytest.mark.parametrize("model", sorted(models()))
def test_every_part_counts_once(model: str) -> None:
    """Weights are what is loaded of the file, and the total is the sum of what the parts say."""
    shape, asked = shape_of(model), Settings(ctx=8192, parallel=2, lora_bytes=(3, 4))
    found = memory(shape, asked)
    assert found.weights_bytes == weigh(shape, asked).total
    assert found.kv_bytes == sum(cache.bytes for cache in caches(shape, asked))
    assert found.recurrent_bytes == sum(layer.bytes for layer in recurrent(shape, asked))
    assert found.compute_bytes == compute_bytes(shape, asked) > 0
    assert found.lora_bytes == 7
    parts = (found.weights_bytes, found.kv_bytes, found.recurrent_bytes, found.compute_bytes, found.lora_bytes)
    assert found.total_bytes == sum(parts)
    assert not found.upper_bound


def test_projector_and_draft_count_with_all_they_take() -> None:
    """Beside the model's own: the encoder's weights and scratch, and everything of the second model."""
    target, second = shape_of("qwen3-dense"), shape_of("llama-dense")
    draft = Draft(second, Settings(ctx=4096))
    alone = memory(target, Settings(ctx=4096))
    both = memory(target, Settings(ctx=4096, projector=Projector("", 100, 20), draft=draft))
    assert both.projector_bytes == 120
    assert both.draft_bytes == memory(second, draft.settings).total_bytes
    assert both.total_bytes == alone.total_bytes + both.projector_bytes + both.draft_bytes


def test_predicting_blocks_are_no_weights_of_a_plain_load() -> None:
    """What the engine skips in the file is not charged."""
    shape = shape_of("llama-dense")
    predicting = replace(shape, nextn=1)
    last = f"blk.{len(shape.blocks) - 1}."
    skipped = sum(row.bytes for row in shape.tensors if row.name.startswith(last))
    less = memory(shape, Settings(ctx=256)).weights_bytes - memory(predicting, Settings(ctx=256)).weights_bytes
    assert less == skipped > 0


def test_what_is_refused_costs_nothing_and_says_why() -> None:
    """A refused load has a sentence and no numbers; a refused draft refuses the whole."""
    latent = shape_of("deepseek-v3-shape")
    mixed = Settings(ctx=4096, cache_type_k="q8_0", cache_type_v="q4_0")
    found = memory(latent, mixed)
    assert found.refused
    assert found.total_bytes == 0
    assert found.caches == ()
    drafted = memory(shape_of("llama-dense"), Settings(ctx=4096, draft=Draft(latent, mixed)))
    assert drafted.refused == found.refused
    assert drafted.total_bytes == 0


def test_any_part_that_is_a_bound_makes_the_sum_one() -> None:
    """An unknown architecture, an unknown encoder or an unknown draft: the verdict must say that it is a bound."""
    known = shape_of("llama-dense")
    unknown = replace(known, known=False)
    assert memory(unknown, Settings(ctx=256)).upper_bound
    assert memory(known, Settings(ctx=256, projector=Projector("new", 1, 1, upper_bound=True))).upper_bound
    assert memory(known, Settings(ctx=256, draft=Draft(unknown, Settings(ctx=256)))).upper_bound
    assert not memory(known, Settings(ctx=256)).upper_bound


def test_open_settings_are_the_engines_defaults() -> None:
    """One sequence, f16, the trained window."""
    shape = shape_of("llama-dense")
    spelled = Settings(ctx=shape.trained_ctx, parallel=1, cache_type_k="f16", cache_type_v="f16")
    assert memory(shape, Settings()) == memory(shape, spelled)
