"""Where a model's tensors lie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.errors import Malformed
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import Attends, Block, ModelShape, Tensor
from blazar.domain.fit.weights import BlockWeights, Weights, lora_bytes, weigh
from tests.support import fit_rows

PARTS = {
    "attn_q.weight": 7,
    "ffn_up.weight": 11,
    "ffn_gate.weight": 13,
    "ffn_down_exps.weight": 1000,
    "ffn_up_chexps.weight": 100,
}
BLOCK = sum(PARTS.values())


def tensor(name, size, *, type_="F16", rows=64):
    return Tensor(name, (32, rows), type_, size)


def model(*extra, blocks=4, arch="llama", nextn=0, skip=()):
    """Four equal blocks between an embedding of 50 bytes and an output of 60."""
    tensors = [tensor("token_embd.weight", 50), tensor("output_norm.weight", 3), tensor("output.weight", 57)]
    tensors += [tensor(f"blk.{n}.{part}", size) for n in range(blocks) for part, size in PARTS.items()]
    tensors = [row for row in tensors if row.name not in skip] + list(extra)
    rows = tuple(Block(n, Attends.FULL, False, 1, 1, 1, 1, 1, 1, 1) for n in range(blocks))
    return ModelShape(arch, True, 4096, 32, 64, rows, nextn=nextn, tensors=tuple(tensors))


def size_of(shape):
    return sum(row.bytes for row in shape.tensors)


def test_blocks_lie_between_input_and_output():
    """Nothing set: each block goes whole with its device, the embedding stays with the host."""
    assert weigh(model(), Settings()) == Weights(50, 60, tuple(BlockWeights(n, BLOCK, 0) for n in range(4)))


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("position_embd.weight", "input"),
        ("token_types.weight", "input"),
        ("per_layer_token_embd.weight", "input"),
        ("token_embd_norm.weight", "first"),
        ("rope_freqs.weight", "first"),
        ("per_layer_model_proj.weight", "first"),
        ("enc.blk.0.attn_q.weight", "first"),
        ("altup_proj.weight", "output"),
        ("dec.output_norm.weight", "output"),
        ("never.heard.of", "output"),
        ("blk.99.attn_q.weight", "output"),
        ("blk.x.attn_q.weight", "output"),
        ("blk.", "output"),
        ("blk.²", "output"),
        ("dec.blk.", "output"),
        ("masked_embd_ordering", "skipped"),
    ],
)
def test_every_tensor_has_a_place(name, where):
    """Those without a block as the engine sorts them; an odd name goes with the output and is never lost."""
    before, after = weigh(model(), Settings()), weigh(model(tensor(name, 9)), Settings())
    moved = {
        "input": after.input - before.input,
        "first": after.blocks[0].offloaded - before.blocks[0].offloaded,
        "output": after.output - before.output,
        "skipped": after.skipped - before.skipped,
    }
    assert moved == {place: 9 if place == where else 0 for place in moved}


def test_lfm2_calls_its_output_norm_an_embedding_norm():
    """A wrong name that its files keep: the tensor is used after the last block."""
    shape = model(tensor("token_embd_norm.weight", 9), arch="lfm2")
    assert weigh(shape, Settings()).output == 69


def test_a_tied_embedding_is_counted_again_with_the_output():
    """No output matrix: the engine makes a second copy where the output lies, and none if that is the host."""
    weights = weigh(model(skip=("output.weight",)), Settings())
    assert (weights.input, weights.output, weights.tied, weights.copied) == (50, 53, 50, 50)
    assert weights.total == size_of(model(skip=("output.weight",)))


def test_a_repacked_copy_exists_on_the_host_too():
    """The CPU keeps q4_0 in another order for products: two tensors even where both lie with the host."""
    table = tensor("token_embd.weight", 50, type_="Q4_0")
    weights = weigh(model(table, skip=("output.weight", "token_embd.weight")), Settings())
    assert (weights.output, weights.tied, weights.copied) == (53, 0, 50)
    pinned = weigh(
        model(table, skip=("output.weight", "token_embd.weight")), Settings(override_tensor=(("token_embd", "CPU"),))
    )
    assert (pinned.input, pinned.output, pinned.copied) == (100, 3, 50)
    odd = weigh(model(table._replace(shape=(32, 7)), skip=("output.weight", "token_embd.weight")), Settings())
    assert (odd.tied, odd.copied) == (50, 50)


@pytest.mark.parametrize(
    ("arch", "override"), [("bert", ()), ("llama", (("token_embd", "CUDA1"),)), ("llama", (("token_embd", "CPU"),))]
)
def test_an_embedding_that_needs_no_copy_gets_none(arch, override):
    """An encoder has no output matrix at all; two uses of one buffer are one tensor."""
    weights = weigh(model(arch=arch, skip=("output.weight",)), Settings(override_tensor=override))
    assert (weights.tied, weights.copied, weights.output) == (0, 0, 3)


def test_experts_of_the_first_blocks_stay_with_the_host():
    """`cpu_moe_n` moves expert tensors and nothing else."""
    weights = weigh(model(), Settings(cpu_moe_n=2))
    assert [(part.offloaded, part.host) for part in weights.blocks] == [(31, 1100)] * 2 + [(BLOCK, 0)] * 2


def test_dense_feed_forward_of_the_first_blocks_stays_with_the_host():
    """`cpu_ffn_n` leaves experts where they are."""
    weights = weigh(model(), Settings(cpu_ffn_n=1))
    assert weights.blocks[0] == BlockWeights(0, BLOCK - 24, 24)
    assert weights.blocks[1] == BlockWeights(1, BLOCK, 0)


def test_the_preset_keeps_every_expert_with_the_host():
    """`moe-cpu-offload` is all of them, and a pattern may except some."""
    weights = weigh(
        model(), Settings(tensor_preset="moe-cpu-offload", override_tensor=((r"blk\.0\.ffn_down_exps", "CUDA0"),))
    )
    assert [part.host for part in weights.blocks] == [100, 1100, 1100, 1100]
    assert weights.elsewhere == (("CUDA0", 1000),)


def test_the_first_pattern_that_is_found_decides():
    """And the counted settings come before any pattern, as they do on the engine's command line."""
    override = ((r"blk\.[01]\.", "CUDA1"), (r"blk\.1\.", "CPU"), (r"^output", "CPU"), ("exps", "RPC0[10.0.0.2:50052]"))
    weights = weigh(model(), Settings(cpu_moe_n=1, override_tensor=override))
    assert weights.elsewhere == (("CUDA1", 31 + BLOCK), ("RPC0[10.0.0.2:50052]", 2200))
    assert [part.host for part in weights.blocks] == [1100, 0, 0, 0]
    assert (weights.input, weights.output) == (110, 0)


