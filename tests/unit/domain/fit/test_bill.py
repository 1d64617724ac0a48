"""One load by layer."""

from dataclasses import replace

from blazar.domain.fit.demand import memory
from blazar.domain.fit.settings import Draft
from blazar.domain.fit.shape import Projector
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


def test_projector_and_draft_are_counted_with_all_that_they_take():
    """Encoder scratch and the draft's own cache included."""
    draft = Draft(Dense(blocks=4, size=1024 * MIB).shape(), CLOSED)
    one = billed(DENSE, replace(CLOSED, projector=Projector("clip", 100, 11), draft=draft))
    assert one.projector == 111
    assert one.draft == memory(draft.shape, draft.settings).total_bytes
