"""Loads that other engines spread over cards."""

from dataclasses import replace

import pytest

from blazar.domain.fit.budget import MARGIN_PER_DEVICE, OVERHEAD
from blazar.domain.fit.machine import GIB, Device, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shards import Parallelism, layers, pins, ranks
from tests.support.fit_shapes import Dense, cards

ASKED = Settings(ctx=4096, parallel=1)
BIG = Dense(size=30 * GIB).shape()
PINNED = (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", "0,1"))


def kinds(*devices: Device) -> Machine:
    return Machine(64 * GIB, 64 * GIB, devices)


def test_one_card_that_suffices_is_not_sharded():
    """Neither engine; the roomiest is named and nothing is pinned."""
    for spread in (ranks, layers):
        found = spread(BIG, cards(24, 48), ASKED)
        assert (found.ranks, found.devices, found.env, found.fits) == (1, ("CUDA1",), (), True)


def test_the_fewest_ranks_that_fit_are_taken():
    """Two of four; each has half, and the flat overhead of its own."""
    found = ranks(BIG, cards(24, 24, 24, 24), ASKED)
    assert (found.ranks, found.devices, found.fits) == (2, ("CUDA0", "CUDA1"), True)
    assert found.per_rank == 15 * GIB + GIB // 4 + OVERHEAD
    assert found.env == PINNED


def test_the_smallest_card_decides_over_ranks():
    """24 and 12 GiB hold what their sum could only if it were dealt out by layers."""
    machine = cards(24, 12)
    assert not ranks(BIG, machine, ASKED).fits
    assert layers(BIG, machine, ASKED).fits


def test_ranks_must_divide_heads_and_kv_heads():
    """Three cards: 32 heads go into two ranks alone, 6 heads with 3 KV heads into three."""
    assert ranks(BIG, cards(24, 24, 24), ASKED).ranks == 2
    six = Dense(size=30 * GIB, heads=6, kv_heads=3).shape()
    assert ranks(six, cards(16, 16, 16), ASKED).ranks == 3
    assert not ranks(six, cards(24, 24), ASKED).fits


@pytest.mark.parametrize(("mla", "kv_heads"), [(True, 8), (False, 1)])
def test_a_cache_that_cannot_be_shared_out_is_kept_by_every_rank(mla, kv_heads):
    """Latent attention, and a lone KV head."""
    shape = Dense(size=30 * GIB, mla=mla, kv_heads=kv_heads).shape()
    kv = kv_heads * 128 * 2 * 2 * 32 * 4096
    assert ranks(shape, cards(24, 24), ASKED).per_rank == 15 * GIB + kv + OVERHEAD


def test_what_no_number_of_ranks_holds_is_refused_with_the_numbers():
    """Even sharded."""
    found = ranks(Dense(size=200 * GIB).shape(), cards(24, 24), ASKED)
    assert not found.fits
    assert "even sharded across 2 cards" in found.sentence
    assert "per rank" in found.sentence


def test_without_a_card_nothing_is_sharded():
    """Nor does it fit."""
    for spread in (ranks, layers):
        found = spread(BIG, cards(), ASKED)
        assert not found.fits
        assert "even sharded" not in found.sentence


@pytest.mark.parametrize(
    "configured", [Parallelism(tensor=2), Parallelism(data=2), Parallelism(device_layers=("0:10",))]
)
def test_configured_parallelism_wins(configured):
    """It is neither changed nor judged."""
    for spread in (ranks, layers):
        found = spread(Dense(size=200 * GIB).shape(), cards(24), ASKED, configured)
        assert (found.ranks, found.fits, found.env) == (0, True, ())


def test_nothing_configured_is_not_configured():
    """Zeros are the default."""
    assert ranks(BIG, cards(24, 24), ASKED, Parallelism()).ranks == 2


def test_layers_need_a_margin_and_room_to_waste_on_every_card():
    """A layer cannot be cut, and each card runs a context of its own."""
    block = (30 * GIB - GIB // 2) // 32
    need = 30 * GIB + GIB // 2 + OVERHEAD + OVERHEAD + block + 2 * MARGIN_PER_DEVICE
    half = -(-need // 2)
    enough = Device("CUDA0", "cuda", half + 32, half + 32)
    assert layers(BIG, kinds(enough, enough._replace(name="CUDA1")), ASKED).fits
    less = enough._replace(free=half - 64)
    assert not layers(BIG, kinds(less, less._replace(name="CUDA1")), ASKED).fits


def test_what_the_cards_do_not_hold_together_is_refused():
    """With what they have."""
    found = layers(Dense(size=200 * GIB).shape(), cards(24, 24), ASKED)
    assert not found.fits
    assert "even sharded across 2 cards" in found.sentence


CUDA = Device("CUDA0", "cuda", GIB, GIB)
OTHER = Device("ROCm0", "rocm", GIB, GIB)
SECOND = CUDA._replace(name="CUDA1")


def test_cards_of_nvidia_alone_are_pinned():
    """The first ones, in PCI order."""
    assert pins(kinds(CUDA, SECOND), (CUDA, SECOND)) == PINNED


@pytest.mark.parametrize(
    ("devices", "chosen"),
    [
        ((CUDA, SECOND, OTHER), (CUDA, SECOND)),
        ((OTHER,), (OTHER,)),
        ((CUDA, SECOND), (SECOND,)),
        ((CUDA, SECOND._replace(name="CUDA2")), (CUDA,)),
        ((CUDA, SECOND._replace(total=0)), (CUDA,)),
        ((CUDA, SECOND), ()),
        ((CUDA._replace(name="MIG-1"), SECOND), (SECOND,)),
    ],
)
def test_any_doubt_leaves_the_childs_environment_alone(devices, chosen):
    """Another vendor, a gap, a row without memory, a choice that is not the first ones."""
    assert pins(kinds(*devices), chosen) == ()


def test_cards_of_another_vendor_are_sharded_without_pins():
    """The engine's own mapping holds."""
    machine = cards(24, 24)
    other = replace(machine, devices=tuple(card._replace(kind="rocm") for card in machine.devices))
    found = ranks(BIG, other, ASKED)
    assert (found.ranks, found.env) == (2, ())
