"""Widths of a shape's blocks: where they come from, and that strange tables do no harm."""

from dataclasses import replace

import pytest

from blazar.domain.fit.compute_geometry import EVERYWHERE, Geometry, Same, geometry
from blazar.domain.fit.shape import ModelShape, Tensor
from tests.support.fit_rows import shape_of


def of(shape: ModelShape) -> Geometry:
    return geometry(Same(shape))


def test_it_is_made_once_for_a_shape() -> None:
    """A planner that asks a thousand times reads a tensor table once."""
    shape = shape_of("llama3-8b-shape")
    assert of(shape) is of(shape)


def test_equal_blocks_share_their_parts() -> None:
    """Thirty-two equal blocks are costed as one."""
    parts = of(shape_of("llama3-8b-shape")).parts
    assert len(parts) == 32
    assert len({id(one) for one in parts}) == 1


def test_a_mask_lives_until_its_last_reader() -> None:
    """Windowed and full blocks read different masks, each up to the last block of its kind."""
    shape = shape_of("gemma3-dense")
    full, window = of(shape).last
    kinds = {cache.name: max(layer.block for layer in cache.layers) for cache in shape.caches}
    assert (full, window) == (kinds["full"], kinds["window"])


def test_loops_read_every_mask_to_the_end() -> None:
    """A stack that is run through again needs its first block's mask again."""
    assert set(of(shape_of("nanbeige-loops2")).last) == {EVERYWHERE}


def test_a_feed_forward_block_does_not_attend() -> None:
    """Head counts of a block without attention tensors keep no mask alive."""
    shape = shape_of("nemotron_h-dense")
    attending = {layer.block for layer in shape.caches[0].layers}
    assert of(shape).last == (max(attending),)


def test_predicting_blocks_are_not_run() -> None:
    """The trunk's graph has no NextN block in it."""
    shape = shape_of("llama3-8b-shape")
    assert len(of(replace(shape, nextn=2)).parts) == 30


def test_deepstack_widens_the_input_rows() -> None:
    """Rows of images come with those of the deeper layers behind them."""
    shape = shape_of("llama3-8b-shape")
    deep = replace(shape, keys={**shape.keys, "n_deepstack_layers": 3})
    assert of(deep).inputs == 4 * of(shape).inputs


@pytest.mark.parametrize(
    ("name", "extents"),
    [
        ("blk.0.ffn_down.weight", ()),
        ("blk.0.ffn_up.weight", (4096,)),
        ("blk.0.ssm_conv1d.weight", ()),
        ("blk.0", (1, 2)),
        ("blk.", (1, 2)),
        ("blk.x.attn_q.weight", (1, 2)),
        ("per_layer_token_embd.weight", ()),
    ],
)
def test_strange_tables(name: str, extents: tuple[int, ...]) -> None:
    """A row with too few extents, or a name that is no block's, is a width of 0 and no error."""
    shape = shape_of("jamba-dense")
    rows = (*(row for row in shape.tensors if row.name != name), Tensor(name, extents, "F32", 0))
    assert of(replace(shape, tensors=rows)).parts


@pytest.mark.parametrize("value", [-1, 2.5, True, "4", [1, 2], None])
def test_strange_keys(value: object) -> None:
    """A key that is no count counts as absent."""
    shape = shape_of("llama3-8b-shape")
    odd = replace(shape, keys={**shape.keys, "hyper_connection.count": value, "n_deepstack_layers": value})
    assert of(odd)._replace(hollow=shape) == of(shape)._replace(hollow=shape)
