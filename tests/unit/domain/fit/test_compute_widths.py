"""Widths of one block: from its tensors where there are some, and from the shape else."""

from dataclasses import replace

import pytest

from blazar.domain.fit import Settings, imagined, plan
from blazar.domain.fit.compute import compute_bytes
from blazar.domain.fit.compute_widths import by_block, columns, number, rows, streams, turned, widths
from blazar.domain.fit.keys import MOST
from blazar.domain.fit.shape import Attends, Block, ModelShape, Tensor
from tests.support.fit_rows import shape_of

READ = (
    "attention.indexer.block_size",
    "attention.indexer.head_count",
    "attention.indexer.key_length",
    "attention.indexer.kpool",
    "attention.indexer.top_k",
    "attention.kv_lora_rank",
    "attention.relative_buckets_count",
    "hyper_connection.count",
    "n_deepstack_layers",
    "ssm.inner_size",
)
"""Keys that compute looks up in what a file says."""

EXPERTS = Block(0, Attends.FULL, False, 8, 2, 64, 64, 0, 512, 4)


def of(name: str, number: int) -> dict[str, int]:
    shape = shape_of(name)
    return widths(shape, shape.blocks[number], by_block(shape.tensors)[str(number)])


def test_a_product_is_as_wide_as_its_matrix_has_rows() -> None:
    """Query, up and gate of a dense model."""
    made = of("llama3-8b-shape", 0)
    assert (made["q raw"], made["up"], made["gate"], made["gated"]) == (4096, 14336, 14336, 14336)


def test_without_tensors_the_shape_says_the_same() -> None:
    """A shape from a configuration alone has its widths from its heads and its feed-forward length."""
    shape = shape_of("llama3-8b-shape")
    made = widths(replace(shape, tensors=()), shape.blocks[0], {})
    assert {name: of("llama3-8b-shape", 0)[name] for name in made} == made


@pytest.mark.parametrize(
    ("out", "hole"),
    [(2048, 4096), (1024, 1024), (512, 0)],
)
def test_outputs_that_do_not_fit_in_leave_a_hole(out: int, hole: int) -> None:
    """Outputs wider than up and gate lie above both, those just as wide above half of one, in doubt."""
    shape = replace(shape_of("llama3-8b-shape"), experts=8)
    made = widths(shape, EXPERTS, {"ffn_down_exps": (512, out, 8), "ffn_gate_exps": (512, 512, 8)})
    assert (made["expert out"], made["expert hole"]) == (4 * out, hole)


def test_experts_without_a_gate() -> None:
    """Nothing is multiplied with up where there is no gate."""
    shape = replace(shape_of("llama3-8b-shape"), experts=8)
    assert widths(shape, EXPERTS, {"ffn_up_exps": (512, 512, 8)})["expert gate"] == 0
    assert widths(shape, EXPERTS, {"ffn_gate_up_exps": (512, 1024, 8)})["expert gate"] == 4 * 512


@pytest.mark.parametrize(
    ("name", "number", "width"),
    [
        ("deepseek32-moe", 0, "index q"),
        ("deepseek4-moe", 2, "compressed q"),
        ("glm5-next-moe", 0, "pool gate"),
        ("qwen4exp-moe", 1, "pool q"),
        ("deepseek-v3-shape", 0, "q latent"),
        ("mamba2-dense", 0, "inner"),
        ("lfm2-dense", 1, "short"),
    ],
)
def test_every_kind_of_block_has_a_width_of_its_own(name: str, number: int, width: str) -> None:
    """Moments are told apart by widths that no other kind of block has."""
    assert of(name, number)[width] > 0
    assert not of("llama3-8b-shape", 0).get(width, 0)


def test_residual_streams() -> None:
    """Hyper-connections say how many; alternating streams have a matrix for each but the first."""
    shape = shape_of("llama3-8b-shape")
    assert streams(shape, {}) == 1
    assert streams(replace(shape, keys={"hyper_connection.count": 4}), {}) == 4
    assert streams(shape, {"altup_proj": (2048, 2048, 3)}) == 4
    assert streams(shape, {"altup_proj": (2048,)}) == 1


def test_turned_values() -> None:
    """Each cache with values has as many indices a token as the widest of all has elements."""
    assert turned(shape_of("llama3-8b-shape")) == 8 * 128
    assert turned(shape_of("gemma3-dense")) % 2 == 0
    assert turned(shape_of("deepseek-v3-shape")) == 0
    assert turned(shape_of("mamba2-dense")) == 0


def test_tables_are_split_by_block() -> None:
    """Names lose their block and `.weight`; what is no block's stands under the empty name."""
    made = by_block([Tensor("blk.3.attn_q.weight", (1, 2), "F16", 4), Tensor("output.weight", (3,), "F16", 6)])
    assert made == {"": {"output": (3,)}, "3": {"attn_q": (1, 2)}}


def test_extents_that_are_missing_count_nothing() -> None:
    """A tensor with too few extents is no error."""
    assert (columns(None), columns(()), rows(None), rows((4,)), rows((4, 5))) == (0, 0, 0, 0, 5)


@pytest.mark.parametrize("value", [-1, 0, 2.5, True, "4", [1], None])
def test_a_key_that_is_no_count_is_absent(value: object) -> None:
    """Metadata is hostile."""
    shape: ModelShape = replace(shape_of("llama3-8b-shape"), keys={"some.count": value})
    assert number(shape, "some.count") == 0


@pytest.mark.parametrize("value", [2**31, 2**64, 10**400])
@pytest.mark.parametrize("name", READ)
def test_no_count_is_larger_than_a_key_may_be(name: str, value: int) -> None:
    """Of every key that compute reads: what strangers wrote must end in a verdict, not in an error of arithmetic."""
    for model in ("llama3-8b-shape", "deepseek-v3-shape"):
        shape = shape_of(model)
        for hostile in (
            replace(shape, keys={**shape.keys, name: value}),
            replace(shape, keys={name: value}, tensors=()),
        ):
            assert number(hostile, name) == MOST
            assert compute_bytes(hostile, Settings(ctx=4096)) < 2**200
            assert plan(hostile, imagined((24,), 64), Settings(ctx=4096)).sentence
