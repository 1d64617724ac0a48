"""Shape → the coefficients of its compute buffer: which crowds of tensors each block has, and how wide. Knows no settings.

Widths are `compute_widths`' business: from the tensor table where it has them, and from the shape else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple

from blazar.domain.fit.compute_facts import ALL_OUTPUTS, HIDDEN_ONLY, LOGITS, MASKS, MOMENTS, TEXT_ONLY, Moment
from blazar.domain.fit.compute_units import F16, F32, PARTS, Units
from blazar.domain.fit.compute_widths import (
    ALTERNATING,
    as_worked,
    by_block,
    columns,
    ends_hidden,
    number,
    streams,
    turned,
    widths,
)
from blazar.domain.fit.layout import INDEXER
from blazar.domain.fit.shape import Attends, Block, CacheShape, ModelShape

EVERYWHERE = 1 << 30
"""The last block that reads a mask, where every block does."""

_Tables = Mapping[str, Mapping[str, tuple[int, ...]]]
_WINDOWED = (Attends.WINDOW, Attends.CHUNK)


class Part(NamedTuple):
    """One moment of one block, in bytes.

    `key` and `value`: for an f32 cell of `cache` (-1: none) that is copied as f16. `heads`: for a cell of it and token without
    flash attention.
    """

    plain: Units
    cache: int
    key: int
    value: int
    heads: int
    after: bool


class Borrowed(NamedTuple):
    """What a block reads that has no cache of its own: elements of a cell of `cache` that block `owner` keeps."""

    cache: int
    k: int
    v: int
    owner: int


class Geometry(NamedTuple):
    """What of a shape the sums are made from. Widths are in elements, masks in bytes a cell and token.

    `hollow` is the shape without layers and tensors, by which cells are counted. `parts` are by block of the trunk; `last` is
    the last block that reads each cache's mask; `crossing` is how wide a state space block's projection is, part of which stays
    with the device before it. `waits`: bytes a picked cell and token of the zeros that unmask the choices of a block and all
    after it; they live from the start. `by_blocks`: an indexer picks whole blocks of cells. `viewed`: as `waits`, the views of
    the mask in f32 that each such block has; a device that did not make the mask is handed them one by one. `borrowed`: by
    block, the cells of another that it reads. `beside`: the cache of the window beside compressed cells (-1: none). `turned`:
    elements of a token that have an index of their own without flash attention. `biased`: scores have a bias, and flash
    attention is not used. `decaying`: heads whose decay between tokens is an input. `uncached`: attention without a cache has a
    mask of tokens by tokens. `logits`: rows of the vocabulary's length an output, 0 for encoders, which end at their hidden
    rows; `all_outputs`: of every token in any case.
    """

    hollow: ModelShape
    parts: tuple[tuple[Part, ...], ...]
    masks: tuple[int, ...]
    last: tuple[int, ...]
    indexer: int
    top: int
    pool: int
    uncached: bool
    hidden: int
    stream: int
    inputs: int
    input_rows: int
    extra: int
    logits: int
    all_outputs: bool
    crossing: tuple[int, ...]
    waits: tuple[int, ...]
    by_blocks: bool
    beside: int
    turned: int
    biased: bool
    decaying: int
    viewed: tuple[int, ...]
    borrowed: tuple["Borrowed | None", ...]


class Same:
    """A shape as a cache key: shapes hold mappings and cannot be hashed, but are never changed."""

    __slots__ = ("shape",)

    def __init__(self, shape: ModelShape) -> None:
        self.shape = shape

    def __hash__(self) -> int:
        return id(self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.shape is self.shape


@lru_cache(maxsize=64)
def geometry(key: Same) -> Geometry:
    """The geometry of a shape, made once for each shape object."""
    shape = key.shape
    tensors = by_block(shape.tensors)
    trunk = tuple(as_worked(block, tensors.get(str(block.number), {})) for block in _trunk(shape))
    names = [cache.name for cache in shape.caches]
    blind = shape.arch in HIDDEN_ONLY
    pool = number(shape, "attention.indexer.kpool")
    by_blocks = number(shape, "attention.indexer.block_size") > 0
    stream = shape.embedding * streams(shape, tensors[""])
    parts, wide = _parts(shape, trunk, tensors, stream)
    return Geometry(
        hollow=_hollow(shape),
        parts=parts,
        masks=tuple(0 if blind else _mask(cache, pool > 0 or by_blocks) for cache in shape.caches),
        last=tuple(_last(shape, at, trunk) for at in range(len(names))),
        indexer=_at(names, INDEXER),
        top=number(shape, "attention.indexer.top_k"),
        pool=pool,
        by_blocks=by_blocks,
        beside=_at(names, "window") if "csa" in names else -1,
        waits=_waits(shape, trunk),
        uncached=(blind or not names) and any(block.attends is not Attends.NONE for block in trunk),
        turned=turned(shape),
        biased=number(shape, "attention.relative_buckets_count") > 0,
        decaying=max((one["heads"] for one in wide if one.get("decay")), default=0),
        borrowed=_borrowed(shape, trunk),
        viewed=_from(F32 if one.get("block q") else 0 for one in wide),
        hidden=shape.embedding,
        stream=stream,
        inputs=shape.embedding * (1 + number(shape, "n_deepstack_layers")),
        input_rows=1 if shape.arch in TEXT_ONLY else 2,
        extra=columns(tensors[""].get("per_layer_token_embd")),
        logits=0 if blind or ends_hidden(shape, tensors[""]) else LOGITS.get(shape.arch, 1),
        all_outputs=shape.arch in ALL_OUTPUTS,
        crossing=tuple(one.get("scan in", 0) for one in wide),
    )


def _parts(
    shape: ModelShape, trunk: tuple[Block, ...], tensors: _Tables, stream: int
) -> tuple[tuple[tuple[Part, ...], ...], list[dict[str, int]]]:
    """Each block's parts, and its widths. Equal blocks are costed once."""
    names = [cache.name for cache in shape.caches]
    states = {layer.block: layer.s for layer in shape.recurrent}
    of_all = {
        "stream": stream,
        "hidden": shape.embedding,
        "streamed": stream - shape.embedding,
        "alternating": len(tensors[""].get(ALTERNATING, ())),
    }
    seen: dict[Any, tuple[Part, ...]] = {}
    parts, every = [], []
    for block in trunk:
        wide = widths(shape, block, tensors.get(str(block.number), {})) | of_all
        wide |= {"state": states.get(block.number, 0), "heads": block.heads}
        wide |= {"streamed q": block.heads if "csa" in names else 0}
        cache = -1 if shape.arch in HIDDEN_ONLY else _read(block, names)
        same = (tuple(wide.items()), cache)
        if same not in seen:
            seen[same] = tuple(_part(moment, wide, cache) for moment in MOMENTS if _has(moment, wide))
        parts.append(seen[same])
        every.append(wide)
    return tuple(parts), every


