"""One load by layer."""

from dataclasses import replace

import pytest

from blazar.domain.fit.bill import standing
from blazar.domain.fit.caches import caches
from blazar.domain.fit.compute import compute_bytes
from blazar.domain.fit.demand import memory
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import Projector
from blazar.domain.fit.weights import weigh
from tests.support.fit_rows import models, shape_of
from tests.support.fit_shapes import CLOSED, DENSE, MIB, Dense, billed


def test_the_sums_end_with_what_memory_says():
    """Nothing is lost between the layers."""
    one, whole = billed(DENSE, CLOSED), memory(DENSE, CLOSED)
    assert one.layers == 32
    assert one.input + one.weights[-1] + one.stays[-1] == whole.weights_bytes
    assert one.kv[-1] == whole.kv_bytes


def test_the_output_layer_is_the_last():
    """It weighs what its tensors weigh and keeps no cache."""
    one = billed(DENSE, CLOSED)
    assert one.weights[33] - one.weights[32] == 256 * MIB
    assert one.kv[33] == one.kv[32]


def test_a_cache_that_stays_with_the_host_does_not_move_with_its_layer():
    """`kv_offload` off: the weights alone go to the device."""
    one = billed(DENSE, replace(CLOSED, kv_offload=False))
    assert one.moving == one.weights
    assert one.kv[-1] > 0


def test_experts_that_stay_with_the_host_do_not_move():
    """`cpu_moe_n` keeps those of the first blocks."""
    shape = Dense(experts=8).shape()
    kept = billed(shape, replace(CLOSED, cpu_moe_n=4))
    free = billed(shape, CLOSED)
    assert kept.stays[4] == kept.stays[-1] > 0
    assert kept.moving[-1] == free.moving[-1] - kept.stays[-1]


def test_adapters_lie_along_the_layers():
    """All of their bytes, however they divide."""
    one = billed(DENSE, replace(CLOSED, lora_bytes=(100 * MIB + 1, 7)))
    assert one.lora[-1] == 100 * MIB + 8
    assert one.lora == sorted(one.lora)


def test_a_stack_run_twice_has_twice_the_layers():
    """The second pass keeps a cache and has no weights."""
    twice = replace(DENSE, loops=2)
    one = billed(twice, CLOSED)
    assert one.layers == 64
    assert one.weights[32] == one.weights[64] > 0


def test_weights_are_weighed_once():
    """For every window and cache type; and as `weigh` says, however many blocks keep their experts with the host."""
    shape = Dense(experts=8).shape()
    assert billed(shape, CLOSED).weights is billed(shape, replace(CLOSED, ctx=512, cache_type_k="q8_0")).weights
    for count in (0, 1, 17, 32, 40):
        for asked in (replace(CLOSED, cpu_moe_n=count), replace(CLOSED, cpu_moe_n=count, cpu_ffn_n=20)):
            one, weighed = standing(shape, asked), weigh(shape, asked)
            assert one.total == weighed.total
            assert one.stays[-1] == sum(part.host for part in weighed.blocks)
            assert one.weights[7] == sum(part.offloaded for part in weighed.blocks[:7])
            assert one.packs_stay[-1] == sum(part.packed_host for part in weighed.blocks)


@pytest.mark.parametrize("name", list(models()))
def test_a_bills_caches_are_those_of_memory(name):
    """Rows of a width times cells: whatever the types, the window and the slots."""
    shape = shape_of(name)
    for ctx, parallel, keys, values in ((512, 1, "", ""), (8192, 3, "q8_0", "q4_0"), (70000, 4, "f32", "bf16")):
        asked = Settings(ctx=ctx, parallel=parallel, cache_type_k=keys, cache_type_v=values, kv_unified=parallel == 3)
        assert billed(shape, asked).kv[-1] == sum(cache.bytes for cache in caches(shape, asked))


def test_projector_and_draft_are_counted_with_all_that_they_take():
    """Encoder scratch and the draft's own cache included; of the draft's logits one row, as for any child that serves."""
    draft = Draft(Dense(blocks=4, size=1024 * MIB).shape(), CLOSED)
    one = billed(DENSE, replace(CLOSED, projector=Projector("clip", 100, 11), draft=draft))
    assert one.projector == 111
    whole = memory(draft.shape, CLOSED)
    assert one.draft == whole.total_bytes - whole.compute_bytes + compute_bytes(draft.shape, CLOSED, outputs=1)
