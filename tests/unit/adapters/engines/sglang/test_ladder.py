"""SGLang's memory ladder, on models of round sizes."""

from dataclasses import replace

import pytest

from blazar.adapters.engines.sglang.ladder import HALF, Load, climb, span, token_bytes
from blazar.domain.fit.budget import MARGIN_PER_DEVICE, MIB, OVERHEAD
from blazar.domain.fit.machine import GIB, Device, Machine
from blazar.domain.fit.shape import ModelShape
from tests.support.fit_shapes import Dense, cards

PINNED = (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", "0,1"))
TOKEN = 2 * 2 * 8 * 128 * 32  # keys and values, 2 bytes, 8 heads of 128, 32 blocks: 128 KiB


def shape(gib: float, **more: int) -> ModelShape:
    return Dense(size=int(gib * GIB), **more).shape()


def load(gib: float, ctx: int = 8192, **more: object) -> Load:
    return Load(shape(gib), ctx, 1, **more)  # type: ignore[arg-type]


def test_one_card_gets_the_share_that_weights_and_cache_take() -> None:
    """9 GiB, 1 GiB of cache: (10 GiB + 256 MiB) / 24 GiB, in thousandths, rounded up."""
    rung = climb(load(9), cards(24))
    assert rung is not None
    assert (rung.ranks, rung.fraction, rung.card, rung.kv_type, rung.offload_gib, rung.env) == (1, 0.428, 0, "", 0, ())
    assert rung.per_rank == 10 * GIB + OVERHEAD


def test_the_share_is_one_of_what_is_free() -> None:
    """The engine takes it of the memory that it finds free at the start."""
    rung = climb(load(9), cards(48, free=0.5))
    assert rung is not None
    assert rung.fraction == 0.428


def test_a_load_that_no_card_holds_is_sharded_before_anything_is_made_smaller() -> None:
    """Two ranks of 15.5 GiB; pinned to the first two cards."""
    rung = climb(load(30, halves=True), cards(24, 24, 24, 24))
    assert rung is not None
    assert (rung.ranks, rung.kv_type, rung.offload_gib, rung.env) == (2, "", 0, PINNED)
    assert rung.per_rank == 15 * GIB + GIB // 2 + OVERHEAD


def test_the_fullest_of_the_cards_decides_over_the_share() -> None:
    """It is one number for all ranks."""
    machine = cards(24, 24)
    full = replace(machine, devices=(machine.devices[0], machine.devices[1]._replace(free=20 * GIB)))
    rung = climb(load(30), full)
    assert rung is not None
    assert rung.fraction == pytest.approx((15.5 + 0.25) / 20, abs=0.001)


def test_an_8_bit_cache_comes_before_weights_in_main_memory() -> None:
    """20 GiB with 4 GiB of cache on 24: not in 16 bits, but in 8, where the cards can."""
    rung = climb(load(20, ctx=32768, halves=True), cards(24))
    assert rung is not None
    assert (rung.ranks, rung.kv_type, rung.offload_gib) == (1, HALF, 0)
    without = climb(load(20, ctx=32768), cards(24))
    assert without is not None
    assert (without.kv_type, without.offload_gib) == ("", 2)


def test_a_pinned_cache_type_is_counted_and_not_replaced() -> None:
    """An 8-bit pin halves the cache; a 16-bit pin forbids the rung."""
    pinned = climb(load(20, ctx=32768, kv_type="fp8_e4m3"), cards(24))
    assert pinned is not None
    assert (pinned.kv_type, pinned.offload_gib) == ("", 0)
    kept = climb(load(20, ctx=32768, kv_type="bf16", halves=True), cards(24))
    assert kept is not None
    assert (kept.kv_type, kept.offload_gib) == ("", 2)


def test_weights_go_to_main_memory_in_whole_gib_and_no_more_than_it_has() -> None:
    """30 GiB with 1 GiB of cache on 24: 9 GiB are lacking with overhead and margin; 8 GiB of RAM do not hold them."""
    rung = climb(load(30), cards(24))
    assert rung is not None
    assert rung.offload_gib == 9
    assert rung.per_rank + MARGIN_PER_DEVICE <= 24 * GIB
    assert climb(load(30), cards(24, ram=8)) is None


def test_what_fits_nowhere_says_nothing() -> None:
    """Admission refuses it; the engine's own choice stays."""
    assert climb(load(200), cards(24, ram=16)) is None


def test_odd_the_first_card_that_holds_the_load_is_taken() -> None:
    """Not the roomiest: the first is where the engine goes by itself."""
    rung = climb(load(9), cards(24, 80))
    assert rung is not None
    assert (rung.card, rung.env) == (0, ())


def test_a_first_card_that_is_too_full_is_passed_over_by_number() -> None:
    """And the order of the numbers is fixed."""
    machine = cards(24, 24)
    full = replace(machine, devices=(machine.devices[0]._replace(free=2 * GIB), machine.devices[1]))
    rung = climb(load(9), full)
    assert rung is not None
    assert (rung.card, rung.env) == (1, PINNED[:1])


def test_a_card_whose_number_is_in_doubt_is_not_named() -> None:
    """Mixed vendors: nothing is said at all."""
    mixed = Machine(
        64 * GIB, 64 * GIB, (Device("ROCm0", "rocm", 24 * GIB, 2 * GIB), Device("CUDA0", "cuda", 24 * GIB, 24 * GIB))
    )
    assert climb(load(9), mixed) is None


def test_speculation_keeps_its_reserve_free() -> None:
    """21.5 GiB fit a card with nothing to spare; with 512 MiB kept free, a rung further down is needed."""
    assert climb(load(21), cards(24)).offload_gib == 0  # type: ignore[union-attr]
    assert climb(load(21, reserve=512 * MIB), cards(24)).offload_gib == 1  # type: ignore[union-attr]


def test_a_draft_lies_inside_the_share() -> None:
    """The engine counts its weights to the static part."""
    plain, drafted = climb(load(9), cards(24)), climb(load(9, draft=GIB), cards(24))
    assert plain is not None
    assert drafted is not None
    assert drafted.per_rank - plain.per_rank == GIB
    assert drafted.fraction > plain.fraction


def test_memory_that_is_the_hosts_is_not_planned_with() -> None:
    """Nobody can tell there what a share would be one of."""
    shared = Machine(64 * GIB, 64 * GIB, (Device("CUDA0", "cuda", 64 * GIB, 60 * GIB, shared=True),))
    assert climb(load(9), shared) is None


@pytest.mark.parametrize(("count", "found"), [(1, ()), (2, PINNED), (3, ())])
def test_configured_ranks_are_held_to_the_first_cards(count: int, found: object) -> None:
    """One needs nothing; with fewer cards than ranks nothing is touched."""
    assert span(cards(24, 24), count) == found


def test_a_token_is_what_the_cache_keeps_of_it() -> None:
    """And of no window, nothing."""
    assert token_bytes(shape(9), 8192) == TOKEN
    assert token_bytes(shape(9), 0) == 0
