"""KV and recurrent bytes of a load, and what the engine would refuse. Knows no architecture: shapes say what is kept.

Rules from llama.cpp b11434: src/llama-context.cpp (cells a sequence, refusals), src/llama-kv-cache.cpp and its iswa, dsa and
dsv4 forms (cells, streams), src/llama-memory-recurrent.cpp (one state a sequence, f32).
"""

from collections.abc import Callable
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.fit.facts import DEFAULT, FACTS
from blazar.domain.fit.layout import CONTEXT, FIXED, INDEXER, OWN_CONTEXT, OWN_WINDOW, RATIO, WINDOW
from blazar.domain.fit.report import Cache, LayerBytes
from blazar.domain.fit.settings import CACHE_TYPES, Settings
from blazar.domain.fit.settings import Block as Packing
from blazar.domain.fit.shape import CacheLayer, CacheShape, ModelShape

PAD = 256
"""Cells are rounded up to this (llama-context.cpp, llama-kv-cache-iswa.cpp, llama-kv-cache-dsv4.cpp)."""

MOST_SEQUENCES = 256
"""LLAMA_MAX_SEQ (src/llama-cparams.h)."""

MOST_CELLS = 2**31 - 1
"""Positions are signed 32-bit numbers in the engine."""

_RESERVES_FOR_ONE = frozenset({"kimi-linear", "minimax-01"})
"""Architectures whose last graph is reserved as if all its tokens were one sequence's, while their caches have a stream for each
(`llama_context::sched_reserve`, src/llama-context.cpp): what is attended to is cut to whole streams and no longer adds up."""

_STATE_BYTES = 4  # recurrent state is f32
_DEFAULT_TYPE = "f16"


class _Load(NamedTuple):
    """Settings with the engine's defaults filled in. `each` is one sequence's cells."""

    each: int
    sequences: int
    unified: bool
    ubatch: int
    swa_full: bool

    @property
    def streams(self) -> int:
        return 1 if self.unified else self.sequences


