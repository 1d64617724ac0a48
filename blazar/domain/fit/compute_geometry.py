"""Shape → the coefficients of its compute buffer: which crowds of tensors each block has, and how wide. Knows no settings.

Widths come from the tensor table where it has them (a product is as wide as its matrix has rows) and from the shape else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from blazar.domain.fit.compute_facts import ALL_OUTPUTS, HIDDEN_ONLY, LOGITS, MASKS, MOMENTS, TEXT_ONLY, WIDTHS, Moment
from blazar.domain.fit.layout import INDEXER
from blazar.domain.fit.shape import Attends, Block, CacheShape, ModelShape, Tensor

F32, F16 = 4, 2

PARTS = 16
"""Bytes of a cell and token that an indexer counts are given in parts of this, to stay whole numbers."""

EVERYWHERE = 1 << 30
"""The last block that reads a mask, where every block does."""

_WINDOWED = (Attends.WINDOW, Attends.CHUNK)
_DELTA = ("ssm_beta", "ssm_alpha", "ssm_ba", "ssm_conv1d_q")
_CONVOLUTIONS = ("ssm_conv1d", "ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v")
_GATES = ("ffn_gate_exps", "ffn_gate_up_exps")
_INDEX_QUERIES = ("indexer.attn_q_b", "indexer.q_proj")


class Part(NamedTuple):
    """One moment of one block, in bytes.

    `plain`: for a token, a sequence, a token squared; a picked cell and token, the same of one sequence only, a scored cell and
    token, a pool and token, a cell of all sequences and token, a cell and token of one sequence, a window's cell and token
    (these seven in `PARTS`); a cell of all sequences, a joined one, a token squared without flash attention. `key` and `value`: for an f32 cell of `cache` (-1: none) that is copied as f16. `heads`: for a cell and token without flash attention.
    """

    plain: tuple[int, ...]
    cache: int
    key: int
    value: int
    heads: int
    after: bool


class Geometry(NamedTuple):
    """What of a shape the sums are made from. Widths are in elements, masks in bytes a cell and token.

    `hollow` is the shape without layers and tensors, by which cells are counted. `parts` are by block of the trunk; `last` is
    the last block that reads each cache's mask; `crossing` is how wide a state space block's projection is, part of which stays
    with the device before it. `uncached`: attention without a cache has a mask of tokens by tokens. `logits`: rows of the
    vocabulary's length an output, 0 for encoders, which end at their hidden rows; `all_outputs`: of every token in any case.
    `waits`: bytes a picked cell and token of the zeros that unmask each block's choice; they live from the start. `by_blocks`: an indexer picks whole blocks of cells.
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
    tensors = _by_block(shape.tensors)
    trunk = tuple(_as_worked(block, tensors.get(str(block.number), {})) for block in _trunk(shape))
    names = [cache.name for cache in shape.caches]
    pool = _number(shape, "attention.indexer.kpool")
    by_blocks = _number(shape, "attention.indexer.block_size") > 0
    indexer = names.index(INDEXER) if INDEXER in names else -1
    states = {layer.block: layer.s for layer in shape.recurrent}
    blind = shape.arch in HIDDEN_ONLY
    alternating = tensors[""].get("altup_proj", ())
    streams = alternating[2] + 1 if len(alternating) > 2 else max(_number(shape, "hyper_connection.count"), 1)
    stream = shape.embedding * streams
    seen: dict[Any, tuple[Part, ...]] = {}
    parts, crossing = [], []
    for block in trunk:
        widths = _widths(shape, block, tensors.get(str(block.number), {}))
        widths |= {"stream": stream, "hidden": shape.embedding, "state": states.get(block.number, 0)}
        widths |= {"alternating": len(alternating), "streamed": stream - shape.embedding, "heads": block.heads}
        widths |= {"streamed q": block.heads if "csa" in names else 0}
        cache = (
            -1
            if blind or not names
            else names.index("window")
            if block.attends in _WINDOWED and "window" in names
            else 0
        )
        same = (tuple(widths.items()), cache)
        if same not in seen:
            seen[same] = tuple(_part(moment, widths, cache) for moment in MOMENTS if _has(moment, widths))
        parts.append(seen[same])
        crossing.append(widths.get("scan in", 0))
    return Geometry(
        hollow=_hollow(shape),
        parts=tuple(parts),
        masks=tuple(0 if blind else _mask(cache, pool > 0 or by_blocks) for cache in shape.caches),
        last=tuple(_last(shape, at, trunk) for at in range(len(names))),
        indexer=indexer,
        top=_number(shape, "attention.indexer.top_k"),
        pool=pool,
        uncached=(blind or not names) and any(block.attends is not Attends.NONE for block in trunk),
        hidden=shape.embedding,
        stream=stream,
        inputs=shape.embedding * (1 + _number(shape, "n_deepstack_layers")),
        input_rows=1 if shape.arch in TEXT_ONLY else 2,
        extra=_columns(tensors[""].get("per_layer_token_embd")),
        logits=0
        if blind
        else LOGITS.get(shape.arch, 1) * (shape.causal or not shape.tensors or "output" in tensors[""]),
        all_outputs=shape.arch in ALL_OUTPUTS,
        crossing=tuple(crossing),
        waits=tuple(_waits(shape, block) for block in trunk),
        by_blocks=by_blocks,
        beside=names.index("window") if "csa" in names else -1,
        turned=_turned(shape),
        biased=_number(shape, "attention.relative_buckets_count") > 0,
    )


