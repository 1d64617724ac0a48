"""How much a load computes with: the peak of ggml-alloc's live tensors, as the largest of a few sums. Lays out no tensor.

llama.cpp reserves its compute buffers once, for the largest graph (llama_context::sched_reserve, src/llama-context.cpp, b11434):
one micro-batch, all sequences in it, every cache full. `compute_facts` says what is alive together, `compute_geometry` how wide
that is in each block; here those crowds are costed for one load, and the largest of them is the buffer.

Bounds, not layouts: more of anything never costs less, although the engine's own best fit can need less with more context (a
freed mask may take the logits in). Two exceptions. Where an indexer picks whole blocks of cells, sequences are masked one after
another, and more of them need less, or nothing where they share a stream (minimax-m3.cpp). And a part of a model can need more
than all of it where its blocks read masks or caches of blocks elsewhere (minimax-m3, gemma3n, gemma4): each has its own copy.

Measured on the CPU backend: both fixtures of the tests, figures with logits for all tokens and as llama-server reserves them,
and beside them models of published sizes with f32 caches, large micro-batches and without flash attention. Nearly all are within
15 %, and none that is in a fixture is missed by more than 10 % and 4 MiB from below. What is off by more is where best fit leaves
holes of a size of its own: logits about as large as the masks below them (up to 17 % below), logits above the zeros of a deep
model's indexer (up to 50 % above), several sequences of a model with decay between tokens (minimax-01: up to 57 % above, as one
sequence needs that), f32 caches of latent attention (13 % below). Between devices it was measured with RPC ones, which split
graphs as GPUs do; not measured are a GPU's own alignment (128 bytes a tensor) and its backend's pools, which are no part of this
buffer.
"""

from typing import NamedTuple

from blazar.domain.fit.caches import caches, padded
from blazar.domain.fit.compute_geometry import Geometry, Same, geometry
from blazar.domain.fit.compute_sums import IDS, ROW_IDS, Held, Sum, sums, waiting
from blazar.domain.fit.compute_units import F16, F32, PARTS, Units
from blazar.domain.fit.facts import DEFAULT, FACTS
from blazar.domain.fit.report import Cache
from blazar.domain.fit.settings import CACHE_TYPES, Settings
from blazar.domain.fit.shape import ModelShape

PIPELINE_COPIES = 4
"""GGML_SCHED_MAX_COPIES (ggml/src/ggml-backend.cpp): every input is kept so often where several devices share a model."""

_HOLE = 0.5
"""The part of the logits up to which the hole that the last mask leaves is counted as lost to them. A mask larger than the
logits takes them in, a smaller one does not: the engine's own figure falls where one outgrows the other, and a figure that never
falls cannot follow it on both sides (measured: 217 MiB with a mask of half the logits, 203 MiB with one of their size)."""

_ZEROS = 0.8
"""The same for the zeros of an indexer's choices, which are more than the logits in deep models."""

_TYPE = "f16"

_POOL_PAD = 256
"""Cells by which a pooled indexer's choice of all sequences is padded (glm5-next.cpp, qwen4exp.cpp)."""


class Amounts(NamedTuple):
    """What one load multiplies coefficients with. The caches' parts stand in the shape's order."""

    outputs: int
    plain: Units
    grids: tuple[int, ...]  # cells of a stream times tokens, twice where masks are f32
    scores: tuple[int, ...]  # cells of a stream times tokens without flash attention, else 0
    keys: tuple[int, ...]  # cells of all streams where keys are f32, else 0
    values: tuple[int, ...]
    lent: tuple[int, ...]  # bytes of an element of every cell of all streams, of keys and of values


def compute_bytes(shape: ModelShape, settings: Settings, *, outputs: int = 0) -> int:
    """Bytes of the one compute buffer where the whole model lies on one device (the engine's CPU backend).

    `outputs` is how many tokens of a micro-batch have logits (0: all, as llama-fit-params and llama-bench reserve;
    llama-server reserves fewer: see `served_outputs`). Settings that the engine would refuse have no meaning here; a cache type
    that nobody knows is a KeyError.
    """
    return _peak(Same(shape), settings, Held(0, len(shape.blocks), True, 0), outputs)


def compute_on(
    shape: ModelShape,
    settings: Settings,
    blocks: range,
    output: bool,
    *,
    copies: int = 1,
    outputs: int = 0,
) -> int:
    """Bytes of one device's compute buffer: that device holds `blocks`, and the output layer if `output`.

    Its inputs (masks, positions, the rows that it is handed) are copied to it, `copies` times: `PIPELINE_COPIES` where several
    devices hold all of a model between them, layer by layer, and nothing is overridden. Not counted: the largest matrix that the
    host keeps but has this device multiply with, which is copied over for each product (`op_offload`).
    """
    if not len(blocks) and not output:
        return 0
    return _peak(Same(shape), settings, Held(blocks.start, blocks.stop, output, max(copies, 1)), outputs)


def compute_host(
    shape: ModelShape, settings: Settings, *, blocks: range = range(0), copies: int = 1, outputs: int = 0
) -> int:
    """Bytes of the host's compute buffer where devices hold the output layer and all but the first `blocks`.

    Token rows, both kinds of input rows, and masks lie with the host in any case, `copies` as in `compute_on`.
    """
    made = geometry(Same(shape))
    load = _amounts(made, settings, outputs)
    held = _dot(made.masks, load.grids) + IDS * load.plain.tokens + F16 * made.uncached * load.plain.squares
    held += ROW_IDS * made.turned * load.plain.turned + F32 * made.decaying * load.plain.squares
    rows = F32 * made.inputs * load.plain.tokens
    most = copies * (held + made.input_rows * rows) + 2 * rows + F32 * made.extra * load.plain.tokens
    if not len(blocks):
        return most
    return max(most, _peak(Same(shape), settings, Held(0, blocks.stop, False, 0), outputs))


