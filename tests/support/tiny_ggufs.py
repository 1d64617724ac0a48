"""Small models with random weights, one per kind of memory, which the real engine loads and serves.

`python -m tests.support.tiny_ggufs FOLDER` writes them all. Each holds a byte vocabulary and stays below 1 MB.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

WIDTH = 64
FF = 96
SEED = 7


class Sketch(NamedTuple):
    """One model. `keys` are below `<arch>.`; `experts` is how many and how wide each is."""

    arch: str
    blocks: int
    heads: int
    kv_heads: tuple[int, ...]  # one a block; 0: a recurrent block
    head: int
    keys: Mapping[str, Any]
    experts: tuple[int, int] = (0, 0)
    qk_norm: bool = False
    post_norm: bool = False
    tied: bool = False
    vocabulary: int = 320


class Latent(NamedTuple):
    """Multi-head latent attention: ranks, and one head's width without position, with it, and of its value."""

    q_rank: int = 48
    kv_rank: int = 64
    plain: int = 32
    rotated: int = 32
    value: int = 32


class Scan(NamedTuple):
    """A Mamba block."""

    inner: int = 128
    state: int = 16
    rank: int = 4
    kernel: int = 4


LATENT = Latent()
SCAN = Scan()

SKETCHES = {
    "dense": Sketch("llama", 3, 4, (2,) * 3, 32, {"rope.dimension_count": 32}, tied=True, vocabulary=4096),
    "windowed": Sketch(
        "gemma3", 8, 4, (1,) * 8, 32, {"attention.sliding_window": 128}, qk_norm=True, post_norm=True, tied=True
    ),
    "moe": Sketch("qwen3moe", 2, 4, (2,) * 2, 32, {}, experts=(8, 32), qk_norm=True),
    "mla": Sketch(
        "deepseek2",
        3,
        4,
        (1,) * 3,
        0,
        {
            "attention.q_lora_rank": LATENT.q_rank,
            "attention.kv_lora_rank": LATENT.kv_rank,
            "attention.key_length": LATENT.kv_rank + LATENT.rotated,
            "attention.value_length": LATENT.kv_rank,
            "attention.key_length_mla": LATENT.plain + LATENT.rotated,
            "attention.value_length_mla": LATENT.value,
            "rope.dimension_count": LATENT.rotated,
            "leading_dense_block_count": 3,
            "expert_feed_forward_length": FF,
            "expert_shared_count": 1,
            "expert_weights_scale": 1.0,
            "expert_gating_func": 1,
        },
    ),
    "hybrid": Sketch(
        "jamba",
        6,
        2,  # jamba.cpp: the heads' widths add up to the model's
        (0, 0, 2, 0, 0, 2),
        32,
        {
            "ssm.inner_size": SCAN.inner,
            "ssm.state_size": SCAN.state,
            "ssm.time_step_rank": SCAN.rank,
            "ssm.conv_kernel": SCAN.kernel,
        },
    ),
}
"""Dense GQA (with a vocabulary whose scores outweigh all else), sliding windows with full blocks between, mixture of experts, latent attention, Mamba with attention between."""


def write(folder: Path, name: str) -> Path:
    """`folder/NAME.gguf`. Rows of the tensor table come in f16, vectors and scans in f32."""
    import gguf

    sketch = SKETCHES[name]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.gguf"
    file = gguf.GGUFWriter(path, sketch.arch)
    _describe(file, sketch)
    _vocabulary(file, gguf.TokenType, sketch.vocabulary)
    _weights(file, sketch)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def _describe(file: Any, sketch: Sketch) -> None:
    file.add_context_length(1 << 16)
    file.add_embedding_length(WIDTH)
    file.add_block_count(sketch.blocks)
    file.add_feed_forward_length(FF)
    file.add_head_count(sketch.heads)
    file.add_head_count_kv(list(sketch.kv_heads) if 0 in sketch.kv_heads else sketch.kv_heads[0])
    file.add_layer_norm_rms_eps(1e-5)
    if sketch.head:
        file.add_key_length(sketch.head)
        file.add_value_length(sketch.head)
    if sketch.experts[0]:
        file.add_expert_count(sketch.experts[0])
        file.add_expert_used_count(2)
        file.add_expert_feed_forward_length(sketch.experts[1])
    for key, value in sketch.keys.items():
        add = file.add_float32 if isinstance(value, float) else file.add_uint32
        add(f"{sketch.arch}.{key}", value)


def _vocabulary(file: Any, kinds: Any, size: int) -> None:
    tokens = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [(f"<|unused_{index}|>", kinds.UNUSED) for index in range(len(tokens), size)]
    file.add_tokenizer_model("llama")
    file.add_token_list([text for text, _ in tokens])
    file.add_token_types([kind for _, kind in tokens])
    file.add_token_scores([0.0] * size)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    file.add_unk_token_id(0)
    file.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")


