"""Cache types, windows and slots that are left open, and what is sacrificed first."""

from dataclasses import replace

import pytest

from blazar.domain.fit.bill import standing
from blazar.domain.fit.caches import refusal
from blazar.domain.fit.compute_geometry import Same
from blazar.domain.fit.ladder import DEFAULT, FLOOR, RUNGS, Case, decide, rungs, thinned, wish
from blazar.domain.fit.machine import GIB
from blazar.domain.fit.settings import CACHE_TYPES, Draft, Settings
from blazar.domain.fit.windows import STEP
from tests.support.fit_rows import models, shape_of
from tests.support.fit_shapes import DENSE, Dense, cards

SMALL = Dense(blocks=8, size=2 * GIB).shape()


def decided(shape, machine, asked, cap=0):
    return decide(Case(shape, machine, asked, cap))


def types(found):
    return found.settings.cache_type_k, found.settings.cache_type_v


def test_open_types_are_tried_from_the_best_down():
    """f16, q8_0, then keys better than values, then q4_0."""
    assert list(rungs(DENSE, Settings(), 4096)) == list(RUNGS)


@pytest.mark.parametrize(
    ("keys", "values", "rung"),
    [("q5_1", "q4_0", ("q5_1", "q4_0")), ("q8_0", "", ("q8_0", "q8_0")), ("", "bf16", ("bf16", "bf16"))],
)
def test_set_types_are_kept(keys, values, rung):
    """One that is set alone counts for both."""
    assert list(rungs(DENSE, Settings(cache_type_k=keys, cache_type_v=values), 4096)) == [rung]


def test_a_rung_that_the_engine_refuses_is_left_out():
    """Without flash attention values cannot be quantised; a head of 80 is no whole number of blocks."""
    assert list(rungs(DENSE, Settings(flash_attention=False), 4096)) == [("f16", "f16")]
    odd = replace(DENSE, blocks=tuple(block._replace(k_head=80, v_head=80) for block in DENSE.blocks))
    assert list(rungs(odd, Settings(), 4096)) == [("f16", "f16")]


def test_the_wish_is_what_is_set_or_what_the_model_can():
    """Within the caller's cap; a configured total is divided by its slots."""
    assert wish(DENSE, Settings(), 0) == 131072
    assert wish(DENSE, Settings(), 16384) == 16384
    assert wish(DENSE, Settings(ctx=5000), 16384) == 5000
    assert wish(DENSE, Settings(ctx=8192, parallel=2), 0) == 4096
    assert wish(DENSE, Settings(ctx=8192, parallel=2, kv_unified=True), 0) == 8192
    assert wish(replace(DENSE, trained_ctx=0), Settings(), 0) == DEFAULT


def test_with_room_nothing_is_sacrificed():
    """f16, the whole wish, four slots."""
    found = decided(SMALL, cards(24), Settings(), 16384)
    assert (types(found), found.window, found.settings.parallel) == (("f16", "f16"), 16384, 4)
    assert found.settings.ctx == 4 * 16384


def test_slots_go_before_precision():
    """One slot in f16 rather than two in q8_0: each has 2 GiB of cache at 16384 tokens, 4 GiB are left."""
    found = decided(DENSE, cards(13.5), Settings(), 16384)
    assert (types(found), found.settings.parallel) == (("f16", "f16"), 2)
    less = decided(DENSE, cards(11.8), Settings(), 16384)
    assert (types(less), less.settings.parallel) == (("f16", "f16"), 1)


@pytest.mark.parametrize(
    ("card", "trained", "adopted", "slots"),
    [
        (13.5, 131072, 0, 2),
        (13.5, 131072, 2, 2),
        (13.5, 131072, 3, 2),  # three do not fit at all
        (15, 131072, 0, 2),
        (15, 131072, 3, 3),
        (24, 16384, 0, 1),
        (24, 16384, 2, 2),
        (24, 16384, 4, 4),
        (24, 131072, 2, 4),
        (80, 131072, 10**9, 4),
    ],
)
def test_adopted_slots_need_no_spare_memory_and_no_training(card, trained, adopted, slots):
    """What requests waited for is tried as long as it fits (D18); it never takes away what the plan has room for."""
    found = decided(replace(DENSE, trained_ctx=trained), cards(card), Settings(adopted=adopted), 16384)
    assert (types(found), found.window, found.settings.parallel) == (("f16", "f16"), 16384, slots)


def test_adopted_slots_change_nothing_where_somebody_chose():
    """A number in the configuration is the number."""
    assert decided(DENSE, cards(24), Settings(parallel=1, adopted=4), 16384).settings.parallel == 1


@pytest.mark.parametrize(("card", "rung"), [(28, 0), (19, 1), (16, 2), (14.5, 3)])
def test_precision_goes_down_the_ladder_within_nine_tenths(card, rung):
    """The first rung that leaves a tenth: 16 GiB of f16 cache over 8 GiB of weights."""
    found = decided(DENSE, cards(card), Settings(ctx=131072, parallel=1))
    assert types(found) == RUNGS[rung]
    used = found.placement.shares[1].used
    assert used <= 0.9 * card * GIB


def test_a_model_without_a_cache_keeps_its_type():
    """There is no precision to give up."""
    found = decided(replace(DENSE, caches=()), cards(9.1), Settings(ctx=4096, parallel=1))
    assert types(found) == RUNGS[0]


