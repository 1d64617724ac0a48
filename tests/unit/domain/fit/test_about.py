"""Whether weights of a size would fit, about."""

from dataclasses import replace

import pytest

from blazar.domain.fit.about import BESIDE, FITS, HOST, PARTLY, TOO_LARGE, about
from blazar.domain.fit.machine import GIB, Device, Machine, imagined

CARD = imagined((24,), 64)
PLAIN = imagined((), 16)


@pytest.mark.parametrize(
    ("machine", "gib", "word"),
    [
        (CARD, 19, FITS),
        (CARD, 21, PARTLY),
        (CARD, 70, PARTLY),
        (CARD, 80, TOO_LARGE),
        (imagined((24, 24), 64), 39, FITS),
        (imagined((2,), 64), 40, HOST),
        (PLAIN, 13, FITS),
        (PLAIN, 14, TOO_LARGE),
        (PLAIN, 0, ""),
    ],
)
def test_a_size_is_held_against_what_is_free(machine: Machine, gib: int, word: str) -> None:
    """With a fifth on top: on cards, else with main memory, else in that alone."""
    assert about(gib * GIB, machine) == word


def test_memory_that_card_and_host_share_counts_once() -> None:
    """Integrated graphics hold what the machine has left, and no more."""
    shared = Device("MTL0", "metal", 32 * GIB, 24 * GIB, shared=True)
    machine = Machine(32 * GIB, 24 * GIB, (shared, shared._replace(name="MTL1")))
    assert about(19 * GIB, machine) == FITS
    assert about(21 * GIB, machine) == TOO_LARGE


def test_what_is_unknown_is_not_guessed() -> None:
    """No memory figure refuses nothing; a card without one is none."""
    blind = replace(CARD, ram_total=0, ram_available=0)
    assert (about(19 * GIB, blind), about(50 * GIB, blind)) == (FITS, "")
    mute = Machine(16 * GIB, 16 * GIB, (Device("Vulkan0", "vulkan", 0, 0),))
    assert about(GIB, mute) == FITS
    assert BESIDE == 1.2
