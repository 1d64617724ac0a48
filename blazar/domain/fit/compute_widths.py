"""Shape → how wide the products of each block are. Knows no moment and no settings."""

from collections.abc import Iterable, Mapping

from blazar.domain.fit.compute_facts import WIDTHS
from blazar.domain.fit.keys import whole
from blazar.domain.fit.shape import Attends, Block, ModelShape, Tensor

ALTERNATING = "altup_proj"
"""Matrices that make all residual streams but the first (gemma3n.cpp)."""

_DELTA = ("ssm_beta", "ssm_alpha", "ssm_ba", "ssm_conv1d_q")
_CONVOLUTIONS = ("ssm_conv1d", "ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v")
_GATES = ("ffn_gate_exps", "ffn_gate_up_exps")
_INDEX_QUERIES = ("indexer.attn_q_b", "indexer.q_proj")


def by_block(tensors: Iterable[Tensor]) -> dict[str, dict[str, tuple[int, ...]]]:
    """Extents by block and name without `.weight`; under "" those of no block."""
    found: dict[str, dict[str, tuple[int, ...]]] = {"": {}}
    for row in tensors:
        name = row.name.removesuffix(".weight")
        block = ""
        if name.startswith("blk."):
            _, block, name = name.split(".", 2) if name.count(".") > 1 else ("", "", name)
        found.setdefault(block, {})[name] = row.shape
    return found


def number(shape: ModelShape, key: str) -> int:
    """A count among the keys; 0 where it is none. Strangers wrote them: none is larger than `Keys` takes."""
    return whole(shape.keys.get(key))


def columns(extents: tuple[int, ...] | None) -> int:
    """How many elements a row has."""
    return extents[0] if extents else 0


def rows(extents: tuple[int, ...] | None) -> int:
    """How many rows there are, and so how wide a product is."""
    return extents[1] if extents and len(extents) > 1 else 0


def as_worked(block: Block, found: Mapping[str, tuple[int, ...]]) -> Block:
    """A block whose table has no attention has none, whatever head counts say (nemotron-h.cpp)."""
    bare = found and not any(name.startswith("attn_") and not name.startswith("attn_norm") for name in found)
    return block._replace(attends=Attends.NONE) if bare else block


def ends_hidden(shape: ModelShape, found: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a graph has no logits: an encoder's, whose file has no output matrix."""
    return not shape.causal and bool(shape.tensors) and "output" not in found


def streams(shape: ModelShape, found: Mapping[str, tuple[int, ...]]) -> int:
    """Residual streams: hyper-connections', or alternating ones, of which all but one have a matrix."""
    alternating = found.get(ALTERNATING, ())
    return alternating[2] + 1 if len(alternating) > 2 else max(number(shape, "hyper_connection.count"), 1)


def turned(shape: ModelShape) -> int:
    """Elements of the widest value, once for each cache that holds any."""
    widest = [max((layer.v for layer in cache.layers), default=0) for cache in shape.caches]
    return max(widest, default=0) * sum(width > 0 for width in widest)


def widths(shape: ModelShape, block: Block, found: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Every width that a block has, in elements a token, by the names that `compute_facts` uses; `found` are its tensors' extents."""
    made = {width: rows(found[name]) for name, width in WIDTHS.items() if name in found}
    made |= _feed_forward(shape, block, found)
    if block.attends is not Attends.NONE:
        made |= _attention(shape, block, made.get("q raw", 0)) | _indexer(shape, found)
    if block.recurrent:
        made |= _recurrent(shape, block, found, made)
    return made


def _feed_forward(shape: ModelShape, block: Block, found: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    down, outputs = found.get("ffn_down"), found.get("ffn_down_exps")
    up = block.experts_used * block.expert_ff
    out = block.experts_used * (rows(outputs) or shape.embedding) if up else 0
    gated = not found or any(name in found for name in _GATES)
    widths = {
        "expert up": up,
        "expert gate": up if gated else 0,
        "expert out": out,
        "expert hole": _expert_hole(up, out),
        "experts": shape.experts if block.expert_ff else 0,
    }
    if not found:
        dense = 0 if block.expert_ff else block.ff
        return widths | {"up": dense, "gate": dense, "gated": dense}
    taken = columns(down)
    doubled = rows(found.get("ffn_up")) > taken
    return widths | {"gated": taken if "ffn_gate" in found or doubled else 0}


def _expert_hole(up: int, out: int) -> int:
    """What is left below outputs that do not fit in where up and gate were; where they just fit, best fit does it or does not."""
    if out > 2 * up:
        return 2 * up
    return up // 2 if out == 2 * up else 0


def _attention(shape: ModelShape, block: Block, raw: int) -> dict[str, int]:
    """`copied` are the f16 copies of one f32 cell, `looking` the heads that have scores of their own without flash attention."""
    heads, key = block.heads, block.k_head
    if shape.mla:
        content = min(number(shape, "attention.kv_lora_rank"), key)
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
        "position bias": number(shape, "attention.relative_buckets_count"),
    }


def _indexer(shape: ModelShape, found: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    named = [rows(found[name]) for name in _INDEX_QUERIES if name in found]
    if not named:
        return {}
    if number(shape, "attention.indexer.kpool"):
        gate = named[0] if any(name.startswith("indexer_compressor") for name in found) else 0
        return {"pool q": named[0], "pool gate": gate, "index key": number(shape, "attention.indexer.key_length")}
    compressed = any(cache.name == "csa" for cache in shape.caches)
    if number(shape, "attention.indexer.block_size"):
        return {"block q": named[0], "index heads": number(shape, "attention.indexer.head_count")}
    return {"compressed q" if compressed else "index q": named[0]}


def _recurrent(
    shape: ModelShape, block: Block, found: Mapping[str, tuple[int, ...]], widths: Mapping[str, int]
) -> dict[str, int]:
    convolved = sum(found[name][-1] for name in _CONVOLUTIONS if found.get(name))
    inner = columns(found.get("ssm_out") or found.get("attn_output")) or number(shape, "ssm.inner_size")
    if any(name in found for name in _DELTA):
        return {"scan in": 0, "delta": convolved, "inner": inner}
    if "qkv" in widths and not convolved:
        return {"decay": 1, "q": block.heads * block.k_head}
    return {"convolved": convolved, "inner": inner}
