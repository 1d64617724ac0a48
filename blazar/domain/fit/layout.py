"""Blocks → which caches and which recurrent state the engine creates for them. Counts no cell and no byte.

One function for each of the engine's memory classes (`Keeps`): `create_memory` of llama.cpp b11434, src/llama-model.cpp,
with src/llama-kv-cache*.cpp and src/llama-memory-*.cpp for what each class keeps.
"""

from collections.abc import Callable
from typing import NamedTuple

from blazar.domain.fit.blocks import MOST_BLOCKS, Stack
from blazar.domain.fit.facts import Facts, Indexes, Keeps
from blazar.domain.fit.keys import Keys
from blazar.domain.fit.shape import CacheLayer, CacheShape, RecurrentLayer

CONTEXT = "context"
"""Rule: as many cells as the context."""

WINDOW = "window"
"""Rule: a window and one micro-batch; arguments: (window,)."""

RATIO = "ratio"
"""Rule: the context divided; arguments: (ratio,). A stream for each sequence even where the cache is unified."""

OWN_WINDOW = "own window"
"""Rule: as WINDOW, with a stream for each sequence even where the cache is unified."""

OWN_CONTEXT = "own context"
"""Rule: as CONTEXT, with a stream for each sequence even where the cache is unified."""

FIXED = "fixed"
"""Rule: arguments: (cells,), with a stream for each sequence even where the cache is unified."""

INDEXER = "indexer"
"""Name of the cache that holds an indexer's keys."""

_CSA, _HCA = 4, 128  # DSV4_CSA_RATIO, DSV4_HCA_RATIO (src/llama-kv-cache-dsv4.cpp)
_GLM_LIST_FROM = 1 << 20  # glm-dsa.cpp: trained window from which its own list holds
_GLM_LISTED = 78  # entries of that list: two, then one in four


class View(NamedTuple):
    """What a memory class is made from."""

    facts: Facts
    keys: Keys
    stack: Stack


class Kept(NamedTuple):
    """All that one load keeps besides weights."""

    caches: tuple[CacheShape, ...] = ()
    recurrent: tuple[RecurrentLayer, ...] = ()


def kept(facts: Facts, keys: Keys, stack: Stack) -> Kept:
    """The caches in the order in which the engine reports them, and the recurrent state."""
    if facts.borrows:
        return Kept()
    view = View(facts, keys, stack)
    found = _CLASSES[facts.keeps](view)
    return _with_index(view, found) if facts.upper else found


def _with_index(view: View, found: Kept) -> Kept:
    """For an unknown architecture that has an indexer: in every block, as wide as any known one."""
    width = view.keys.number("attention.indexer.key_length") * view.facts.row
    if not width:
        return found
    every = tuple(CacheLayer(block.number, width, width) for block in view.stack.blocks)
    return found._replace(caches=(*found.caches, CacheShape(INDEXER, CONTEXT, every)))


def _nothing(_: View) -> Kept:
    return Kept()


def _attention(view: View) -> Kept:
    return Kept(_split(view, _layers(view)))


def _state(view: View) -> Kept:
    return Kept((), _recurrent(view))


def _both(view: View) -> Kept:
    return Kept(_split(view, _layers(view)), _recurrent(view))


def _indexed(view: View) -> Kept:
    """The MSA indexer's cache is shaped by the model's own hyperparameters: one head of values is kept with its keys."""
    layers = _layers(view)
    value = view.stack.blocks[0].v_head
    index = _indexer(view, view.keys.number("attention.indexer.key_length"), value)
    return Kept((CacheShape("full", CONTEXT, layers), index))


def _sparse(view: View) -> Kept:
    width = view.keys.number("attention.indexer.key_length")
    if not view.keys.number("attention.indexer.top_k") or not width:
        return Kept((CacheShape("full", CONTEXT, _layers(view)),))
    value = 0 if view.stack.mla else view.stack.blocks[0].v_head
    full, *window = _split(view, _layers(view))
    return Kept((full, _indexer(view, width, value), *window))


def _indexed_state(view: View) -> Kept:
    width = view.keys.number("attention.indexer.key_length")
    caches = _split(view, _layers(view))
    if width:
        pooled = view.keys.any(view.facts.pool)
        caches = (*caches, _indexer(view, width * (view.facts.row if pooled else 1), 0))
    return Kept(caches, _recurrent(view))


