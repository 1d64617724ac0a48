"""The table of what is alive at once: every name in it is one that something makes."""

from blazar.domain.fit.compute_facts import ALL_OUTPUTS, HIDDEN_ONLY, LOGITS, MASKS, MOMENTS, TEXT_ONLY, WIDTHS
from blazar.domain.fit.compute_geometry import Same, geometry
from blazar.domain.fit.facts import FACTS
from tests.support.fit_rows import models, shape_of


def test_every_moment_needs_a_width_of_its_own_block() -> None:
    """A moment without a condition would be charged to every block."""
    assert all(moment.needs for moment in MOMENTS)
    assert all(moment.tokens for moment in MOMENTS)


def test_no_coefficient_is_negative() -> None:
    """More of anything never costs less only if every coefficient is 0 or above."""
    for moment in MOMENTS:
        numbers = [*moment.tokens.values(), moment.sequences, moment.squares, moment.scored, moment.picked]
        numbers += [moment.alone, moment.pools, moment.spread, moment.gathered]
        numbers += [moment.blocks, moment.beside, moment.joined, moment.scores]
        assert min(numbers) >= 0, moment.name


def test_every_block_of_every_measured_model_has_a_moment() -> None:
    """A kind of block that the table does not know would cost nothing."""
    for name in models():
        assert all(geometry(Same(shape_of(name))).parts), name


def test_masks_are_of_caches_that_exist() -> None:
    """A misspelt cache would lose its mask."""
    named = {cache.name for name in models() for cache in shape_of(name).caches}
    assert set(MASKS) <= named


def test_widths_are_of_tensors_without_suffix() -> None:
    """Names are looked up without block and `.weight`."""
    assert not any(name.endswith(".weight") or name.startswith("blk.") for name in WIDTHS)


def test_architectures_are_ones_that_the_engine_knows() -> None:
    """A misspelt architecture would be costed like any other."""
    assert {*ALL_OUTPUTS, *HIDDEN_ONLY, *LOGITS, *TEXT_ONLY} <= set(FACTS)


def test_a_bound_on_logits_is_one_row_or_more() -> None:
    """Who makes no logits is named elsewhere."""
    assert all(count > 1 for count in LOGITS.values())
    assert not HIDDEN_ONLY & (ALL_OUTPUTS | set(LOGITS))