def test_the_last_rung_need_not_leave_the_tenth():
    """Only the margin: better than a layer with the host."""
    found = decided(DENSE, cards(13.5), Settings(ctx=131072, parallel=1))
    assert types(found) == RUNGS[-1]
    assert found.whole
    assert found.placement.shares[1].used > 0.9 * 13.5 * GIB


def test_precision_goes_before_the_window():
    """An open window shrinks only on the last rung."""
    found = decided(DENSE, cards(12), Settings())
    assert types(found) == RUNGS[-1]
    assert FLOOR < found.window < 131072
    assert found.whole


def test_a_window_of_a_million_shrinks_to_the_card():
    """Case F14: never an abort; one step more would not fit."""
    case = Case(Dense(trained=2**20).shape(), cards(20), Settings())
    found = decide(case)
    assert found.whole
    assert found.window % STEP == 0
    assert not case.fitting(found.window + STEP, 1, RUNGS[-1])


def test_the_window_goes_before_layers():
    """All of them stay on the card as long as a window of 4096 tokens does."""
    found = decided(DENSE, cards(9.3), Settings(), 16384)
    assert found.whole
    assert FLOOR <= found.window < 16384


def test_where_layers_must_go_precision_and_window_stay():
    """Giving them up would buy no whole load."""
    found = decided(Dense(size=20 * GIB).shape(), cards(12), Settings(), 131072)
    assert not found.whole
    assert (types(found), found.window) == (RUNGS[0], DEFAULT)


def test_a_set_window_is_kept():
    """Layers go to the host for it."""
    found = decided(DENSE, cards(9.3), Settings(ctx=16384))
    assert found.window == 16384
    assert not found.whole


def test_the_window_shrinks_for_main_memory_at_last():
    """Without a card there is nothing else to give up."""
    found = decided(DENSE, cards(ram=6.2), Settings(), 131072)
    assert found is not None
    assert found.window < 131072


def test_what_fits_nowhere_is_not_decided():
    """Weights alone are too many."""
    assert decided(Dense(size=64 * GIB).shape(), cards(12, ram=8), Settings()) is None


def test_configured_slots_are_kept():
    """With a window each."""
    found = decided(DENSE, cards(24), Settings(parallel=2), 16384)
    assert (found.settings.parallel, found.settings.ctx, found.window) == (2, 32768, 16384)


def test_a_draft_sees_what_the_model_sees():
    """Its window and slots are the model's, if it has none of its own."""
    found = decided(DENSE, cards(24), Settings(ctx=4096, parallel=2, draft=Draft(SMALL, Settings())))
    assert (found.settings.draft.settings.ctx, found.settings.draft.settings.parallel) == (4096, 2)
    own = decided(DENSE, cards(24), Settings(ctx=4096, draft=Draft(SMALL, Settings(ctx=512, parallel=1))))
    assert (own.settings.draft.settings.ctx, own.settings.draft.settings.parallel) == (512, 1)


def test_telling_a_case_otherwise_weighs_anew_only_what_moved():
    """Experts in main memory change the weights' places, a window does not."""
    shape = Dense(experts=8).shape()
    assert standing(shape, Settings(ctx=512)) is standing(shape, Settings())
    assert standing(shape, Settings(cpu_moe_n=4)) != standing(shape, Settings())


@pytest.mark.parametrize("asked", [Settings(), Settings(draft=Draft(SMALL, Settings())), Settings(gpu_layers=-1)])
@pytest.mark.parametrize("sizes", [(14,), (9, 9), (12, 5, 7), ()])
def test_the_largest_window_is_foreseen(asked, sizes, monkeypatch):
    """Few are laid out, since most of what a window takes grows evenly."""
    case, tried = Case(Dense(trained=2**20).shape(), cards(*sizes, ram=32 if sizes else 14), asked), []
    told = Case.load

    def load(self, window, *how, **further):
        tried.append(window)
        return told(self, window, *how, **further)

    monkeypatch.setattr(Case, "load", load)
    found = decide(case)
    assert found.window < 2**20
    assert len(tried) <= 14


@pytest.mark.parametrize("name", list(models()))
def test_a_thinned_shape_is_refused_for_the_same_reasons(name):
    """Sentences included."""
    shape = shape_of(name)
    thin = thinned(Same(shape))
    for keys, values in ((a, b) for a in CACHE_TYPES for b in CACHE_TYPES):
        for flash in (True, False):
            asked = Settings(ctx=4096, cache_type_k=keys, cache_type_v=values, flash_attention=flash)
            assert refusal(thin, asked) == refusal(shape, asked)


@pytest.mark.parametrize("layers", [3, 12, 24, 32])
@pytest.mark.parametrize("sizes", [(9, 9), (2, 6, 9), (1.1, 8, 3, 6)])
def test_a_window_is_found_beside_a_draft_that_grows_with_it(layers, sizes):
    """However much too large it is for a device in the largest window, and whichever device has guests; one step more does not fit."""
    case = Case(
        Dense(trained=2**20).shape(), cards(*sizes), Settings(gpu_layers=layers, draft=Draft(SMALL, Settings()))
    )
    found = decide(case)
    if found is not None and found.whole:
        assert not case.fitting(found.window + STEP, 1, RUNGS[-1])