def _compressed(view: View) -> Kept:
    """Raw window, two compressed caches, the indexer's; then the f32 state in which compression goes on between batches."""
    stack, keys = view.stack, view.keys
    ratios = keys.array("attention.compress_ratios", MOST_BLOCKS)
    count = len(stack.blocks)
    if ratios is None or len(ratios) < count:
        raise keys.bad("attention.compress_ratios", "it has no ratio for some blocks")
    key, index = stack.blocks[0].k_head, keys.number("attention.indexer.key_length")
    csa = tuple(number for number in range(count) if ratios[number] == _CSA)
    hca = tuple(number for number in range(count) if ratios[number] == _HCA)

    def same(blocks: tuple[int, ...], k: int, v: int = 0) -> tuple[CacheLayer, ...]:
        return tuple(CacheLayer(number, k, v) for number in blocks)

    def state(name: str, blocks: tuple[int, ...], rows: int, width: int) -> CacheShape:
        trunk = tuple(number for number in blocks if number < stack.trunk)
        return CacheShape(name, FIXED, same(trunk, width, width), (rows,), "f32", "f32")

    raw = tuple(CacheLayer(block.number, block.kv_heads * block.k_head, 0) for block in stack.blocks)
    kv = stack.kv_heads
    return Kept(
        (
            CacheShape("full", OWN_CONTEXT, ()),
            CacheShape("window", OWN_WINDOW, raw, (stack.window,)),
            CacheShape("csa", RATIO, tuple(CacheLayer(n, kv[n] * key, 0) for n in csa), (_CSA,)),
            CacheShape("hca", RATIO, tuple(CacheLayer(n, kv[n] * key, 0) for n in hca), (_HCA,)),
            CacheShape(INDEXER, RATIO, same(csa, index), (_CSA,)),
            state("csa state", csa, 2 * _CSA, 2 * key),
            state("hca state", hca, _HCA, key),
            state("indexer state", csa, 2 * _CSA, 2 * index),
        )
    )


_CLASSES: dict[Keeps, Callable[[View], Kept]] = {
    Keeps.NOTHING: _nothing,
    Keeps.ATTENTION: _attention,
    Keeps.STATE: _state,
    Keeps.BOTH: _both,
    Keeps.INDEXED_STATE: _indexed_state,
    Keeps.INDEXED: _indexed,
    Keeps.SPARSE: _sparse,
    Keeps.COMPRESSED: _compressed,
}


def _layers(view: View) -> tuple[CacheLayer, ...]:
    """What each block keeps of a cell in the main cache.

    Each pass of a loop keeps its own, and the engine numbers them on: block b in pass p of n blocks is layer p * n + b.
    """
    facts, stack = view.facts, view.stack
    count = len(stack.blocks)
    last = stack.trunk if facts.trunk_only and stack.trunk else count
    once: list[CacheLayer] = []
    for block in stack.blocks[: min(last, _blocks_with_kv(view))]:
        if (block.recurrent and not block.kv_heads) or (facts.bare and block.ff):
            continue
        heads = stack.kv_heads[block.number]
        once.append(CacheLayer(block.number, heads * block.k_head, 0 if stack.mla else heads * block.v_head))
    if facts.router:
        # The engine makes a block of its own for it, behind the last; here it lies with the last (granite-switch.cpp).
        once.append(CacheLayer(count - 1, stack.blocks[-1].k_head, stack.blocks[-1].v_head))
    passes = range(loops(view.keys, count))
    return tuple(layer._replace(block=layer.block + count * number) for number in passes for layer in once)


def loops(keys: Keys, blocks: int) -> int:
    """How often the stack is run through (nanbeige.cpp)."""
    found = keys.number("num_loops", 1) or 1
    if found * blocks > MOST_BLOCKS:
        raise keys.bad("num_loops", f"{found} passes through {blocks} blocks are more than {MOST_BLOCKS}")
    return found


def _blocks_with_kv(view: View) -> int:
    count = len(view.stack.blocks)
    if view.facts.kv_blocks:
        return view.facts.kv_blocks
    shared = view.keys.number("attention.shared_kv_layers")
    if shared >= count:
        raise view.keys.bad("attention.shared_kv_layers", f"it is {shared} of {count} blocks")
    return count - shared if view.facts.shares else count


