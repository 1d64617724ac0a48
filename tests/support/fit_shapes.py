"""Models of round sizes, made by hand: what a plan says about them can be worked out on paper."""

from dataclasses import dataclass, replace

from blazar.domain.fit.bill import Bill, draw_up
from blazar.domain.fit.machine import GIB, Device, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import Attends, Block, CacheLayer, CacheShape, ModelShape, RecurrentLayer, Tensor
from blazar.domain.fit.shares import Load

MIB = 2**20
HEAD = 128
CLOSED = Settings(ctx=4096, parallel=1, cache_type_k="f16", cache_type_v="f16")
"""Nothing left open but the places."""


@dataclass(frozen=True)
class Dense:
    """A plain transformer. `size` are all its weights in bytes: an embedding and an output of 256 MiB each, blocks of one size."""

    blocks: int = 32
    size: int = 8 * GIB
    trained: int = 131072
    heads: int = 32
    kv_heads: int = 8
    experts: int = 0
    mla: bool = False

    def shape(self) -> ModelShape:
        width = self.heads * HEAD
        block = (self.size - 512 * MIB) // self.blocks
        kind = "exps" if self.experts else ""
        ffn = f"ffn_up_{kind}.weight" if kind else "ffn_up.weight"
        tensors = [
            Tensor("token_embd.weight", (width, 32000), "q8_0", 256 * MIB),
            Tensor("output.weight", (width, 32000), "q8_0", 256 * MIB),
        ]
        for number in range(self.blocks):
            tensors += [
                Tensor(f"blk.{number}.attn_q.weight", (width, width), "q8_0", block // 4),
                Tensor(f"blk.{number}.{ffn}", (width, width), "q8_0", block - block // 4),
            ]
        row = self.kv_heads * HEAD
        return ModelShape(
            arch="llama",
            known=True,
            trained_ctx=self.trained,
            embedding=width,
            vocabulary=32000,
            blocks=tuple(
                Block(number, Attends.FULL, False, self.heads, self.kv_heads, HEAD, HEAD, 4 * width, 0, 0)
                for number in range(self.blocks)
            ),
            experts=self.experts,
            mla=self.mla,
            caches=(CacheShape("kv", "context", tuple(CacheLayer(number, row, row) for number in range(self.blocks))),),
            tensors=tuple(tensors),
        )


DENSE = Dense().shape()


def alternating(blocks: int) -> ModelShape:
    """A light hybrid: every second block recurrent, the first one attends; caches outweigh weights."""
    shape = Dense(blocks=blocks, size=512 * MIB + blocks * 4 * MIB).shape()
    return replace(
        shape,
        blocks=tuple(
            block._replace(recurrent=True, attends=Attends.NONE, kv_heads=0) if block.number % 2 else block
            for block in shape.blocks
        ),
        caches=(replace(shape.caches[0], layers=shape.caches[0].layers[::2]),),
        recurrent=tuple(RecurrentLayer(number, 1024, 4096) for number in range(1, blocks, 2)),
    )


def cards(*gib: float, free: float = 1.0, ram: float = 64.0) -> Machine:
    """CUDA cards of these sizes, this part of each free, and main memory."""
    devices = tuple(
        Device(f"CUDA{index}", "cuda", int(size * GIB), int(size * GIB * free)) for index, size in enumerate(gib)
    )
    return Machine(int(ram * GIB), int(ram * GIB), devices)


def billed(shape: ModelShape, settings: Settings) -> Bill:
    return draw_up(shape, settings)


def load(
    shape: ModelShape, machine: Machine, settings: Settings = CLOSED, *, ladder: bool = False, paging: bool = False
) -> Load:
    return Load(billed(shape, settings), shape, machine, settings, ladder, paging)
