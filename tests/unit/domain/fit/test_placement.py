"""Which layer lies on which device."""

from dataclasses import replace

import pytest

from blazar.domain.fit.budget import MARGIN_PER_DEVICE, admission_floor
from blazar.domain.fit.machine import GIB, Device, Machine
from blazar.domain.fit.placement import Search, candidates, fitting, hopeless, place
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import Projector
from blazar.domain.fit.verdict import Outcome
from tests.support.fit_rows import shape_of
from tests.support.fit_shapes import CLOSED, DENSE, MIB, Dense, alternating, billed, cards, load

BIG = Dense(size=16 * GIB).shape()


def test_one_card_that_suffices_gets_everything():
    """No split is needed, and the card is named so that no other is touched."""
    found = place(load(DENSE, cards(24)))
    assert (found.devices, found.gpu_layers, found.whole, found.fits) == (("CUDA0",), 33, True, True)
    assert found.tensor_split == ()


def test_the_tightest_card_that_suffices_is_taken():
    """The larger one stays whole for a larger model."""
    assert place(load(DENSE, cards(24, 12, 48))).devices == ("CUDA1",)


def test_what_is_free_counts_not_what_there_is():
    """Case F20: a desktop sits on the larger card."""
    machine = cards(24, 12)
    busy = replace(machine, devices=(machine.devices[0]._replace(free=2 * GIB), machine.devices[1]))
    assert place(load(DENSE, busy)).devices == ("CUDA1",)


def test_a_margin_stays_free_on_every_card():
    """One byte less free, and the last layer does not fit (1024 MiB, as the engine's own fit leaves)."""
    need = place(load(DENSE, cards(24))).shares[1].used
    exact = Device("CUDA0", "cuda", 24 * GIB, need + MARGIN_PER_DEVICE)
    machine = cards(24)
    assert place(load(DENSE, replace(machine, devices=(exact,)))).whole
    less = exact._replace(free=exact.free - 1)
    assert not place(load(DENSE, replace(machine, devices=(less,)))).whole


def test_two_cards_share_what_neither_holds():
    """By the room they have; both are checked."""
    found = place(load(BIG, cards(12, 12)))
    assert found.devices == ("CUDA0", "CUDA1")
    assert found.whole
    assert sum(found.counts) == 33
    assert all(share.headroom >= 0 for share in found.shares)


def test_no_more_cards_are_used_than_needed():
    """Two of four suffice; of equals the first."""
    assert place(load(BIG, cards(12, 12, 12, 12))).devices == ("CUDA0", "CUDA1")
    assert place(load(DENSE, cards(12, 12))).devices == ("CUDA0",)


def test_a_layer_that_overflows_is_checked_on_the_next_card_too():
    """Case F17: 10, 10 and 2 GiB; the small card is not handed what it cannot hold."""
    found = place(load(Dense(size=20 * GIB).shape(), cards(10, 10, 2)))
    assert found.fits
    assert not found.whole
    for share in found.shares:
        assert share.headroom >= 0, share


def test_a_card_without_room_for_a_layer_is_left_out():
    """It would only cost a context."""
    found = place(load(BIG, cards(12, 1.1, 12)))
    assert found.devices == ("CUDA0", "CUDA2")


def test_uneven_cards_are_both_filled():
    """24 and 8 GiB hold what two of 16 do."""
    found = place(load(Dense(size=26 * GIB).shape(), cards(24, 8)))
    assert found.whole
    assert found.counts[0] > 2 * found.counts[1]


@pytest.mark.parametrize("ctx", [8192, 16384, 20480])
def test_whichever_device_is_the_first_has_room_for_guests(ctx):
    """Filled from the last one, the first may get no layer; the next one then has what visits from the host."""
    asked = replace(CLOSED, ctx=ctx, parallel=3, gpu_layers=12, projector=Projector("clip", GIB, 300 * MIB))
    free = (2835150267, 0, 8276586015, 2073698910)
    devices = tuple(Device(f"CUDA{index}", "cuda", 40 * GIB, size) for index, size in enumerate(free))
    found = place(load(BIG, Machine(0, 0, devices), asked))
    assert found.fits
    assert sum(found.counts) == 12


