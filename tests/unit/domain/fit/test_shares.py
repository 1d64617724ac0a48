"""What every device holds once the layers have places."""

from dataclasses import replace

import pytest

from blazar.domain.fit.compute import PIPELINE_COPIES, compute_bytes, served_outputs
from blazar.domain.fit.demand import memory
from blazar.domain.fit.guard import MARGIN
from blazar.domain.fit.machine import GIB, Device, Machine
from blazar.domain.fit.placement import place
from blazar.domain.fit.settings import Draft
from blazar.domain.fit.shares import DRAFTED, HOST, outputs
from tests.support.fit_shapes import CLOSED, DENSE, MIB, Dense, alternating, billed, cards, load

BIG = Dense(size=16 * GIB).shape()


def test_the_host_comes_first_and_every_device_follows():
    """Also one that gets nothing: a person wants to see it."""
    found = place(load(DENSE, cards(24, 48)))
    assert [share.device for share in found.shares] == [HOST, "CUDA0", "CUDA1"]
    idle = found.shares[2]
    assert (idle.used, idle.margin, idle.headroom) == (0, 0, idle.free)


@pytest.mark.parametrize("machine", [cards(), cards(6), cards(24), cards(12, 12), cards(10, 10, 2)])
def test_weights_and_cache_lie_in_exactly_one_share_each(machine):
    """Whatever the places, their sums are what `memory` says."""
    shares, whole = place(load(BIG, machine)).shares, memory(BIG, CLOSED)
    assert sum(share.weights for share in shares) == whole.weights_bytes
    assert sum(share.kv for share in shares) == whole.kv_bytes


def test_the_host_alone_computes_what_one_device_computes():
    """The engine's one buffer, with as many logits as llama-server reserves."""
    share = place(load(DENSE, cards())).shares[0]
    assert share.compute == compute_bytes(DENSE, CLOSED, outputs=served_outputs(CLOSED))


def test_half_of_the_hosts_weights_may_be_dropped():
    """They are mapped, where paging is allowed; the margin is that of `spawn_mem_guard`."""
    share = place(load(DENSE, cards(), paging=True)).shares[0]
    assert share.mapped == share.weights // 2
    assert share.margin == MARGIN
    assert place(load(DENSE, cards())).shares[0].mapped == 0
    assert place(load(DENSE, cards(), replace(CLOSED, mmap=False), paging=True)).shares[0].mapped == 0


def test_weights_that_the_processor_repacks_may_not_be_dropped():
    """They are a copy and no part of the file; with a card, or without repacking, they are mapped like the others."""
    rows = tuple(row._replace(type="q4_0") if row.name.startswith("blk.") else row for row in DENSE.tensors)
    packed = replace(DENSE, tensors=rows)
    ends = sum(row.bytes for row in rows if not row.name.startswith("blk."))
    assert place(load(packed, cards(), paging=True)).shares[0].mapped == ends // 2
    loose = place(load(packed, cards(), replace(CLOSED, repack=False), paging=True)).shares[0]
    assert loose.mapped == loose.weights // 2
    host = place(load(packed, cards(4), replace(CLOSED, gpu_layers=8), paging=True)).shares[0]
    assert host.mapped == host.weights // 2
    experts = replace(Dense(experts=8).shape(), tensors=rows)
    kept = place(load(experts, cards(), replace(CLOSED, cpu_moe_n=32), paging=True)).shares[0]
    assert kept.mapped == ends // 2


def test_the_input_layer_stays_with_the_host():
    """Also where all layers are offloaded."""
    assert place(load(DENSE, cards(24))).shares[0].weights == 256 * MIB


def test_a_cache_can_stay_with_the_host():
    """`kv_offload` off."""
    host, card = place(load(DENSE, cards(24), replace(CLOSED, kv_offload=False))).shares
    assert card.kv == 0
    assert host.kv == memory(DENSE, CLOSED).kv_bytes


def test_a_cache_with_the_host_is_handed_over_block_by_block():
    """Attention is computed where its weights lie: a device has room for the largest block's cache, latent keys counted twice."""
    for shape, times in ((DENSE, 1), (Dense(mla=True).shape(), 2)):
        with_it, without = (
            place(load(shape, cards(24), replace(CLOSED, kv_offload=there))).shares[1].compute
            for there in (True, False)
        )
        assert without - with_it == times * memory(DENSE, CLOSED).kv_bytes // 32


def test_attention_before_a_recurrent_block_stays_with_a_cache_of_the_hosts():
    """The state lies there too, so that nothing draws it over to the device."""
    shape, apart = alternating(4), replace(CLOSED, kv_offload=False)
    found, kept = load(shape, cards(24), apart), load(shape, cards(24))
    assert found.compute(range(4), True, 1) == kept.compute(range(4), True, 1)
    uniform = load(DENSE, cards(24), apart), load(DENSE, cards(24))
    assert uniform[0].compute(range(3), False, 1) > uniform[1].compute(range(3), False, 1)


