"""What a search shows of a repository."""

import pytest

from blazar.domain.fit.about import FITS, PARTLY, TOO_LARGE
from blazar.domain.search import BITS, best_of, bits_of

GIB = 2**30
BILLION = 10**9
QUANTS = ("F16", "Q8_0", "Q4_K_M", "Q2_K")


def held(fits: float, partly: float = 0) -> object:
    """A machine that holds so many GiB, and with its main memory so many."""
    return lambda size: FITS if size <= fits * GIB else PARTLY if size <= partly * GIB else TOO_LARGE


@pytest.mark.parametrize(
    ("quant", "bits"),
    [
        ("Q4_K_M", 4.9),
        ("q4_k_m", 4.9),
        ("Q8_0", 8.5),
        ("UD-Q4_K_XL", 4.5),
        ("Q6_K_L", 6.57),
        ("IQ2_XXS", 2.06),
        ("BF16", 16),
        ("Q7_X", 7.5),
        ("odd", 0),
        ("", 0),
    ],
)
def test_a_name_says_how_many_bits_a_parameter_takes(quant: str, bits: float) -> None:
    """About; publishers' own mixes by the one they are made from, else by their digit."""
    assert bits_of(quant) == pytest.approx(bits, abs=0.02)


def test_bits_lie_where_their_names_say() -> None:
    """No row was mistyped: each is within one and a half bits of its digit."""
    for quant, bits in BITS.items():
        digits = "".join(char for char in quant.partition("_")[0] if char.isdigit())
        assert 0 <= bits - int(digits) <= 1.5, quant


@pytest.mark.parametrize(
    ("memory", "take", "verdict"),
    [
        (held(20), "F16", FITS),
        (held(10), "Q8_0", FITS),
        (held(5), "Q4_K_M", FITS),
        (held(3.1), "Q2_K", FITS),
        (held(2, 10), "Q8_0", PARTLY),
        (held(1, 2), "Q2_K", TOO_LARGE),
    ],
)
def test_the_one_to_take_is_the_largest_that_fits(memory, take: str, verdict: str) -> None:  # type: ignore[no-untyped-def]
    """Wholly before partly, four bits before fewer, as `fit` chooses."""
    best = best_of(8 * BILLION, QUANTS, memory)
    assert best is not None
    assert (best.quant, best.verdict) == (take, verdict)


def test_nothing_is_said_of_what_is_not_known() -> None:
    """No parameters, no quantisations, or none whose name says anything."""
    assert best_of(0, QUANTS, held(9)) is None  # type: ignore[arg-type]
    assert best_of(BILLION, (), held(9)) is None  # type: ignore[arg-type]
    assert best_of(BILLION, ("odd",), held(9)) is None  # type: ignore[arg-type]
