"""Which quantisation to take, and what one weighs whose header nobody read."""

from dataclasses import replace

import pytest

from blazar.domain.fit.machine import imagined
from blazar.domain.fit.planner import plan
from blazar.domain.fit.preview import (
    LLAMA_3_8B,
    QUANTISED,
    Candidate,
    belongs,
    better,
    choose,
    negligible,
    resized,
    smaller,
    whole,
)
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import Projector, Tensor
from blazar.domain.fit.verdict import Outcome, Verdict
from tests.fakes.weights import some_shape

GIB = 2**30
BASE = plan(some_shape(), imagined((24,), 64), Settings(ctx=1024, parallel=1))


def candidate(quant: str, gib: float, *, kv: str = "f16", **more: object) -> Candidate:
    """One that fits wholly, with the window that was wanted, unless told otherwise."""
    outcome = more.pop("outcome", Outcome.FITS)
    verdict: Verdict = replace(BASE, outcome=outcome, settings=Settings(cache_type_k=kv, cache_type_v=kv))  # type: ignore[arg-type]
    fields = {"whole": True, "roomy": True, **more}
    return Candidate(quant, int(gib * GIB), verdict, **fields)  # type: ignore[arg-type]


NEVER = candidate("BF16", 140, outcome=Outcome.NEVER)
REFUSED = candidate("F16", 139, outcome=Outcome.REFUSED)
DISK, LESS_DISK = (candidate(quant, gib, outcome=Outcome.PAGES) for quant, gib in (("Q6_K_L", 60), ("Q5_0", 55)))
LATER = candidate("Q8_0", 75, outcome=Outcome.AFTER_EVICTION)
CRAMPED = candidate("Q6_K", 58, roomy=False)
PARTLY = candidate("Q5_K_M", 50, whole=False)
COARSE = candidate("Q4_K_M", 42, kv="q4_0")
FINE = candidate("UD-Q4_K_XL", 40, kv="q8_0")
ROUGH = candidate("IQ3_M", 32, kv="q8_0")
ROUGHEST = candidate("Q3_K_L", 34, kv="q4_0")
SMALL = candidate("IQ2_XS", 20)


def test_the_order_of_preference() -> None:
    """Wholly (fine cache, coarse cache, rough weights), then partly, cramped, when others leave, from disk (less of it); never else."""
    ladder = [NEVER, REFUSED, DISK, LESS_DISK, LATER, CRAMPED, PARTLY, COARSE, FINE, ROUGH, ROUGHEST, SMALL]
    taken = []
    while (best := choose(ladder)) is not None:
        taken.append(best.quant)
        ladder.remove(best)
    whole_ones = ["UD-Q4_K_XL", "Q4_K_M", "IQ3_M", "IQ2_XS", "Q3_K_L"]
    assert taken == [*whole_ones, "Q5_K_M", "Q6_K", "Q8_0", "Q5_0", "Q6_K_L"]


def test_the_largest_of_equals_is_taken() -> None:
    """And of two of one size the first."""
    first, second = candidate("A", 5), candidate("B", 5)
    assert choose([candidate("C", 4), first, second]) is first
    assert choose([first, second]) is first


def test_nothing_is_taken_of_nothing() -> None:
    """None, not an exception."""
    assert choose([]) is None
    assert choose([NEVER, REFUSED]) is None


@pytest.mark.parametrize(
    ("gpus", "accelerated", "gib", "wanted"),
    [
        ((24,), True, 1, True),
        ((), False, 1, True),
        ((), True, 1, False),
        ((4,), True, 6, False),
        ((), False, 70, False),
    ],
)
def test_whole_is_where_the_layers_lie(gpus: tuple[float, ...], accelerated: bool, gib: int, wanted: bool) -> None:
    """All blocks and the output on cards; without accelerators all of it in memory, none left on disk."""
    shape = some_shape(blocks=32, width=4096, weights=gib * GIB)
    verdict = plan(shape, imagined(gpus, 64), Settings(ctx=1024, parallel=1))
    assert verdict.fits
    assert whole(shape, verdict, accelerated=accelerated) is wanted


