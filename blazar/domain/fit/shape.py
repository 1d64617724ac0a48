"""A model as its memory sees it: blocks, caches, recurrent state, tensors. Facts in; no byte is counted here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Tensor(NamedTuple):
    """One row of a tensor table. `shape` in ggml's order (the row length first), `bytes` as stored."""

    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int


class Attends(StrEnum):
    """What a block looks back at."""

    FULL = "full"
    WINDOW = "window"  # the last `window` tokens
    CHUNK = "chunk"  # its own chunk of `window` tokens
    NONE = "none"  # recurrent, feed-forward only, or not part of the trunk


class Block(NamedTuple):
    """One repeating block, in elements. `kv_heads` 0 where it has no attention of its own.

    `k_head` and `v_head` are one head's width. `ff` is the dense feed-forward width, `expert_ff` one expert's,
    `experts_used` how many a token visits.
    """

    number: int
    attends: Attends
    recurrent: bool
    heads: int
    kv_heads: int
    k_head: int
    v_head: int
    ff: int
    expert_ff: int
    experts_used: int


class CacheLayer(NamedTuple):
    """What one block keeps of one cell, in elements; `v` is 0 where values are read from the keys (MLA)."""

    block: int
    k: int
    v: int


@dataclass(frozen=True, slots=True)
class CacheShape:
    """One cache that the engine creates. `cells` names the rule by which `caches` counts its cells; `arguments` are that rule's numbers.

    `k_type` and `v_type` are set where the engine chooses a type itself whatever it is told.
    """

    name: str
    cells: str
    layers: tuple[CacheLayer, ...]
    arguments: tuple[int, ...] = ()
    k_type: str = ""
    v_type: str = ""


class RecurrentLayer(NamedTuple):
    """State of one block for one sequence, in f32 elements: convolution rows, scan state, further history."""

    block: int
    r: int
    s: int
    p: int = 0


class Projector(NamedTuple):
    """A vision or audio encoder beside the model (mmproj). Bytes; `type` as its metadata names it, "" unknown.

    `widths`: embedding lengths of the models that it can hand its rows to; empty where the file does not tell.
    """

    type: str
    weights_bytes: int
    compute_bytes: int
    upper_bound: bool = False
    widths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Everything that memory depends on, for one model.

    `blocks` are all of the file's blocks, predicting (NextN) ones included: the last `nextn` of them. `loops` is how often
    the stack is run through (each pass keeps its own cache). `keys` is the metadata below `<arch>.` without that prefix.
    `known` is false for an architecture that no table and no convention describes: every figure is then an upper bound.
    """

    arch: str
    known: bool
    trained_ctx: int
    embedding: int
    vocabulary: int
    blocks: tuple[Block, ...]
    nextn: int = 0
    loops: int = 1
    experts: int = 0
    window: int = 0
    mla: bool = False
    causal: bool = True
    caches: tuple[CacheShape, ...] = ()
    recurrent: tuple[RecurrentLayer, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    keys: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def heads_of(shape: ModelShape) -> ModelShape:
    """The predicting blocks of a file as the small model that they are while they guess ahead for it (`draft-mtp`).

    They have a cache of their own beside the trunk's, as long as its window; embedding and output are the trunk's.
    """
    heads = shape.blocks[len(shape.blocks) - shape.nextn :]
    prefixes = tuple(f"blk.{block.number}." for block in heads)
    layers = tuple(
        CacheLayer(block.number, block.kv_heads * block.k_head, block.kv_heads * block.v_head) for block in heads
    )
    return replace(
        shape,
        caches=(CacheShape("kv", "context", layers),),
        recurrent=(),
        tensors=tuple(row for row in shape.tensors if row.name.startswith(prefixes)),
    )