def test_a_pattern_that_cannot_be_read_is_refused():
    """By the name of its key."""
    with pytest.raises(Malformed) as refused:
        weigh(model(), Settings(override_tensor=(("(", "CPU"),)))
    assert refused.value.field == "override_tensor"


def test_predicting_blocks_are_skipped():
    """They are in the file, and loaded only to speculate: by a draft file that has nothing else, or where the engine always does."""
    weights = weigh(model(nextn=1), Settings(cpu_moe_n=9))
    assert (weights.skipped, weights.blocks[3]) == (BLOCK, BlockWeights(3, 0, 0))
    trunk = [f"blk.{n}.{part}" for n in range(3) for part in PARTS]
    assert weigh(model(nextn=1, skip=trunk), Settings()).blocks[3].offloaded == BLOCK
    assert weigh(model(nextn=4, arch="gemma4-assistant"), Settings()).skipped == 0


def test_adapters_weigh_what_their_files_do():
    """None, one, several."""
    assert [lora_bytes(Settings(lora_bytes=files)) for files in ((), (5,), (5, 7))] == [0, 5, 12]


@pytest.mark.parametrize("name", fit_rows.models())
def test_every_model_of_the_engine_is_counted_to_the_byte(name):
    """Input, output, blocks and what is skipped make up the table, for each architecture that was measured."""
    shape = fit_rows.shape_of(name)
    weights = weigh(shape, Settings())
    assert weights.total + weights.skipped == size_of(shape)
    assert len(weights.blocks) == len(shape.blocks)