def padded(cells: int) -> int:
    """`cells` rounded up as the engine does."""
    return -(-cells // PAD) * PAD


def window_cells(settings: Settings, shape: ModelShape) -> int:
    """Cells that one sequence can use: the whole context where the cache is unified, else its share, rounded up."""
    ctx = padded(settings.ctx or shape.trained_ctx)
    return ctx if settings.kv_unified else padded(ctx // max(settings.parallel, 1))


def caches(shape: ModelShape, settings: Settings) -> tuple[Cache, ...]:
    """Every cache in the engine's order, with the bytes of each block. Meaningless where `refusal` says something."""
    load = _Load(
        window_cells(settings, shape),
        max(settings.parallel, 1),
        settings.kv_unified,
        min(settings.ubatch or settings.batch, settings.batch or settings.ubatch),
        settings.swa_full,
    )
    widest = 0 if _flash(shape, settings) else _widest_value(shape)
    return tuple(_cache(cache, load, settings, 0 if cache.name == INDEXER else widest) for cache in shape.caches)


def recurrent(shape: ModelShape, settings: Settings) -> tuple[LayerBytes, ...]:
    """The state of each recurrent block over all sequences; convolution and history as `k_bytes`, scan state as `v_bytes`."""
    bytes_ = max(settings.parallel, 1) * _STATE_BYTES
    return tuple(LayerBytes(layer.block, (layer.r + layer.p) * bytes_, layer.s * bytes_) for layer in shape.recurrent)


def _cache(cache: CacheShape, load: _Load, settings: Settings, widest: int) -> Cache:
    cells, own = _CELLS[cache.cells]
    count = cells(load, cache.arguments)
    streams = load.sequences if own else load.streams
    k = CACHE_TYPES[cache.k_type or settings.cache_type_k or _DEFAULT_TYPE]
    v = CACHE_TYPES[cache.v_type or settings.cache_type_v or _DEFAULT_TYPE]
    rows = count * streams
    if cache.v_type or not any(layer.v for layer in cache.layers):
        widest = 0  # keys only, or no cache of the engine's KV class
    # Blocks repeat a handful of widths: each is counted once.
    sizes = {
        (layer.k, layer.v): (_row(k, layer.k) * rows, _row(v, max(layer.v, widest)) * rows)
        for layer in {(one.k, one.v): one for one in cache.layers}.values()
    }
    return Cache(cache.name, count, streams, tuple(_layer(layer, sizes) for layer in cache.layers))


def _layer(layer: CacheLayer, sizes: dict[tuple[int, int], tuple[int, int]]) -> LayerBytes:
    return LayerBytes(layer.block, *sizes[layer.k, layer.v])


def _row(packing: Packing, elements: int) -> int:
    """Bytes of one cell's row. The engine refuses rows that are no whole number of blocks; rounding up keeps bounds bounds."""
    return -(-elements // packing.elements) * packing.bytes


def _context(load: _Load, _: tuple[int, ...]) -> int:
    return load.each


def _window(load: _Load, arguments: tuple[int, ...]) -> int:
    """The window of every sequence that shares the stream and one micro-batch; `swa_full` keeps all."""
    sharing = load.sequences if load.unified else 1
    return _windowed(load, arguments[0] * sharing)


def _own_window(load: _Load, arguments: tuple[int, ...]) -> int:
    return _windowed(load, arguments[0])


def _windowed(load: _Load, window: int) -> int:
    return load.each if load.swa_full else padded(min(load.each, window + load.ubatch))


def _ratio(load: _Load, arguments: tuple[int, ...]) -> int:
    return padded(max(1, -(-load.each // arguments[0])))


def _fixed(_: _Load, arguments: tuple[int, ...]) -> int:
    return arguments[0]


_CELLS: dict[str, tuple[Callable[[_Load, tuple[int, ...]], int], bool]] = {
    CONTEXT: (_context, False),
    WINDOW: (_window, False),
    OWN_CONTEXT: (_context, True),
    OWN_WINDOW: (_own_window, True),
    RATIO: (_ratio, True),
    FIXED: (_fixed, True),
}
"""Rule of a cache's cells, and whether each sequence has a stream of its own even where the cache is unified."""


def _flash(shape: ModelShape, settings: Settings) -> bool:
    return settings.flash_attention and FACTS.get(shape.arch, DEFAULT).flash


def _widest_value(shape: ModelShape) -> int:
    """Without flash attention values lie transposed, and every block has the widest one's, even one without heads.

    Source: the constructor of llama_kv_cache (src/llama-kv-cache.cpp).
    """
    return max((block.kv_heads * block.v_head for block in shape.blocks), default=0)


def refusal(shape: ModelShape, settings: Settings) -> str | None:
    """Why the engine would not take these settings for this model, as a sentence that names the setting to change; or None.

    Sources: `llama_init_from_model` and the constructor of `llama_context` (src/llama-context.cpp), and ggml's demand that a
    row be a whole number of its type's blocks (ggml.c).
    """
    if sentence := types_unknown(settings):
        return sentence
    for check in (_context_given, _sequences, _same_types, _value_type, _head_widths, _row_widths):
        if sentence := check(shape, settings):
            return sentence
    return None


def aborts(shape: ModelShape, settings: Settings) -> str | None:
    """What llama-server would end itself over, although its memory can be counted, as a sentence; or None.

    `memory` counts such loads, since the engine's own library allocates them; a plan refuses them. Measured with b11434.
    """
    for check in (_batch_for_all, _two_at_once, _whole_streams):
        if sentence := check(shape, settings):
            return sentence
    return None


def _batch_for_all(_: ModelShape, settings: Settings) -> str | None:
    """Every sequence has a row of logits, and there are at most as many as `--batch-size` has tokens.

    Sources: `output_reserve` (src/llama-context.cpp), server_output_limits (tools/server/server-context.cpp).
    """
    short = 0 < settings.batch < settings.parallel
    return teaching.batch_below_slots(settings.batch, settings.parallel) if short else None


def _two_at_once(shape: ModelShape, settings: Settings) -> str | None:
    """A model that keeps anything is decoded two tokens on trial (common_context_can_seq_rm, common/common.cpp)."""
    if not shape.caches and not shape.recurrent:
        return None
    if settings.batch == 1:
        return teaching.one_token_at_once("batch_size")
    return teaching.one_token_at_once("ctx") if shape.causal and settings.ctx == 1 else None


def _whole_streams(shape: ModelShape, settings: Settings) -> str | None:
    """The last block is spared: only rows with logits are left there before anything is added."""
    slots = max(settings.parallel, 1)
    if settings.kv_unified or shape.arch not in _RESERVES_FOR_ONE:
        return None
    sizes = (settings.ctx or shape.trained_ctx, settings.batch, settings.ubatch)
    tokens = min(size for size in sizes if size)
    last = len(shape.blocks) - shape.nextn - 1
    attends = any(layer.block < last for cache in shape.caches for layer in cache.layers)
    return teaching.slots_do_not_divide(shape.arch, tokens, slots) if attends and tokens % slots else None


def types_unknown(settings: Settings) -> str | None:
    """The first cache type that nobody knows, as `refusal` says it; `settings` as they were given, each key with its own value."""
    for name, kind in (("cache_type_k", settings.cache_type_k), ("cache_type_v", settings.cache_type_v)):
        if kind and kind not in CACHE_TYPES:
            return teaching.cache_type_unknown(name, kind, tuple(CACHE_TYPES))
    return None


def _context_given(shape: ModelShape, settings: Settings) -> str | None:
    ctx = settings.ctx or shape.trained_ctx
    if ctx <= 0:
        return teaching.no_context()
    if ctx > MOST_CELLS:
        return teaching.context_too_large(ctx, MOST_CELLS)
    return None


def _sequences(_: ModelShape, settings: Settings) -> str | None:
    if settings.parallel > MOST_SEQUENCES:
        return teaching.too_many_sequences(settings.parallel, MOST_SEQUENCES)
    return None


def _same_types(shape: ModelShape, settings: Settings) -> str | None:
    k, v = _types(settings)
    if k != v and _keys_only(shape):
        return teaching.cache_types_differ(shape.arch, k, v)
    return None


def _value_type(shape: ModelShape, settings: Settings) -> str | None:
    _, v = _types(settings)
    if CACHE_TYPES[v].elements == 1 or _flash(shape, settings):
        return None
    if settings.flash_attention:
        return teaching.cache_type_needs_flash_never(shape.arch, v)
    return teaching.cache_type_needs_flash(v)


def _head_widths(shape: ModelShape, settings: Settings) -> str | None:
    """With flash attention every head of the trunk must be a whole number of blocks."""
    if not _flash(shape, settings):
        return None
    k, v = _types(settings)
    trunk = shape.blocks[: len(shape.blocks) - shape.nextn]
    for setting, kind, widths in (
        ("cache_type_k", k, {block.k_head for block in trunk}),
        ("cache_type_v", v, {block.v_head for block in trunk}),
    ):
        if wrong := [width for width in sorted(widths) if width % CACHE_TYPES[kind].elements]:
            return teaching.cache_type_width(setting, kind, wrong[0], CACHE_TYPES[kind].elements)
    return None


def _row_widths(shape: ModelShape, settings: Settings) -> str | None:
    """Whatever attention is used, no row can end inside a block."""
    k, v = _types(settings)
    for cache in shape.caches:
        for layer in set(cache.layers):
            if not cache.k_type and layer.k % CACHE_TYPES[k].elements:
                return teaching.cache_type_width("cache_type_k", k, layer.k, CACHE_TYPES[k].elements)
            if not cache.v_type and layer.v % CACHE_TYPES[v].elements:
                return teaching.cache_type_width("cache_type_v", v, layer.v, CACHE_TYPES[v].elements)
    return None


def _types(settings: Settings) -> tuple[str, str]:
    return settings.cache_type_k or _DEFAULT_TYPE, settings.cache_type_v or _DEFAULT_TYPE


def _keys_only(shape: ModelShape) -> bool:
    return shape.mla or FACTS.get(shape.arch, DEFAULT).keys_only
