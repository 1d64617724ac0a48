"""What would make a load fit: each lever that is named works."""

from dataclasses import replace

from blazar.domain import teaching
from blazar.domain.fit.ladder import Case, decide
from blazar.domain.fit.levers import levers
from blazar.domain.fit.machine import GIB, Machine, imagined
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.verdict import Outcome
from tests.support.fit_shapes import DENSE, Dense, cards

ALL = Settings(ctx=131072, parallel=4, cache_type_k="f16", cache_type_v="f16", gpu_layers=33)
BIG = Dense(size=16 * GIB).shape()


def found(shape: ModelShape, machine: Machine, asked: Settings) -> tuple[str, ...]:
    case = Case(shape, machine, asked)
    assert decide(case) is None
    return levers(case)


def test_a_smaller_window_is_named_with_its_size():
    """The largest that fits, of one request."""
    sentence = found(DENSE, cards(20), ALL)[0]
    window = next(int(word) for word in sentence.split() if word.isdigit())
    assert sentence == teaching.fit_lever_ctx(window)
    assert plan(DENSE, cards(20), replace(ALL, ctx=4 * window)).fits
    assert not plan(DENSE, cards(20), replace(ALL, ctx=4 * (window + 256))).fits


def test_fewer_slots_keep_their_windows():
    """Four windows of 32768 tokens take 16 GiB, two take 8."""
    assert teaching.fit_lever_slots(2) in found(DENSE, cards(18), ALL)
    assert plan(DENSE, cards(18), replace(ALL, ctx=65536, parallel=2)).fits


def test_a_smaller_cache_type_is_named_where_one_was_set():
    """The best that fits."""
    assert teaching.fit_lever_cache("q8_0", "q8_0") in found(DENSE, cards(19), ALL)
    assert teaching.fit_lever_cache("q8_0", "q4_0") in found(DENSE, cards(16), ALL)
    open_types = replace(ALL, cache_type_k="", cache_type_v="", parallel=1)
    assert not any("cache" in sentence for sentence in found(DENSE, cards(9), open_types))


def test_as_few_experts_as_needed_go_to_main_memory():
    """One block fewer would not do."""
    shape = Dense(size=30 * GIB, experts=8).shape()
    asked = replace(ALL, ctx=4096, parallel=1)
    sentence = next(one for one in found(shape, cards(24), asked) if "cpu_moe_n" in one)
    count = next(int(word) for word in sentence.split() if word.isdigit())
    assert sentence == teaching.fit_lever_experts(count)
    assert plan(shape, cards(24), replace(asked, cpu_moe_n=count)).fits
    assert not plan(shape, cards(24), replace(asked, cpu_moe_n=count - 1)).fits


def test_a_dense_model_has_no_experts_to_move():
    """Nothing is named that does not exist."""
    assert not any("cpu_moe_n" in one for one in found(BIG, cards(12), ALL))


def test_fewer_layers_are_named_where_their_number_was_set():
    """As many as fit."""
    asked = replace(ALL, ctx=4096, parallel=1)
    sentence = found(BIG, cards(12), asked)[0]
    count = plan(BIG, cards(12), replace(asked, gpu_layers=None)).gpu_layers
    assert sentence == teaching.fit_lever_layers(count)


def test_more_layers_are_named_where_main_memory_is_short():
    """What few layers leave there does not fit."""
    asked = Settings(ctx=4096, parallel=1, cache_type_k="f16", cache_type_v="f16", gpu_layers=2)
    assert teaching.fit_lever_more_layers(33) in found(BIG, cards(24, ram=4), asked)


def test_a_smaller_quant_is_named_with_the_size_that_fits():
    """Of all the weights, without any that are read again and again."""
    for machine in (cards(ram=6), cards(4, ram=6)):
        asked = Settings(ctx=4096, parallel=1, cache_type_k="f16", cache_type_v="f16")
        sentence = next(one for one in found(BIG, machine, asked) if "quant" in one)
        size = max(part for part in range(1, 12) if sentence == teaching.fit_lever_quant(16 * GIB * part // 12))
        assert plan(Dense(size=16 * GIB * size // 12 // 32 * 32).shape(), machine, asked).outcome is Outcome.FITS
        larger = Dense(size=16 * GIB * (size + 1) // 12 // 32 * 32).shape()
        assert plan(larger, machine, asked).outcome is not Outcome.FITS


def test_a_larger_machine_comes_last():
    """Main memory, and before it a card where there are cards that main memory suffices to load to; what is named is enough."""
    asked = Settings(ctx=4096, parallel=1, cache_type_k="f16", cache_type_v="f16")
    assert found(BIG, cards(ram=6), asked)[-1].startswith("main memory of")
    short = replace(asked, gpu_layers=33)
    card, memory = found(BIG, cards(4, ram=12), short)[-1], found(BIG, cards(ram=6), asked)[-1]
    assert card.startswith("a card of")
    assert plan(BIG, imagined((float(card.split()[3]),), 12), short).outcome is Outcome.FITS
    assert plan(BIG, imagined((), float(memory.split()[3])), asked).outcome is Outcome.FITS
    assert not any("a card" in one for one in found(BIG, cards(4, ram=4), asked))