def test_guests_go_with_the_first_layer_also_where_not_all_layers_fit():
    """A device without room is passed over, and the next one keeps room for what visits."""
    full, card = (Device(f"CUDA{index}", "cuda", 40 * GIB, size) for index, size in enumerate((0, 20 * GIB)))
    for ram in range(6, 16):
        found = place(load(BIG, Machine(40 * GIB, ram * GIB, (full, card)), replace(CLOSED, ctx=131072)))
        alone = place(load(BIG, Machine(40 * GIB, ram * GIB, (card,)), replace(CLOSED, ctx=131072)))
        assert (found.fits, found.counts) == (alone.fits, alone.counts)


def test_what_is_sent_to_a_device_by_name_does_not_lie_elsewhere():
    """A projector that its device cannot hold makes the load unfit; it is not quietly kept by the host."""
    asked = replace(CLOSED, projector=Projector("clip", 6 * GIB, 0), projector_device="CUDA1")
    assert not place(load(DENSE, cards(24, 6), asked)).fits
    none = replace(asked, gpu_layers=0)
    assert place(load(DENSE, cards(24, 12), none)).shares[2].projector == 6 * GIB
    assert not place(load(DENSE, cards(24, 6), none)).fits


def test_a_configured_split_is_kept():
    """Also where another would fit better."""
    found = place(load(DENSE, cards(24, 24), replace(CLOSED, tensor_split=(3.0, 1.0))))
    assert found.counts == (25, 8)


def test_a_configured_split_keeps_its_ratio_where_not_all_layers_fit():
    """As many layers as the fuller card allows."""
    found = place(load(BIG, cards(8, 24), replace(CLOSED, tensor_split=(1.0, 1.0))))
    assert found.fits
    assert not found.whole
    assert abs(found.counts[0] - found.counts[1]) <= 1


def test_configured_devices_are_all_used():
    """Although one of them would do."""
    found = place(load(DENSE, cards(24, 24, 24), replace(CLOSED, devices=("CUDA2", "CUDA0"))))
    assert found.devices == ("CUDA2", "CUDA0")


def test_configured_layers_are_neither_more_nor_fewer():
    """Ten from the end: the output layer and nine blocks."""
    found = place(load(DENSE, cards(24), replace(CLOSED, gpu_layers=10)))
    assert (found.gpu_layers, found.whole) == (10, True)
    host, card = found.shares
    one = billed(DENSE, CLOSED)
    assert card.weights == one.weights[33] - one.weights[23]
    assert host.kv == one.kv[23]


@pytest.mark.parametrize("wanted", [-1, 33, 99])
def test_all_layers_can_be_asked_for(wanted):
    """As the engine counts: below 0 or more than there are is all."""
    assert place(load(DENSE, cards(24), replace(CLOSED, gpu_layers=wanted))).gpu_layers == 33


def test_too_many_configured_layers_do_not_fit():
    """They are not quietly made fewer; the shares say what is missing."""
    found = place(load(DENSE, cards(6), replace(CLOSED, gpu_layers=33)))
    assert not found.fits
    assert found.short == -found.shares[1].headroom > 0


def test_as_many_layers_as_fit_go_to_a_small_card():
    """One more would be too many; the rest lies with the host."""
    found = place(load(DENSE, cards(6)))
    assert 0 < found.gpu_layers < 33
    assert found.fits
    assert not found.whole
    more = place(load(DENSE, cards(6), replace(CLOSED, gpu_layers=found.gpu_layers + 1)))
    assert not more.fits


def test_a_hybrid_is_cut_where_the_cut_costs_no_cache():
    """One layer lower, where the block before the cut is recurrent itself."""
    shape = alternating(8)
    found = load(shape, cards(24))
    # Room for the output, blocks 5, 6, 7 and what visits them, but not for block 4's cache, which a cut before 5 would hand over.
    need = found.bill.moving[9] - found.bill.moving[5] + found.scratch(1)[1] + found.visiting(3)
    where = place(load(shape, cards((need + MIB + MARGIN_PER_DEVICE) / GIB)))
    assert where.fits
    assert where.gpu_layers == 3


def test_nothing_is_spilled_where_that_is_not_wanted():
    """The ladder asks for all or nothing first."""
    assert not place(load(DENSE, cards(6)), partly=False).fits