def _trunk(shape: ModelShape) -> tuple[Block, ...]:
    """Predicting blocks have a graph of their own, which is smaller."""
    return shape.blocks[: len(shape.blocks) - shape.nextn]


def _as_worked(block: Block, found: Mapping[str, tuple[int, ...]]) -> Block:
    """A block whose table has no attention has none, whatever head counts say (nemotron-h.cpp)."""
    bare = found and not any(name.startswith("attn_") and not name.startswith("attn_norm") for name in found)
    return block._replace(attends=Attends.NONE) if bare else block


def _turned(shape: ModelShape) -> int:
    """Elements of the widest value, once for each cache that holds any."""
    widest = [max((layer.v for layer in cache.layers), default=0) for cache in shape.caches]
    return max(widest, default=0) * sum(width > 0 for width in widest)


def _waits(shape: ModelShape, block: Block) -> int:
    """Bytes a picked cell and token of a block's zeros (build_attn with llm_graph_input_attn_k_dsa; deepseek4.cpp)."""
    made = {cache.name: cache.layers for cache in shape.caches}
    if "csa" in made:
        return F16 if any(layer.block == block.number for layer in made["csa"]) else 0
    picks = made.get(INDEXER) and shape.mla and not _number(shape, "attention.indexer.kpool")
    return F32 if picks and block.attends is Attends.FULL else 0


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