def test_another_quantisation_weighs_what_its_file_says() -> None:
    """All weights together to the byte; norms stay as they are; so do the caches."""
    norm = Tensor("blk.0.attn_norm.weight", (256,), "F32", 1024)
    shape = some_shape(weights=10_000_001)
    shape = replace(shape, tensors=(*shape.tensors, norm))
    file, other = 10_000_001 + 1024 + 5000, 3_333_333
    small = resized(shape, file, other)
    assert sum(row.bytes for row in small.tensors) == other - 5000
    assert small.tensors[-1] == norm
    assert (small.caches, small.blocks) == (shape.caches, shape.blocks)
    assert all(row.bytes >= 0 for row in small.tensors)
    assert resized(shape, file, file).tensors == shape.tensors
    halves = [round(new.bytes / old.bytes, 2) for new, old in zip(small.tensors, shape.tensors, strict=True)]
    assert len(set(halves[:-1])) == 1


def test_what_a_model_could_be_made_into() -> None:
    """By bits a weight, as the quantiser's own table has them; nothing that is as large as what is there."""
    norm = Tensor("blk.0.attn_norm.weight", (256,), "F32", 1024)
    half = Tensor("blk.0.ffn_up.weight", (4096, LLAMA_3_8B // 4096), "F16", LLAMA_3_8B // 4096 * 4096 * 2)
    shape = replace(some_shape(), tensors=(norm, half))
    found = dict(smaller(shape, half.bytes + 1024 + 500))
    assert list(found) == list(QUANTISED)
    assert {quant: round((size - 1524) / GIB, 2) for quant, size in found.items()} == QUANTISED
    eighth = replace(shape, tensors=(norm, half._replace(type="Q6_K", bytes=int(6.14 * GIB))))
    assert [quant for quant, _ in smaller(eighth, int(6.14 * GIB))] == ["Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"]
    assert list(smaller(replace(shape, tensors=()), 5)) == []


def test_a_file_smaller_than_its_norms_has_no_weights_left() -> None:
    """Never a negative number; a model of norms alone stays as it is."""
    shape = some_shape()
    assert sum(row.bytes for row in resized(shape, 240_128, 1).tensors) == 1
    assert sum(row.bytes for row in resized(shape, 900_000, 1).tensors) == 0
    bare = replace(shape, tensors=(Tensor("output_norm.weight", (256,), "F32", 1024),))
    assert resized(bare, 2000, 1000) == bare


def needing(candidate: Candidate, size: int) -> Candidate:
    return candidate._replace(verdict=replace(candidate.verdict, exact_bytes=size))


def test_a_step_down_in_size_must_be_one_up_in_verdict() -> None:
    """The same verdict, or a larger need, is no reason; beside what cannot be loaded anything is that can."""
    assert better([COARSE, FINE, SMALL], PARTLY) is FINE
    assert better([SMALL], FINE) is None
    assert better([LESS_DISK], DISK) is None
    assert better([needing(FINE, 9)], needing(PARTLY, 8)) is None
    assert better([needing(FINE, 8)], needing(PARTLY, 8)) is not None
    large = needing(DISK, 9)
    assert better([large], needing(NEVER, 8)) is large
    assert better([REFUSED, NEVER], NEVER) is None
    assert better([], NEVER) is None


def test_an_encoder_belongs_to_models_of_its_width() -> None:
    """Where either does not tell, it may."""
    shape = some_shape(width=256)
    assert belongs(Projector("clip", 1, 1, widths=(128, 256)), shape)
    assert not belongs(Projector("clip", 1, 1, widths=(128,)), shape)
    assert belongs(Projector("clip", 1, 1), shape)
    assert belongs(Projector("clip", 1, 1, widths=(128,)), replace(shape, embedding=0))


def test_a_hundredth_is_negligible() -> None:
    """Of the model's weights; scratch counts."""
    assert negligible(Projector("clip", 5, 4), 1000)
    assert not negligible(Projector("clip", 5, 5), 1000)