def test_without_a_card_everything_is_with_the_host():
    """Nothing was to be on a device, so that this is all that was wanted."""
    found = place(load(DENSE, cards()))
    assert (found.devices, found.gpu_layers, found.whole, found.fits) == ((), 0, True, True)


def test_the_host_must_hold_what_no_card_does():
    """All of it; where paging is allowed, half the weights may be dropped, cache and scratch may not."""
    assert place(load(DENSE, cards(ram=10))).fits
    assert not place(load(DENSE, cards(ram=6))).fits
    assert place(load(DENSE, cards(ram=6), paging=True)).fits
    assert not place(load(DENSE, cards(ram=4), paging=True)).fits


def test_unknown_main_memory_refuses_nothing():
    """A machine that does not tell must not be one that cannot load."""
    assert place(load(DENSE, Machine(0, 0))).fits


def test_the_projector_lies_with_the_first_device():
    """Where the engine puts it; it counts although it is attached later (case F8)."""
    projector = Projector("clip", GIB, 200 * MIB)
    found = place(load(BIG, cards(12, 12), replace(CLOSED, projector=projector)))
    assert found.projector_device == "CUDA0"
    assert [share.projector for share in found.shares] == [0, projector.weights_bytes + projector.compute_bytes, 0]


def test_the_projector_can_be_kept_with_the_host_or_sent_elsewhere():
    """`projector_offload` and `projector_device` are followed."""
    asked = replace(CLOSED, projector=Projector("clip", GIB, 0))
    host = place(load(DENSE, cards(24, 24), replace(asked, projector_offload=False)))
    assert host.shares[0].projector == GIB
    other = place(load(DENSE, cards(24, 25), replace(asked, projector_device="CUDA1")))
    assert (other.devices, other.shares[2].projector) == (("CUDA0",), GIB)
    assert other.shares[2].margin == MARGIN_PER_DEVICE


def test_a_projector_moves_to_another_card_where_the_first_is_full():
    """Both hold the model only if the roomier one takes it."""
    asked = replace(CLOSED, projector=Projector("clip", 6 * GIB, 0))
    found = place(load(BIG, cards(5, 24), asked))
    assert found.fits
    assert found.whole


def test_the_draft_lies_wholly_on_the_roomiest_card():
    """One device, told to the engine."""
    draft = Draft(Dense(blocks=4, size=GIB).shape(), CLOSED)
    found = place(load(BIG, cards(12, 14), replace(CLOSED, draft=draft)))
    assert found.draft_device == "CUDA1"
    assert [share.draft > 0 for share in found.shares] == [False, False, True]


def test_a_draft_can_be_sent_elsewhere():
    """To a device of its own, or with no layer of it offloaded to the host."""
    small = Dense(blocks=4, size=GIB).shape()
    there = Draft(small, replace(CLOSED, devices=("CUDA1",)))
    assert place(load(DENSE, cards(24, 25), replace(CLOSED, draft=there))).draft_device == "CUDA1"
    host = Draft(small, replace(CLOSED, gpu_layers=0))
    assert place(load(DENSE, cards(24), replace(CLOSED, draft=host))).shares[0].draft > 0


def test_an_overridden_tensor_lies_where_it_is_nailed():
    """On the device of that buffer's name, whatever layers lie there."""
    asked = replace(CLOSED, override_tensor=((r"blk\.0\.ffn_up", "CUDA1"),))
    found = place(load(DENSE, cards(24, 25), asked))
    assert (found.devices, found.counts) == (("CUDA0", "CUDA1"), (33, 0)), "the engine has to be told of both"
    assert found.shares[2].weights > 0
    alone = place(load(DENSE, cards(24, 25), replace(asked, gpu_layers=0)))
    assert (alone.devices, alone.gpu_layers) == (("CUDA1",), 0)


