"""What a search for models shows: of each repository its numbers, which quantisation to take, and whether that fits, about.

Works with what a registry's search answers, which is no sizes: those are estimated. Asks nobody.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from blazar.domain.fit.about import FITS, TOO_LARGE
from blazar.domain.fit.preview import LLAMA_3_8B, QUANTISED

_GIB = 2**30
_LLAMA: Final = QUANTISED | {
    "Q2_K_S": 2.96,
    "Q3_K_S": 3.41,
    "Q3_K_L": 4.03,
    "Q4_0": 4.34,
    "Q4_1": 4.78,
    "Q4_K_S": 4.37,
    "Q5_0": 5.21,
    "Q5_1": 5.65,
    "Q5_K_S": 5.21,
}
"""GiB of Llama-3-8B, by `llama-quantize --help` of llama.cpp b11434."""
BITS: Final = (
    {quant: gib * _GIB * 8 / LLAMA_3_8B for quant, gib in _LLAMA.items()}
    | {"IQ1_S": 1.56, "IQ1_M": 1.75, "IQ2_XXS": 2.06, "IQ2_XS": 2.31, "IQ2_S": 2.5, "IQ2_M": 2.7, "IQ3_XXS": 3.06}
    | {"IQ3_XS": 3.3, "IQ3_S": 3.44, "IQ3_M": 3.66, "IQ4_XS": 4.25, "IQ4_NL": 4.5, "TQ1_0": 1.69, "TQ2_0": 2.06}
    | {"MXFP4_MOE": 4.25, "MXFP4": 4.25, "NVFP4": 4.5}
    | {"BF16": 16.0, "F16": 16.0, "FP16": 16.0, "F32": 32.0, "FP32": 32.0}
)
"""Bits for each parameter, about: as those sizes come to, else as the same page says. MXFP4 is 32 numbers of 4 bits with a scale of
8 (Open Compute's Microscaling formats), NVFP4 the same of 16 (NVIDIA)."""
_DIGIT = re.compile(r"Q(\d)")
_ENOUGH: Final = 4.0
"""Bits below which answers suffer visibly (perplexity rises by 0.2 at Q4_K_M and by 0.7 at Q3_K_M, same page)."""


class Hit(NamedTuple):
    """One repository. `take` is the quantisation that `size` (bytes, about; 0: unknown) and `verdict` are of; "" where none is named."""

    repo: str
    downloads: int
    likes: int
    parameters: int
    quants: tuple[str, ...]
    take: str
    size: int
    verdict: str
    updated: str = ""
    gated: bool = False


class Sized(NamedTuple):
    """A quantisation with the bits of each parameter, the bytes that it comes to, and what fits of it."""

    quant: str
    bits: float
    size: int
    verdict: str


def bits_of(quant: str) -> float:
    """Bits for each parameter, about; 0 where the name says nothing."""
    name = quant.upper().removeprefix("UD-")
    for known in (name, name.rpartition("_")[0]):  # publishers' own mixes: Q4_K_XL, Q8_K_XL
        if known in BITS:
            return BITS[known]
    digit = _DIGIT.search(name)
    return float(digit[1]) + 0.5 if digit else 0.0


def best_of(parameters: int, quants: Iterable[str], verdict: Callable[[int], str]) -> Sized | None:
    """Which to take, by the order of `fit`: the largest that fits wholly with four bits or more, then with fewer, then at all.

    Where none does, the smallest: it is too large by least. None where nothing can be said.
    """
    sized = []
    for quant in quants:
        if parameters > 0 and (bits := bits_of(quant)):
            size = int(parameters * bits / 8)
            sized.append(Sized(quant, bits, size, verdict(size)))
    if not sized:
        return None
    sized.sort(key=lambda one: one.size)
    ways: tuple[Callable[[Sized], bool], ...] = (
        lambda one: one.verdict == FITS and one.bits >= _ENOUGH,
        lambda one: one.verdict == FITS,
        lambda one: bool(one.verdict) and one.verdict != TOO_LARGE,
    )
    for way in ways:
        if fitting := [one for one in sized if way(one)]:
            return fitting[-1]
    return sized[0]