def _by_block(tensors: Iterable[Tensor]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Extents by block and name without `.weight`; under "" those of no block."""
    found: dict[str, dict[str, tuple[int, ...]]] = {"": {}}
    for row in tensors:
        name = row.name.removesuffix(".weight")
        block = ""
        if name.startswith("blk."):
            _, block, name = name.split(".", 2) if name.count(".") > 1 else ("", "", name)
        found.setdefault(block, {})[name] = row.shape
    return found


def _number(shape: ModelShape, key: str) -> int:
    found = shape.keys.get(key, 0)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _columns(extents: tuple[int, ...] | None) -> int:
    return extents[0] if extents else 0


def _rows(extents: tuple[int, ...] | None) -> int:
    return extents[1] if extents and len(extents) > 1 else 0


def _widths(shape: ModelShape, block: Block, found: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    widths = {width: _rows(found[name]) for name, width in WIDTHS.items() if name in found}
    widths |= _feed_forward(shape, block, found)
    if block.attends is not Attends.NONE:
        widths |= _attention(shape, block, widths.get("q raw", 0)) | _indexer(shape, found)
    if block.recurrent:
        widths |= _recurrent(shape, block, found, widths)
    return widths


def _feed_forward(shape: ModelShape, block: Block, found: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    down, outputs = found.get("ffn_down"), found.get("ffn_down_exps")
    up = block.experts_used * block.expert_ff
    out = block.experts_used * (_rows(outputs) or shape.embedding) if up else 0
    gated = not found or any(name in found for name in _GATES)
    widths = {
        "expert up": up,
        "expert gate": up if gated else 0,
        "expert out": out,
        "expert hole": 2 * up if out > 2 * up else up // 2 if out == 2 * up else 0,
        "experts": shape.experts if block.expert_ff else 0,
    }
    if not found:
        dense = 0 if block.expert_ff else block.ff
        return widths | {"up": dense, "gate": dense, "gated": dense}
    taken = _columns(down)
    doubled = _rows(found.get("ffn_up")) > taken
    return widths | {"gated": taken if "ffn_gate" in found or doubled else 0}


def _attention(shape: ModelShape, block: Block, raw: int) -> dict[str, int]:
    """`copied` are the f16 copies of one f32 cell, `looking` the heads that have scores of their own without flash attention."""
    heads, key = block.heads, block.k_head
    if shape.mla:
        content = min(_number(shape, "attention.kv_lora_rank"), key)
        return {
            "q raw": raw,
            "q latent": heads * key,
            "q content": heads * content,
            "q position": heads * (key - content),
            "k": key,
            "copied keys": key + content,
            "looking": heads,
        }
    q, k, v = heads * key, block.kv_heads * key, block.kv_heads * block.v_head
    return {
        "q raw": max(raw, q),
        "q": q,
        "k": k,
        "v": v,
        "out": heads * block.v_head,
        "copied keys": k,
        "copied values": v,
        "looking": heads,
        "position bias": _number(shape, "attention.relative_buckets_count"),
    }


def _indexer(shape: ModelShape, found: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    named = [_rows(found[name]) for name in _INDEX_QUERIES if name in found]
    if not named:
        return {}
    if _number(shape, "attention.indexer.kpool"):
        gate = named[0] if any(name.startswith("indexer_compressor") for name in found) else 0
        return {"pool q": named[0], "pool gate": gate, "index key": _number(shape, "attention.indexer.key_length")}
    compressed = any(cache.name == "csa" for cache in shape.caches)
    if _number(shape, "attention.indexer.block_size"):
        return {"block q": named[0], "index heads": _number(shape, "attention.indexer.head_count")}
    return {"compressed q" if compressed else "index q": named[0]}


def _recurrent(
    shape: ModelShape, block: Block, found: Mapping[str, tuple[int, ...]], widths: Mapping[str, int]
) -> dict[str, int]:
    convolved = sum(found[name][-1] for name in _CONVOLUTIONS if found.get(name))
    inner = _columns(found.get("ssm_out") or found.get("attn_output")) or _number(shape, "ssm.inner_size")
    if any(name in found for name in _DELTA):
        return {"scan in": 0, "delta": convolved, "inner": inner}
    if "qkv" in widths and not convolved:
        return {"decay": 1, "q": block.heads * block.k_head}
    return {"convolved": convolved, "inner": inner}


def _has(moment: Moment, widths: Mapping[str, int]) -> bool:
    return all(widths.get(name, 0) for name in moment.needs)


def _part(moment: Moment, widths: Mapping[str, int], cache: int) -> Part:
    token = sum(times * widths.get(name, 0) for name, times in moment.tokens.items())
    scores = ceil(F32 * (moment.scores + moment.copies) * widths.get("looking", 0))
    return Part(
        (
            ceil(F32 * token),
            ceil(F32 * moment.sequences * widths.get("state", 0)),
            ceil(F32 * moment.squares * widths.get("heads", 0)),
            round(moment.picked * PARTS),
            round(moment.alone * PARTS),
            round(moment.scored * PARTS),
            round(moment.pools * PARTS),
            round(moment.spread * PARTS),
            round(moment.blocks * PARTS * widths.get("index heads", 0)),
            round(moment.beside * PARTS),
            ceil(F32 * moment.gathered * widths.get("index key", 0)),
            ceil(F16 * moment.joined * widths.get("k", 0)),
            scores,
            0,
        ),
        cache if moment.copies else -1,
        F16 * moment.copies * widths.get("copied keys", 0),
        F16 * moment.copies * widths.get("copied values", 0),
        scores,
        moment.after,
    )
