"""What capacity planning costs: the library's import, plans of several kinds, and `blazar fit` on a file of 30 GB that was never seen before."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.moments import verb_cpu
from blazar.domain.fit import Machine, ModelShape, Projector, Running, Settings, Tensor, imagined, plan, shape_from_gguf
from blazar.domain.fit.machine import GIB
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


def of_cards(*gib: float, ram: float = 256.0) -> Machine:
    """Empty cards; one size stands for all eight."""
    return imagined(gib * CARDS if len(gib) == 1 else gib, ram)


def crowded(gib: float, used: float) -> Machine:
    """Eight cards with an idle model on each."""
    cards = of_cards(gib)
    return replace(
        cards,
        devices=tuple(card._replace(free=card.free - int(used * GIB)) for card in cards.devices),
        running=tuple(Running(card.name, True, False, 0, ((card.name, int(used * GIB)),)) for card in cards.devices),
    )


CLOSED = Settings(ctx=131072, parallel=4, cache_type_k="f16", cache_type_v="f16", gpu_layers=-1)
UNEVEN = of_cards(24, 12, 8, 24, 16, 10, 8, 6)
FITTING = {
    "all open": (of_cards(24), Settings()),
    "large cards": (of_cards(80), Settings()),
    "the last rung": (of_cards(10), Settings()),
    "uneven cards": (UNEVEN, Settings()),
    "partly": (of_cards(6), Settings()),
    "partly, uneven": (of_cards(8, 4, 6, 4, 8, 4, 3, 2), Settings()),
    "a smaller window": (of_cards(8.5), Settings()),
    "a configured split": (of_cards(24), Settings(tensor_split=(1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0))),
    "half of the layers": (of_cards(24), Settings(gpu_layers=50)),
    "the cache with the host": (of_cards(24), Settings(kv_offload=False)),
    "a projector": (UNEVEN, Settings(projector=Projector("clip", GIB, 0))),
    "beside others": (crowded(24, 8), Settings()),
    "all closed": (of_cards(24), replace(CLOSED, ctx=32768)),
}
"""What a plan is asked, by name: machine and settings."""

EVICTING = crowded(24, 21), replace(CLOSED, ctx=32768)
NEVER = of_cards(6, ram=8), CLOSED


def plan_ms(shape: ModelShape, machine: Machine, asked: Settings) -> float:
    """Milliseconds of one plan, the median of many on a shape that was planned once."""
    taken = []
    for _ in range(30):
        begin = time.perf_counter()
        plan(shape, machine, asked)
        taken.append(time.perf_counter() - begin)
    return median(taken) * 1000


def plans_ms() -> dict[str, float]:
    """Every figure about plans, by the fact's name. The worst of those that fit: each has its own way through the planner."""
    shape = deep_shape()
    worst = 0.0
    for name, (machine, asked) in FITTING.items():
        if not plan(shape, machine, asked).fits:
            raise AssertionError(f"{name} does not fit")
        worst = max(worst, plan_ms(shape, machine, asked))
    return {
        "plan": worst,
        "plan_million": plan_ms(replace(shape, trained_ctx=2**20), of_cards(24), Settings()),
        "plan_evicting": plan_ms(shape, *EVICTING),
        "plan_never": plan_ms(shape, *NEVER),
    }


def first_plan_ms() -> float:
    """Milliseconds of the first plan of a shape, when nothing about it is remembered yet."""
    shape = deep_shape()
    begin = time.perf_counter()
    plan(shape, of_cards(24), Settings())
    return (time.perf_counter() - begin) * 1000


def import_cpu(env: dict[str, str]) -> float:
    """Processor milliseconds of importing the library."""
    return verb_cpu([sys.executable, "-c", "import blazar.domain.fit"], env)


def fit_verb_cpu(folder: Path, env: dict[str, str]) -> float:
    """Processor milliseconds of `blazar fit` on the file; every run is a process that has never read it."""
    model = sparse_model(folder)
    env = env | {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}  # where no daemon is
    words = [sys.executable, "-m", "blazar", "fit", str(model), "--ram", "64", "--json"]
    subprocess.run(words, env=env, check=False, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return verb_cpu(words, env)
