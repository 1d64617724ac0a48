"""Which of several quantisations to take, and what one weighs whose header nobody read. Plans nothing itself."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from blazar.domain.fit.shape import ModelShape, Projector, Tensor
from blazar.domain.fit.verdict import Outcome, Verdict

FINE = frozenset({"f32", "f16", "bf16", "q8_0"})
"""Cache types that cost no quality worth naming; those below do."""
_KEPT = frozenset({"F32", "F64", "I8", "I16", "I32", "I64"})
"""Tensor types that quantising leaves alone: norms, biases, scales, router weights, indices."""

LLAMA_3_8B = 8_030_261_248
"""Parameters of the model whose sizes `QUANTISED` are."""
QUANTISED = {
    "Q8_0": 7.96,
    "Q6_K": 6.14,
    "Q5_K_M": 5.33,
    "Q4_K_M": 4.58,
    "Q3_K_M": 3.74,
    "Q2_K": 2.96,
}
"""GiB of Llama-3-8B in usual quantisations, as `llama-quantize --help` of llama.cpp b11434 lists them, the largest first."""
_WORTH_IT = 0.95
"""An alternative has at most so much of the weights that are there: below that it is another quantisation."""


_ROUGH = re.compile(r"(?:^|[-_.])(?:IQ|TQ|Q)[123]_", re.IGNORECASE)
"""Names of quantisations below four bits a weight. What they cost shows in answers, more than a cache of q4_0 does: perplexity of
Llama-3-8B rises by 0.18 at Q4_K_M, by 0.66 at Q3_K_M and by 3.5 at Q2_K (`llama-quantize --help`)."""
_FROM_DISK = 8
_NO_STEP = 9


class Candidate(NamedTuple):
    """One quantisation of a model with its plan. `size`: bytes of its files. `whole`: as the function of that name says.

    `roomy`: one request's window is as large as was wanted, or as the model was trained for.
    """

    quant: str
    size: int
    verdict: Verdict
    whole: bool
    roomy: bool


def whole(shape: ModelShape, verdict: Verdict, *, accelerated: bool) -> bool:
    """Whether all layers lie on accelerators (`gpu_layers` counts the output too).

    On a machine without any: whether main memory holds all of it at once.
    """
    if not accelerated:
        return verdict.outcome in (Outcome.FITS, Outcome.AFTER_EVICTION)
    return verdict.gpu_layers > len(shape.blocks) * max(1, shape.loops)


def choose(candidates: Iterable[Candidate]) -> Candidate | None:
    """The quantisation to take; None where none can be loaded.

    Quality first, as far as it costs neither speed nor the window: the largest of those that

    1. fit now, wholly on the accelerators, with the wanted window, a cache of q8_0 or finer and four bits a weight or more;
    2. else fit so with a coarser cache;
    3. and 4. else the same with fewer bits a weight;
    5. else fit with the window, some layers with the host;
    6. else fit with a smaller window;
    7. else fit when idle models leave;
    8. else the smallest that can be loaded while its weights are read from disk again and again.

    Of two of one size the first counts.
    """
    best: tuple[tuple[int, int], Candidate] | None = None
    for candidate in candidates:
        rank = _rank(candidate)
        key = -rank, -candidate.size if rank == _FROM_DISK else candidate.size
        if rank and (best is None or key > best[0]):
            best = key, candidate
    return best[1] if best else None


def better(candidates: Iterable[Candidate], than: Candidate) -> Candidate | None:
    """What `choose` takes of them if that is a step up from `than`; else None: it would be smaller for nothing.

    Those that need more are no step up from what can be loaded. What cannot was counted in its smallest form, which compares with
    nothing.
    """
    rank = _rank(than)
    lighter = (one for one in candidates if not rank or one.verdict.exact_bytes <= than.verdict.exact_bytes)
    best = choose(lighter)
    return best if best and _rank(best) < (rank or _NO_STEP) else None


def _rank(candidate: Candidate) -> int:
    """The step of `choose` that a candidate stands on; 0: none."""
    verdict = candidate.verdict
    if verdict.outcome is Outcome.PAGES:
        return _FROM_DISK
    if verdict.outcome is Outcome.AFTER_EVICTION:
        return 7
    if verdict.outcome is not Outcome.FITS:
        return 0
    if not candidate.roomy:
        return 6
    if not candidate.whole:
        return 5
    types = {verdict.settings.cache_type_k or "f16", verdict.settings.cache_type_v or "f16"}
    return 1 + (not types <= FINE) + 2 * bool(_ROUGH.search(candidate.quant))


def belongs(projector: Projector, shape: ModelShape) -> bool:
    """Whether an encoder's rows are as wide as the model's; where either does not tell, it may be so."""
    return not projector.widths or not shape.embedding or shape.embedding in projector.widths


def negligible(projector: Projector, weights: int) -> bool:
    """Whether it is less than a hundredth of the model's `weights` bytes: nothing that is worth a word."""
    return 100 * (projector.weights_bytes + projector.compute_bytes) < weights


def resized(shape: ModelShape, before: int, after: int) -> ModelShape:
    """`shape` of files of `before` bytes as another quantisation of the same model would have it, in files of `after` bytes.

    The caches are the same. What the files hold beside tensors is taken to be equal, so that all weights together come out
    right; how they are spread over tensors is taken to be alike, which mixed quantisations are only nearly.
    """
    rows = shape.tensors
    fixed = sum(row.bytes for row in rows if row.type in _KEPT)
    moving = sum(row.bytes for row in rows) - fixed
    target = max(moving + after - before, 0)
    if moving <= 0:
        return shape
    return replace(shape, tensors=tuple(_scaled(rows, target, moving)))


def smaller(shape: ModelShape, size: int) -> Iterator[tuple[str, int]]:
    """Quantisations that files of `size` bytes could be made into, with the bytes that those files would have, about."""
    moving = [row for row in shape.tensors if row.type not in _KEPT]
    elements, held = sum(prod(row.shape) for row in moving), sum(row.bytes for row in moving)
    for quant, gib in QUANTISED.items():
        target = int(elements * gib * 2**30 / LLAMA_3_8B)
        if target < held * _WORTH_IT:
            yield quant, size - held + target


def _scaled(rows: Sequence[Tensor], target: int, moving: int) -> Iterable[Tensor]:
    """Each row's share of `target`; what rounding leaves over is carried on, so that the sum is `target`."""
    done = given = 0
    for row in rows:
        if row.type in _KEPT:
            yield row
            continue
        done += row.bytes
        share = target * done // moving - given
        given += share
        yield row._replace(bytes=share)