def served_outputs(settings: Settings, drafted: int = 0) -> int:
    """Tokens of a micro-batch for which llama-server reserves logits: one a sequence, `drafted` more where it speculates.

    Source: server_output_limits (tools/server/server-context.cpp). Not for `--embedding`, which reserves them all.
    """
    return max(settings.parallel, 1) * (1 + drafted)


def _peak(key: Same, settings: Settings, held: Held, outputs: int) -> int:
    made = geometry(key)
    load = _amounts(made, settings, outputs)
    crowds, tail = sums(key, held)
    most = 0
    for one in crowds:
        size = _dot(one.plain, load.plain) + _dot(one.grids, load.grids)
        if one.cache >= 0:
            at = one.cache
            size += one.key * load.keys[at] + one.value * load.values[at] + one.heads * load.scores[at]
        if any(one.lent):
            size += _dot(one.lent, load.lent)
        most = max(most, size)
    return most if tail is None else max(most, _with_logits(made, held, load, tail))


def _with_logits(made: Geometry, held: Held, load: Amounts, tail: Sum) -> int:
    """The logits above what is alive beside them, and above the holes that they do not fit in."""
    row = made.hollow.vocabulary * load.outputs * F32
    hole = _dot(tail.grids, load.grids) + (_dot(tail.lent, load.lent) if any(tail.lent) else 0)
    if held.copies < 2:
        # Without rows of images nothing lies above the last mask, and the logits take its place whatever their size.
        hole = min(hole, int(_HOLE * row)) if made.input_rows > 1 else 0
    zeros = min(_dot(waiting(made, held, held.start), load.plain), int(_ZEROS * row))
    return _dot(tail.plain, load.plain) + made.logits * row + hole + zeros


def _dot(coefficients: tuple[int, ...], amounts: tuple[int, ...]) -> int:
    return sum(map(int.__mul__, coefficients, amounts))


def _amounts(made: Geometry, settings: Settings, outputs: int) -> Amounts:
    """Tokens: one micro-batch, no longer than batch or context, rounded up to whole sequences (graph_reserve)."""
    shape = made.hollow
    sequences = max(settings.parallel, 1)
    ubatch = min(settings.ubatch or settings.batch, settings.batch or settings.ubatch)
    ctx = settings.ctx or shape.trained_ctx
    asked = max(min(ubatch, ctx if shape.causal else padded(ctx)), 1)
    # Rounding up falls again at the next divisor; one sequence short of a whole round more never does.
    tokens = asked + sequences - 1
    kept = caches(shape, settings)
    flash = settings.flash_attention and FACTS.get(shape.arch, DEFAULT).flash and not made.biased
    grids = tuple(cache.cells * tokens for cache in kept)
    none = (0,) * len(kept)
    keys = [cache.k_type or settings.cache_type_k or _TYPE for cache in shape.caches]
    values = [cache.v_type or settings.cache_type_v or _TYPE for cache in shape.caches]
    plain = Units(tokens, sequences, tokens * tokens, turned=0 if flash else tokens)
    return Amounts(
        asked if made.all_outputs else min(outputs or asked, asked),
        plain.plus(_indexed(made, kept, plain)),
        grids if flash else tuple(2 * grid for grid in grids),
        none if flash else grids,
        _wide(kept, keys) if flash else none,
        _wide(kept, values) if flash else none,
        _elements(kept, keys, values) if any(made.borrowed) else (),
    )


def _wide(kept: tuple[Cache, ...], types: list[str]) -> tuple[int, ...]:
    """Cells of all streams of the f32 caches, which flash attention reads as f16 copies (build_attn_mha)."""
    return tuple(cache.cells * cache.streams if kind == "f32" else 0 for cache, kind in zip(kept, types, strict=True))


def _elements(kept: tuple[Cache, ...], keys: list[str], values: list[str]) -> tuple[int, ...]:
    """Bytes of one element of every cell of all streams: of each cache's keys, then of its values."""
    return tuple(
        cache.cells * cache.streams * CACHE_TYPES[kind].bytes // CACHE_TYPES[kind].elements
        for cache, *kinds in zip(kept, keys, values, strict=True)
        for kind in kinds
    )


def _indexed(made: Geometry, kept: tuple[Cache, ...], load: Units) -> Units:
    """What an indexer adds to a load, and what attention without a cache does, where there is no flash attention."""
    bare = load.turned * load.tokens if made.uncached else 0
    if made.indexer < 0:
        return Units(bare=bare)
    tokens, sequences = load.tokens, load.sequences
    cells, streams = kept[made.indexer].cells, kept[made.indexer].streams
    if made.by_blocks:
        # Without flash attention, or where several sequences share a stream, nothing is picked.
        if load.turned or streams != sequences:
            return Units()
        return Units(scored=cells * tokens // PARTS, apart=cells * -(-tokens // sequences) // PARTS)
    every = cells * sequences if made.pool else cells
    pad = _POOL_PAD if made.pool else 0
    most = made.top or every + pad
    beside = kept[made.beside].cells if made.beside >= 0 else 0
    return Units(
        picked=min(every + pad, most) * tokens // PARTS,
        alone=min(cells + pad, most) * tokens // PARTS,
        scored=cells * tokens // PARTS,
        pools=(every // made.pool + pad) * tokens // PARTS if made.pool else 0,
        spread=(every + pad) * tokens // PARTS,
        beside=beside * tokens // PARTS,
        every=every,
        joined=(beside + cells) * sequences if beside else 0,
        bare=load.turned * cells if beside else bare,
    )
