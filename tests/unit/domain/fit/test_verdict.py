"""What a verdict adds up."""

import pytest

from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.verdict import Outcome, Share, Verdict

NOTHING = Memory(0, 0, 0, 0, 0, 0, 0, (), ())


def test_a_share_uses_the_sum_of_its_parts():
    """Its margin is not used."""
    share = Share("CUDA0", 100, 90, weights=1, kv=2, recurrent=3, compute=4, projector=5, draft=6, lora=7, margin=20)
    assert share.used == 28
    assert share.headroom == 90 - 28 - 20


def test_a_share_is_charged_its_margin_or_its_floor():
    """And lacks what of that is not free."""
    card = Share("CUDA0", 100, 90, weights=60, margin=20, floor=75)
    assert (card.charge, card.lacking) == (80, 0)
    heavy = Share("CUDA0", 100, 90, weights=75, margin=10, floor=95)
    assert (heavy.charge, heavy.lacking, heavy.headroom) == (95, 5, 5)
    assert Share("host", 100, 10, weights=16, mapped=8, margin=3).lacking == 1


def test_mapped_weights_need_not_be_there():
    """The kernel reads them again when they are wanted."""
    assert Share("host", 100, 10, weights=16, mapped=8).headroom == 2


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_what_fits_now_may_be_loaded_now(outcome):
    """What fits after an eviction has to wait for it, and its settings are as good as told; what fits nowhere has none."""
    verdict = Verdict(outcome, "", NOTHING, Settings(), (), 0, 0, 0, 0, 0)
    assert verdict.fits is (outcome in (Outcome.FITS, Outcome.PAGES))
    assert verdict.placed is (verdict.fits or outcome is Outcome.AFTER_EVICTION)