def _weights(file: Any, sketch: Sketch) -> None:
    import numpy as np

    noise = np.random.default_rng(SEED)
    for name, shape in _tensors(sketch):
        if name.endswith(("norm.weight", "ssm_d")):
            file.add_tensor(name, np.ones(shape, np.float32))
        elif name.endswith("ssm_a"):
            file.add_tensor(name, -np.abs(noise.standard_normal(shape)).astype(np.float32) - 0.5)
        else:
            narrow = len(shape) > 1 and "conv1d" not in name and "gate_inp" not in name
            kind = np.float16 if narrow else np.float32
            file.add_tensor(name, (noise.standard_normal(shape) * 0.05).astype(kind))


def _tensors(sketch: Sketch) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes in numpy's order (the row length last)."""
    yield "token_embd.weight", (sketch.vocabulary, WIDTH)
    yield "output_norm.weight", (WIDTH,)
    if not sketch.tied:
        yield "output.weight", (sketch.vocabulary, WIDTH)
    for number, kv_heads in enumerate(sketch.kv_heads):
        parts: dict[str, tuple[int, ...]] = {"attn_norm.weight": (WIDTH,), "ffn_norm.weight": (WIDTH,)}
        if not kv_heads:
            parts |= _scan()
        elif sketch.head:
            parts |= _attention(sketch, kv_heads)
        else:
            parts |= _latent_attention(sketch.heads)
        parts |= _experts(*sketch.experts) if sketch.experts[0] else _feed_forward()
        for part, shape in parts.items():
            yield f"blk.{number}.{part}", shape


def _attention(sketch: Sketch, kv_heads: int) -> dict[str, tuple[int, ...]]:
    parts: dict[str, tuple[int, ...]] = {
        "attn_q.weight": (sketch.heads * sketch.head, WIDTH),
        "attn_k.weight": (kv_heads * sketch.head, WIDTH),
        "attn_v.weight": (kv_heads * sketch.head, WIDTH),
        "attn_output.weight": (WIDTH, sketch.heads * sketch.head),
    }
    if sketch.qk_norm:
        parts |= {"attn_q_norm.weight": (sketch.head,), "attn_k_norm.weight": (sketch.head,)}
    if sketch.post_norm:
        parts |= {"post_attention_norm.weight": (WIDTH,), "post_ffw_norm.weight": (WIDTH,)}
    return parts


def _latent_attention(heads: int) -> dict[str, tuple[int, ...]]:
    return {
        "attn_q_a.weight": (LATENT.q_rank, WIDTH),
        "attn_q_a_norm.weight": (LATENT.q_rank,),
        "attn_q_b.weight": (heads * (LATENT.plain + LATENT.rotated), LATENT.q_rank),
        "attn_kv_a_mqa.weight": (LATENT.kv_rank + LATENT.rotated, WIDTH),
        "attn_kv_a_norm.weight": (LATENT.kv_rank,),
        "attn_k_b.weight": (heads, LATENT.kv_rank, LATENT.plain),
        "attn_v_b.weight": (heads, LATENT.value, LATENT.kv_rank),
        "attn_output.weight": (WIDTH, heads * LATENT.value),
    }


def _scan() -> dict[str, tuple[int, ...]]:
    return {
        "ssm_in.weight": (2 * SCAN.inner, WIDTH),
        "ssm_conv1d.weight": (SCAN.inner, SCAN.kernel),
        "ssm_conv1d.bias": (SCAN.inner,),
        "ssm_x.weight": (SCAN.rank + 2 * SCAN.state, SCAN.inner),
        "ssm_dt_norm.weight": (SCAN.rank,),
        "ssm_b_norm.weight": (SCAN.state,),
        "ssm_c_norm.weight": (SCAN.state,),
        "ssm_dt.weight": (SCAN.inner, SCAN.rank),
        "ssm_dt.bias": (SCAN.inner,),
        "ssm_a": (SCAN.inner, SCAN.state),
        "ssm_d": (SCAN.inner,),
        "ssm_out.weight": (WIDTH, SCAN.inner),
    }


def _feed_forward() -> dict[str, tuple[int, ...]]:
    return {"ffn_gate.weight": (FF, WIDTH), "ffn_up.weight": (FF, WIDTH), "ffn_down.weight": (WIDTH, FF)}


def _experts(count: int, width: int) -> dict[str, tuple[int, ...]]:
    return {
        "ffn_gate_inp.weight": (count, WIDTH),
        "ffn_gate_exps.weight": (count, width, WIDTH),
        "ffn_up_exps.weight": (count, width, WIDTH),
        "ffn_down_exps.weight": (count, WIDTH, width),
    }


if __name__ == "__main__":
    for each in SKETCHES:
        print(write(Path(sys.argv[1]), each))