def _split(view: View, layers: tuple[CacheLayer, ...]) -> tuple[CacheShape, ...]:
    """One cache, or where there is a window the full blocks' and the windowed blocks'."""
    stack = view.stack
    if not stack.window:
        return (CacheShape("full", CONTEXT, layers),)
    windowed = stack.windowed
    full = tuple(layer for layer in layers if not windowed[layer.block % len(windowed)])
    rest = tuple(layer for layer in layers if windowed[layer.block % len(windowed)])
    return (CacheShape("full", CONTEXT, full), CacheShape("window", WINDOW, rest, (stack.window,)))


def _indexer(view: View, k: int, v: int) -> CacheShape:
    blocks = view.stack.blocks
    owners = [number for number in _indexed_blocks(view) if blocks[number].kv_heads or not blocks[number].recurrent]
    return CacheShape(INDEXER, CONTEXT, tuple(CacheLayer(number, k, v) for number in owners))


def _indexed_blocks(view: View) -> tuple[int, ...]:
    """Blocks with an indexer of their own; the others take the choice of the one before them."""
    keys, trunk, count = view.keys, view.stack.trunk, len(view.stack.blocks)
    rule = view.facts.indexes
    if rule is Indexes.TRUNK:
        return tuple(range(trunk))
    if rule is Indexes.AFTER_DENSE:
        return tuple(range(min(keys.number("leading_dense_block_count"), count), count))
    types = keys.array("attention.indexer.types", MOST_BLOCKS)
    if types is not None:
        return tuple(number for number, owns in enumerate(types[:trunk]) if owns)
    if keys.has("attention.indexer.types"):
        return tuple(range(trunk)) if keys.number("attention.indexer.types") else ()
    if rule is Indexes.GLM and keys.number("context_length") >= _GLM_LIST_FROM:
        return tuple(number for number in range(min(trunk, _GLM_LISTED)) if number < 2 or (number - 2) % 4 == 0)
    return () if rule is Indexes.TYPES else tuple(range(trunk))


def _recurrent(view: View) -> tuple[RecurrentLayer, ...]:
    facts, keys, stack = view.facts, view.keys, view.stack
    r, s = _state_sizes(view)
    history, listed = _history(keys, stack)
    return tuple(
        RecurrentLayer(block.number, r, s, history if block.number in listed else 0)
        for block in stack.blocks[: stack.trunk]
        if block.recurrent and not (facts.bare and block.ff)
    )


def _state_sizes(view: View) -> tuple[int, int]:
    """Elements of one block's convolution and scan states (`n_embd_r` and `n_embd_s`, src/llama-hparams.cpp)."""
    keys, embedding = view.keys, view.stack.embedding
    heads = view.stack.blocks[0].heads or max(block.heads for block in view.stack.blocks)
    kernel = keys.number("ssm.conv_kernel")
    if head := keys.number("wkv.head_size"):
        return keys.number("token_shift_count", 2) * embedding, embedding * head
    inner, state = keys.number("ssm.inner_size"), keys.number("ssm.state_size")
    if cache := keys.number("shortconv.l_cache"):
        return embedding * (cache - 1), state * inner
    if head := keys.number("kda.head_dim"):
        return 3 * (kernel - 1 if kernel else 3) * heads * head, head * head * heads
    r = max(kernel - 1, 0) * (inner + 2 * keys.number("ssm.group_count") * state)
    if view.facts.linear or (view.facts.upper and not state * inner):
        return r, view.stack.blocks[0].k_head ** 2 * heads
    return r, state * inner


def _history(keys: Keys, stack: Stack) -> tuple[int, tuple[int, ...]]:
    """Elements of the n-gram module's convolution history, and the blocks that have it (`ple_conv_state`, qwen4exp.cpp)."""
    listed = keys.array("ple.layers", MOST_BLOCKS) or ()
    if not listed:
        return 0, ()
    rows = max(keys.number("ple.conv_kernel") - 1, 0) * keys.number("ple.ngram_size")
    return rows * keys.number("hyper_connection.count") * stack.embedding, listed