def _from(own: Iterable[int]) -> tuple[int, ...]:
    """Each block's own and all behind it together; 0 behind the last."""
    return tuple(accumulate(reversed(tuple(own)), initial=0))[::-1]


def _at(names: list[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _read(block: Block, names: list[str]) -> int:
    """The cache that a block attends to, as its place (-1: there is none)."""
    window = _at(names, "window") if block.attends in _WINDOWED else -1
    return window if window >= 0 else min(len(names), 1) - 1


def _trunk(shape: ModelShape) -> tuple[Block, ...]:
    """Predicting blocks have a graph of their own, which is smaller."""
    return shape.blocks[: len(shape.blocks) - shape.nextn]


def _waits(shape: ModelShape, trunk: tuple[Block, ...]) -> tuple[int, ...]:
    """By block, and 0 behind the last (build_attn with llm_graph_input_attn_k_dsa; deepseek4.cpp)."""
    made = {cache.name: {layer.block for layer in cache.layers} for cache in shape.caches}
    picks = bool(made.get(INDEXER)) and shape.mla and not number(shape, "attention.indexer.kpool")
    return _from(
        (F16 if block.number in made["csa"] else 0)
        if "csa" in made
        else F32 * (picks and block.attends is Attends.FULL)
        for block in trunk
    )


def _borrowed(shape: ModelShape, trunk: tuple[Block, ...]) -> tuple[Borrowed | None, ...]:
    """By block: the last owner before it of the same kind of cache."""
    names = [cache.name for cache in shape.caches]
    owners: dict[int, Borrowed] = {}
    kept = {(at, layer.block): layer for at, cache in enumerate(shape.caches) for layer in cache.layers}
    found: list[Borrowed | None] = []
    for block in trunk:
        at = _read(block, names)
        own = kept.get((at, block.number))
        if own is not None:
            owners[at] = Borrowed(at, own.k, own.v, block.number)
        attends = block.attends is not Attends.NONE and shape.arch not in HIDDEN_ONLY
        found.append(owners.get(at) if attends and own is None else None)
    return tuple(found)


def _mask(cache: CacheShape, pools: bool) -> int:
    """An indexer that pools, or picks whole blocks, has no mask of its own; no block reads a cache without layers."""
    return MASKS.get(cache.name, 0) if cache.layers and not (pools and cache.name == INDEXER) else 0


def _hollow(shape: ModelShape) -> ModelShape:
    empty = tuple(replace(cache, layers=()) for cache in shape.caches)
    return replace(shape, caches=empty, tensors=(), recurrent=())


def _last(shape: ModelShape, at: int, trunk: tuple[Block, ...]) -> int:
    """Blocks that read another block's cache read its mask, too."""
    if shape.loops > 1:
        return EVERYWHERE
    cache = shape.caches[at]
    last = max((layer.block for layer in cache.layers), default=-1)
    looks = {"full": (Attends.FULL,), "window": _WINDOWED}.get(cache.name, ())
    return max([last, *(block.number for block in trunk if block.attends in looks)])


def _has(moment: Moment, wide: Mapping[str, int]) -> bool:
    return all(wide.get(name, 0) for name in moment.needs)


def _part(moment: Moment, wide: Mapping[str, int], cache: int) -> Part:
    token = sum(times * wide.get(name, 0) for name, times in moment.tokens.items())
    scores = ceil(F32 * (moment.scores + moment.copies) * wide.get("looking", 0))
    plain = Units(
        tokens=ceil(F32 * token),
        sequences=ceil(F32 * moment.sequences * wide.get("state", 0)),
        squares=ceil(F32 * moment.squares * wide.get("heads", 0)),
        picked=round(moment.picked * PARTS),
        alone=round(moment.alone * PARTS),
        scored=round(moment.scored * PARTS),
        pools=round(moment.pools * PARTS),
        spread=round(moment.spread * PARTS),
        apart=round(moment.blocks * PARTS * wide.get("index heads", 0)),
        beside=round(moment.beside * PARTS),
        every=ceil(F32 * moment.gathered * wide.get("index key", 0)),
        joined=ceil(F16 * moment.joined * wide.get("k", 0)),
        bare=scores,
    )
    copied = F16 * moment.copies
    return Part(
        plain,
        cache if moment.copies else -1,
        copied * wide.get("copied keys", 0),
        copied * wide.get("copied values", 0),
        scores,
        moment.after,
    )