def test_a_cut_before_a_recurrent_block_hands_over_the_cache_before_it():
    """The look-up of its state draws the attention of the host's last block to the device, and the cache with it."""
    shape = alternating(8)
    found = load(shape, cards(24))
    weight = max(row.bytes for row in shape.tensors if row.name.startswith("blk."))
    kv = memory(shape, CLOSED).kv_bytes // 4
    assert kv > weight
    # Blocks 0, 2, 4, 6 attend: with 4 layers (5, 6, 7 and the output) the host ends with block 4, with 3 it ends with 5.
    assert found.visiting(4) == kv
    assert found.visiting(3) == weight
    assert found.visiting(9) == found.visiting(0) == 0
    assert found.visiting(None) == kv
    assert load(shape, cards(24), replace(CLOSED, kv_offload=False)).visiting(4) == weight


def test_experts_kept_with_the_host_are_in_its_share():
    """And not in the card's."""
    shape = Dense(experts=8).shape()
    host, card = place(load(shape, cards(24), replace(CLOSED, cpu_moe_n=32))).shares
    assert host.weights + card.weights == memory(shape, CLOSED).weights_bytes
    assert host.weights > card.weights


def test_a_tied_output_is_held_twice():
    """By the host as its input layer and by the device as its output; with the host alone, once."""
    tied = replace(DENSE, tensors=tuple(row for row in DENSE.tensors if row.name != "output.weight"))
    host, card = place(load(tied, cards(24))).shares
    assert host.weights == 256 * MIB
    assert host.weights + card.weights == memory(tied, CLOSED).weights_bytes + 256 * MIB
    assert place(load(tied, cards())).shares[0].weights == memory(tied, CLOSED).weights_bytes


def test_several_cards_that_hold_everything_keep_their_inputs_several_times():
    """The engine works on several micro-batches at once, unless a tensor is overridden; also on other machines' devices."""
    one = load(BIG, cards(12, 12))
    pair = one.machine.devices
    assert one.copies(pair, 33) == PIPELINE_COPIES
    assert one.copies(pair, 32) == 1
    assert one.copies(pair[:1], 33) == 1
    assert one.copies((*pair, Device("RPC0", "rpc", GIB, GIB)), 33) == PIPELINE_COPIES
    for other in (replace(CLOSED, cpu_moe_n=1), replace(CLOSED, kv_offload=False)):
        assert load(BIG, one.machine, other).copies(pair, 33) == 1


def test_the_ladder_leaves_a_tenth_and_the_margin():
    """Whichever is more: on a small card the margin, on a large one the tenth."""
    small, large = Device("A", "cuda", 8 * GIB, 8 * GIB), Device("B", "cuda", 40 * GIB, 40 * GIB)
    wary = load(DENSE, cards(), ladder=True)
    assert wary.room(small) == 7 * GIB
    assert wary.room(large) == 36 * GIB
    assert load(DENSE, cards()).room(large) == 39 * GIB


def test_the_ladder_leaves_a_tenth_of_main_memory_where_there_is_no_card():
    """All of the weights count: it is about room, not about what may be dropped."""
    need = place(load(DENSE, cards())).shares[0].used
    machine = Machine(64 * GIB, need + MARGIN)
    assert place(load(DENSE, machine)).fits
    assert not place(load(DENSE, machine, ladder=True)).fits
    assert place(load(DENSE, Machine(64 * GIB, -(-need * 10 // 9)), ladder=True)).fits


def test_logits_are_those_that_the_server_reserves():
    """One a slot, more where a draft proposes; an embedding model's are not limited."""
    four = replace(CLOSED, parallel=4)
    assert outputs(DENSE, four) == 4
    assert outputs(DENSE, replace(four, draft=Draft(DENSE, CLOSED))) == 4 * (1 + DRAFTED)
    assert outputs(replace(DENSE, causal=False), four) == 0


def test_a_partial_load_has_scratch_on_both_sides():
    """Blocks are computed where they lie."""
    found = place(load(BIG, cards(6)))
    assert all(share.compute > 0 for share in found.shares)


def test_each_cards_adapters_are_those_of_its_layers():
    """Their sum is the files' size."""
    shares = place(load(BIG, cards(12, 12), replace(CLOSED, lora_bytes=(GIB + 1,)))).shares
    assert sum(share.lora for share in shares) == GIB + 1
    assert billed(BIG, replace(CLOSED, lora_bytes=(GIB + 1,))).lora[-1] == GIB + 1


def test_a_weight_of_the_hosts_has_room_on_the_first_device():
    """Prompts are computed there, one such tensor after another; with everything on devices there is none."""
    largest = max(row.bytes for row in BIG.tensors if row.name.startswith("blk."))
    assert load(BIG, cards(6)).visiting(10) == largest
    assert load(BIG, cards(6)).visiting(33) == load(BIG, cards(6)).visiting(0) == 0
    shape = Dense(experts=8).shape()
    assert load(shape, cards(24), replace(CLOSED, cpu_moe_n=1)).visiting(33) > 0
    host, first, second = place(load(Dense(size=20 * GIB).shape(), cards(8, 8))).shares
    assert first.compute > largest > second.compute
    assert host.weights > 0


def test_guesses_are_rows_of_logits_more():
    """As many as are checked at once; a draft that says nothing is taken to guess a round number."""
    assert outputs(DENSE, replace(CLOSED, drafted=8)) == 9
    assert outputs(DENSE, replace(CLOSED, parallel=3, drafted=48)) == 147
    assert outputs(DENSE, replace(CLOSED, draft=Draft(DENSE, CLOSED))) == 1 + DRAFTED
    assert outputs(DENSE, replace(CLOSED, draft=Draft(DENSE, CLOSED), drafted=3)) == 4
