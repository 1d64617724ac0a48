"""What is alive together where: sums that another covers are left out, and what a device is handed of others' blocks."""

from dataclasses import replace

from blazar.domain.fit.compute_geometry import Same, geometry
from blazar.domain.fit.compute_sums import Held, Sum, sums, waiting
from blazar.domain.fit.compute_units import PARTS
from tests.support.fit_rows import shape_of
from tests.unit.domain.fit.test_more_architectures import shape_of as further

DENSE = "llama3-8b-shape"


def all_of(blocks: int, copies: int = 0) -> Held:
    return Held(0, blocks, True, copies)


def test_equal_blocks_make_no_sums_of_their_own() -> None:
    """Thirty-two equal blocks are as many sums as one with a block behind it."""
    shape = shape_of(DENSE)
    whole, _ = sums(Same(shape), all_of(32))
    few, _ = sums(Same(replace(shape, blocks=shape.blocks[:2])), all_of(2))
    assert set(whole) == set(few)


def test_no_sum_is_covered_by_another() -> None:
    """A planner that asks a thousand times adds up no sum that cannot be the largest."""
    for name in (DENSE, "jamba-3b-shape", "deepseek4-moe", "gemma3-dense"):
        shape = shape_of(name)
        found, _ = sums(Same(shape), all_of(len(shape.blocks)))
        for one in found:
            for other in found:
                same = one.cache in (-1, other.cache)
                here, there = ((*two.plain, *two.grids, two.key, two.value, two.heads) for two in (one, other))
                assert one is other or not (same and all(map(int.__le__, here, there))), name


def test_logits_are_where_the_output_layer_is() -> None:
    """Only a device with the output layer has anything beside logits."""
    key = Same(shape_of(DENSE))
    assert sums(key, Held(0, 16, False, 1))[1] is None
    assert isinstance(sums(key, Held(16, 32, True, 1))[1], Sum)


def test_zeros_are_fewer_with_every_block() -> None:
    """A block has its own zeros and those of all behind it on the same device."""
    made = geometry(Same(further("deepseek32-nextn")))
    count = len(made.parts)
    held = all_of(count)
    each = 4 * PARTS
    assert [waiting(made, held, number).picked for number in (0, 1, count)] == [count * each, (count - 1) * each, 0]
    assert waiting(made, Held(0, 2, False, 1), 0).picked == 2 * each


def test_views_are_handed_to_who_did_not_make_the_mask() -> None:
    """The first block that picks blocks of cells makes the mask; elsewhere every such block has a copy of its view."""
    made = geometry(Same(further("minimax-m3-published")))
    count = len(made.parts)
    assert waiting(made, Held(0, 12, False, 4), 3).scored == 0
    assert waiting(made, Held(12, count, True, 4), 12).scored == 4 * PARTS * 4 * (count - 12)
    assert waiting(made, Held(12, count, True, 4), 20).scored == 4 * PARTS * 4 * (count - 12)
    assert waiting(made, Held(12, count, True, 1), 20).scored == 4 * PARTS * (count - 20)


def test_a_cache_that_lies_elsewhere_is_lent() -> None:
    """Blocks without a cache of their own have the cells of the last one before them copied, where that lies elsewhere."""
    key = Same(further("gemma4-e2b"))
    count = len(geometry(key).parts)

    def most(start: int, copies: int) -> int:
        found, _ = sums(key, Held(start, count, True, copies))
        return max(sum(one.lent) for one in found)

    assert most(0, 4) == most(13, 1) == 0
    assert most(18, 1) == 4 * 2 * 512 + 13 * 2 * 256
    assert most(18, 4) == 4 * most(18, 1)
    assert most(26, 1) < most(18, 1)