def test_a_workers_buffers_are_known_by_its_address():
    """Each counts its devices from 0, whatever the engine calls them; an address that nobody has leaves the number."""
    workers = tuple(
        Device(f"RPC{number}", "rpc", 24 * GIB, 24 * GIB, address)
        for number, address in enumerate(("10.0.0.2:1", "10.0.0.3:1", "10.0.0.3:1"))
    )
    for buffer, device in (("RPC0[10.0.0.3:1]", "RPC1"), ("RPC1[10.0.0.3:1]", "RPC2"), ("RPC0[10.0.0.9:1]", "RPC0")):
        asked = replace(CLOSED, override_tensor=((r"blk\.0\.ffn_up", buffer),))
        found = load(DENSE, Machine(GIB, GIB, workers), asked).nailed
        assert list(found) == [device]
    gone = replace(CLOSED, override_tensor=((r"blk\.0\.ffn_up", "SYCL3"),))
    assert list(load(DENSE, cards(24), gone).nailed) == ["host"]


def test_graphics_that_share_the_hosts_memory_draw_from_it():
    """Integrated: what lies there is gone from main memory."""
    shared = Device("MTL0", "metal", 32 * GIB, 32 * GIB, shared=True)
    assert place(load(DENSE, Machine(32 * GIB, 24 * GIB, (shared,)))).whole
    assert not place(load(BIG, Machine(32 * GIB, 16 * GIB, (shared,)))).whole


def test_integrated_graphics_are_left_out_beside_a_card():
    """As the engine does; a device of another machine does not push them out, and comes first."""
    card, inner = Device("CUDA0", "cuda", GIB, GIB), Device("Vulkan1", "vulkan", GIB, GIB, shared=True)
    remote = Device("RPC0", "rpc", GIB, GIB)
    assert candidates(Machine(0, 0, (inner, card, remote)), Settings()) == (remote, card)
    assert candidates(Machine(0, 0, (inner, remote)), Settings()) == (remote, inner)
    assert candidates(Machine(0, 0, (inner, card)), Settings(devices=("Vulkan1",))) == (inner,)


def test_workers_of_other_machines_hold_layers():
    """The same arithmetic with their memory."""
    card, remote = Device("CUDA0", "cuda", 12 * GIB, 12 * GIB), Device("RPC0", "rpc", 12 * GIB, 12 * GIB)
    found = place(load(BIG, Machine(64 * GIB, 64 * GIB, (card, remote))))
    assert found.devices == ("RPC0", "CUDA0")
    assert found.whole


def test_the_floor_of_each_cards_weights_is_free():
    """One byte less, and the last layer does not fit, although all of it with its margin would."""
    card = place(load(BIG, cards(24))).shares[1]
    assert card.floor == admission_floor(card.weights) > card.used + MARGIN_PER_DEVICE
    for free, whole in ((card.floor, True), (card.floor - 1, False)):
        machine = replace(cards(24), devices=(Device("CUDA0", "cuda", 24 * GIB, free),))
        found = place(load(BIG, machine))
        assert (found.fits, found.whole) == (True, whole)
        assert place(load(BIG, machine, replace(CLOSED, gpu_layers=33))).short == (0 if whole else 1)


@pytest.mark.parametrize("asked", [CLOSED, replace(CLOSED, gpu_layers=20), replace(CLOSED, kv_offload=False)])
@pytest.mark.parametrize("paging", [False, True])
@pytest.mark.parametrize("gib", [1, 3, 6, 9, 12, 18, 24])
@pytest.mark.parametrize("ram", [1, 4, 8, 12, 24])
def test_what_is_hopeless_at_a_glance_does_not_fit(asked, paging, gib, ram):
    """The glance leaves scratch out, so that it never says too much; what fits is placed the same way by both."""
    one = load(BIG, cards(gib, ram=ram), asked, paging=paging)
    for partly in (False, True):
        found = place(one, partly)
        assert not (hopeless(one, partly) and found.fits)
        assert fitting(one, partly) == (found if found.fits else None)


def test_an_output_layer_alone_may_lie_on_a_later_card():
    """No block has room on any card, and with one token at a time nothing visits the first: the last card takes the output layer, the host the rest."""
    shape = shape_of("nanbeige-loops2")
    asked = replace(CLOSED, ctx=2**31 - 1, ubatch=1)
    assert Search(load(shape, cards(24, 24), asked)).partly(cards(24, 24).pool, 1).counts == (0, 1)
    assert plan(shape, cards(24, 24), asked).outcome is Outcome.NEVER
    assert plan(shape, cards(24, 24, ram=2**20), asked).fits
