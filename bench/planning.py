"""What capacity planning costs: the library's import, one plan, and `blazar fit` on a file of 30 GB that was never seen before."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.moments import verb_cpu
from blazar.domain.fit import Machine, ModelShape, Settings, Tensor, imagined, plan, shape_from_gguf
from tests.support.gguf_files import Gguf, Row

WIDTH, HEADS, KV_HEADS, FF, VOCABULARY, MERGES = 8192, 64, 8, 28672, 128256, 280147
"""The sizes of a published 70 B model; its header carries a vocabulary, which is most of what a reader has to pass."""
Q4_0 = 2
BLOCKS_30_GB, BLOCKS_PLANNED, CARDS = 64, 100, 8


def keys(blocks: int) -> dict[str, object]:
    """What such a model says of itself."""
    return {
        "general.architecture": "llama",
        "llama.context_length": 131072,
        "llama.embedding_length": WIDTH,
        "llama.block_count": blocks,
        "llama.feed_forward_length": FF,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.vocab_size": VOCABULARY,
    }


def sizes(blocks: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Its tensors, by name and shape."""
    narrow = WIDTH * KV_HEADS // HEADS
    yield "token_embd.weight", (WIDTH, VOCABULARY)
    for block in range(blocks):
        for name, shape in (
            ("attn_q", (WIDTH, WIDTH)),
            ("attn_k", (WIDTH, narrow)),
            ("attn_v", (WIDTH, narrow)),
            ("attn_output", (WIDTH, WIDTH)),
            ("ffn_gate", (WIDTH, FF)),
            ("ffn_up", (WIDTH, FF)),
            ("ffn_down", (FF, WIDTH)),
            ("attn_norm", (WIDTH, 32)),
            ("ffn_norm", (WIDTH, 32)),
        ):
            yield f"blk.{block}.{name}.weight", shape
    yield "output.weight", (WIDTH, VOCABULARY)


def packed(shape: tuple[int, ...]) -> int:
    """Bytes at 4.5 bits an element (q4_0)."""
    return shape[0] * shape[1] // 32 * 18


def deep_shape() -> ModelShape:
    """A hundred blocks."""
    rows = [Tensor(name, shape, "q4_0", packed(shape)) for name, shape in sizes(BLOCKS_PLANNED)]
    return shape_from_gguf(keys(BLOCKS_PLANNED), rows)


def sparse_model(folder: Path) -> Path:
    """A file of 30 GB on paper, with a real header and holes for weights."""
    pairs = list(keys(BLOCKS_30_GB).items())
    pairs += [
        ("tokenizer.ggml.tokens", [f"token {number}" for number in range(VOCABULARY)]),
        ("tokenizer.ggml.merges", [f"mer ge{number}" for number in range(MERGES)]),
    ]
    rows, offset = [], 0
    for name, shape in sizes(BLOCKS_30_GB):
        rows.append(Row(name, shape, Q4_0, offset=offset, size=0))
        offset += packed(shape)
    path = Gguf(pairs, rows).save(folder / "thirty.gguf")
    os.truncate(path, path.stat().st_size + offset)
    return path


def plan_ms(machine: Machine | None = None) -> float:
    """Milliseconds of one plan with everything open, the median of many on a shape that was planned once."""
    shape, cards = deep_shape(), machine or imagined((24.0,) * CARDS, 256.0)
    taken = []
    for _ in range(50):
        begin = time.perf_counter()
        plan(shape, cards, Settings())
        taken.append(time.perf_counter() - begin)
    return median(taken) * 1000


def first_plan_ms() -> float:
    """Milliseconds of the first plan of a shape, when nothing about it is remembered yet."""
    shape, cards = deep_shape(), imagined((24.0,) * CARDS, 256.0)
    begin = time.perf_counter()
    plan(shape, cards, Settings())
    return (time.perf_counter() - begin) * 1000


def import_cpu(env: dict[str, str]) -> float:
    """Processor milliseconds of importing the library."""
    return verb_cpu([sys.executable, "-c", "import blazar.domain.fit"], env)


def fit_verb_cpu(folder: Path, env: dict[str, str]) -> float:
    """Processor milliseconds of `blazar fit` on the file; every run is a process that has never read it."""
    model = sparse_model(folder)
    words = [sys.executable, "-m", "blazar", "fit", str(model), "--ram", "64", "--json"]
    subprocess.run(words, env=env, check=False, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return verb_cpu(words, env)
