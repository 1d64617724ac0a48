"""Model files with the sizes of published ones that take no room: a true header, and holes where the weights would be."""

import struct
from pathlib import Path

from tests.support.gguf_files import SIZES, Row, of, text

QWEN3_32B = {
    "general.architecture": "qwen3",
    "general.name": "Qwen3 32B",
    "qwen3.block_count": 64,
    "qwen3.context_length": 40960,
    "qwen3.embedding_length": 5120,
    "qwen3.feed_forward_length": 25600,
    "qwen3.attention.head_count": 64,
    "qwen3.attention.head_count_kv": 8,
    "qwen3.attention.key_length": 128,
    "qwen3.attention.value_length": 128,
    "qwen3.attention.layer_norm_rms_epsilon": 1e-6,
    "qwen3.rope.freq_base": 1_000_000.0,
}
"""As its `config.json` has them; vocabulary 151 936."""


def qwen3_rows(kind: int, blocks: int = 64) -> list[Row]:
    """Its tensors, all matrices of one type."""
    wide, inner, keys, values = 5120, 25600, 64 * 128, 8 * 128
    rows = [Row("token_embd.weight", (wide, 151_936), kind), Row("output_norm.weight", (wide,))]
    rows.append(Row("output.weight", (wide, 151_936), kind))
    for at in range(blocks):
        rows += [Row(f"blk.{at}.{name}.weight", (wide,)) for name in ("attn_norm", "ffn_norm")]
        rows += [Row(f"blk.{at}.{name}.weight", (128,)) for name in ("attn_q_norm", "attn_k_norm")]
        rows += [
            Row(f"blk.{at}.attn_q.weight", (wide, keys), kind),
            Row(f"blk.{at}.attn_k.weight", (wide, values), kind),
            Row(f"blk.{at}.attn_v.weight", (wide, values), kind),
            Row(f"blk.{at}.attn_output.weight", (keys, wide), kind),
            Row(f"blk.{at}.ffn_gate.weight", (wide, inner), kind),
            Row(f"blk.{at}.ffn_up.weight", (wide, inner), kind),
            Row(f"blk.{at}.ffn_down.weight", (inner, wide), kind),
        ]
    return rows


def save_sparse(path: Path, pairs: dict[str, object], rows: list[Row], tokens: int = 0) -> Path:
    """Write header and hole; `tokens` adds a vocabulary of so many words, which makes the header as long as a true one."""
    pairs = {**pairs, **({"tokenizer.ggml.tokens": [f"token{at}" for at in range(tokens)]} if tokens else {})}
    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(rows), len(pairs)))
    for key, value in pairs.items():
        typed = of(value)
        out += text(key) + struct.pack("<I", typed.kind) + typed.encode()
    end = 0
    for row in rows:
        out += text(row.name) + struct.pack("<I", len(row.shape)) + b"".join(struct.pack("<Q", n) for n in row.shape)
        end += -end % 32
        out += struct.pack("<IQ", row.kind, end)
        elements = 1
        for dim in row.shape:
            elements *= dim
        block, size = SIZES[row.kind]
        end += elements // block * size
    out += bytes(-len(out) % 32)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(out)
        file.truncate(len(out) + end)
    return path


def save_loadable(path: Path, *, tied: bool) -> Path:
    """A Llama of 260 MiB in Q4_0 which the real engine loads and serves, all of its weights 0; the CPU backend repacks them."""
    wide, inner, blocks, words, q4_0 = 2048, 8192, 6, 32_768, 2
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3] + [6] * 256  # unknown, control, byte; the rest unused (llama.h, llama_token_type)
    pairs: dict[str, object] = {
        "general.architecture": "llama",
        "llama.block_count": blocks,
        "llama.context_length": 8192,
        "llama.embedding_length": wide,
        "llama.feed_forward_length": inner,
        "llama.attention.head_count": 16,
        "llama.attention.head_count_kv": 4,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": 128,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens + [f"<|{at}|>" for at in range(len(tokens), words)],
        "tokenizer.ggml.token_type": kinds + [5] * (words - len(kinds)),
        "tokenizer.ggml.scores": [0.0] * words,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}",
    }
    rows = [Row("token_embd.weight", (wide, words), q4_0), Row("output_norm.weight", (wide,))]
    rows += [] if tied else [Row("output.weight", (wide, words), q4_0)]
    for at in range(blocks):
        rows += [Row(f"blk.{at}.{name}.weight", (wide,)) for name in ("attn_norm", "ffn_norm")]
        rows += [Row(f"blk.{at}.attn_{name}.weight", (wide, 512), q4_0) for name in ("k", "v")]
        rows += [Row(f"blk.{at}.attn_{name}.weight", (wide, wide), q4_0) for name in ("q", "output")]
        rows += [Row(f"blk.{at}.ffn_{name}.weight", (wide, inner), q4_0) for name in ("gate", "up")]
        rows.append(Row(f"blk.{at}.ffn_down.weight", (inner, wide), q4_0))
    return save_sparse(path, pairs, rows)