FFN = (r"blk\.(1[0-9]|2[0-3])\.ffn_.*\.weight", "CPU")
RPC = (r"blk\.[0-5]\..*exps", "RPC0[127.0.0.1:50052]")
ENGINE = [
    ("llama3-8b-shape", Settings(), 99, 4026, 281),
    ("llama3-8b-shape", Settings(), 10, 1335, 2973),
    ("llama3-8b-shape", Settings(), 0, 0, 4307),
    ("llama3-8b-shape", Settings(cpu_moe_n=7), 99, 4026, 281),
    ("llama3-8b-shape", Settings(cpu_ffn_n=7), 99, 3365, 942),
    ("llama3-8b-shape", Settings(override_tensor=(FFN,)), 99, 2703, 1605),
    ("llama3-8b-shape", Settings(override_tensor=((r"output\.weight", "CPU"),)), 99, 3457, 850),
    ("qwen3-30b-a3b-shape", Settings(), 10, 3183, 13236),
    ("qwen3-30b-a3b-shape", Settings(cpu_moe_n=7), 99, 13985, 2434),
    ("qwen3-30b-a3b-shape", Settings(tensor_preset="moe-cpu-offload"), 99, 701, 15718),
    ("qwen3-30b-a3b-shape", Settings(cpu_moe_n=3, override_tensor=(RPC,)), 99, 15281, 1138),
    ("qwen3-30b-a3b-shape", Settings(override_tensor=(("token_embd", "RPC0"),)), 99, 16420, 0),
    ("jamba-3b-shape", Settings(), 10, 602, 1191),
    ("jamba-3b-shape", Settings(cpu_ffn_n=7), 99, 1469, 326),
    ("deepseek-v3-shape", Settings(), 10, 56212, 304807),
    ("deepseek-v3-shape", Settings(cpu_moe_n=7), 99, 336331, 24689),
    ("deepseek-v3-shape", Settings(cpu_ffn_n=7), 99, 359885, 1134),
    ("deepseek-v3-shape", Settings(tensor_preset="moe-cpu-offload"), 99, 9739, 351281),
]
"""What llama-fit-params b11434 said of these models with one device of a worker: model, settings, `-ngl`, MiB there, MiB on the host
(the sum of its two rows, CPU and CPU_REPACK, each rounded down)."""


@pytest.mark.parametrize(("name", "settings", "layers", "device", "host"), ENGINE)
def test_the_engine_says_the_same(name, settings, layers, device, host):
    """Layers counted from the last one down, the output first: equal to the MiB the engine rounds to."""
    weights = weigh(fit_rows.shape_of(name), settings)
    start = max(len(weights.blocks) + 1 - layers, 0)
    there = sum(part.offloaded for part in weights.blocks[start:]) + (weights.output if layers else 0)
    there += sum(size for _, size in weights.elsewhere)
    assert there // 2**20 == device
    assert 0 <= (weights.total - there) // 2**20 - host <= 1


SHAPES = st.sampled_from(sorted(fit_rows.models())).map(fit_rows.shape_of)
BUFFERS = st.sampled_from(["CPU", "CUDA0", "CUDA1"])
PATTERNS = st.sampled_from([r"exps", r"\.ffn_", r"blk\.0\.", r"blk\.[13579]\.", "attn", "output", "embd", r"weight$"])


def _moved(weights):
    return sum(part.host for part in weights.blocks)


@given(SHAPES, st.integers(0, 9), st.integers(0, 9), st.lists(st.tuples(PATTERNS, BUFFERS), max_size=3), st.booleans())
def test_moving_tensors_never_changes_their_sum(shape, experts, dense, override, preset):
    """Wherever it lies, each tensor is counted once, and never more than the file holds apart from one copied embedding."""
    moved = weigh(
        shape,
        Settings(
            cpu_moe_n=experts,
            cpu_ffn_n=dense,
            override_tensor=tuple(override),
            tensor_preset="moe-cpu-offload" if preset else "",
        ),
    )
    assert moved.total == weigh(shape, Settings()).total <= size_of(shape)
    embedding = max((row.bytes for row in shape.tensors if row.name == "token_embd.weight"), default=0)
    assert moved.copied in (0, embedding)
    assert 0 <= moved.tied <= moved.copied


@given(SHAPES, st.integers(0, 9), st.integers(0, 9), st.integers(0, 3))
def test_more_with_the_host_is_never_more_on_devices(shape, experts, dense, more):
    """The lever always pulls the same way."""
    few = weigh(shape, Settings(cpu_moe_n=experts, cpu_ffn_n=dense))
    many = weigh(shape, Settings(cpu_moe_n=experts + more, cpu_ffn_n=dense + more))
    assert _moved(many) >= _moved(few)
    assert all(b.offloaded <= a.offloaded for a, b in zip(few.blocks, many.blocks, strict=True))
