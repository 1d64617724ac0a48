"""How much a load computes with: the peak of ggml-alloc's live tensors, as the largest of a few sums. Lays out no tensor.

llama.cpp reserves its compute buffers once, for the largest graph (llama_context::sched_reserve, src/llama-context.cpp, b11434):
one micro-batch, all sequences in it, every cache full. `compute_facts` says what is alive together, `compute_geometry` how wide
that is in each block; here those crowds are costed for one load, and the largest of them is the buffer.

Bounds, not layouts: more of anything never costs less, although the engine's own best fit can need less with more context (a
freed mask may take the logits in). Measured on the CPU backend: every row of the fixture, and models of published sizes, within
a few percent. What is off by more is where best fit leaves holes of a size of its own: graphs that pick cells by an indexer
(glm5-next 14 % below to 14 % above, qwen4exp, hy_v4 and deepseek4 up to 13 %), logits as large as the mask (jamba-3b 9 % above),
and micro-batches that are no multiple of their sequences. Between devices it was measured with RPC ones, which split graphs as
GPUs do; not measured are a GPU's own alignment (128 bytes a tensor) and its backend's pools, which are no part of this buffer.
"""

from functools import lru_cache
from typing import NamedTuple

from blazar.domain.fit.caches import caches, padded
from blazar.domain.fit.compute_geometry import F16, F32, PARTS, Geometry, Same, geometry
from blazar.domain.fit.facts import DEFAULT, FACTS
from blazar.domain.fit.report import Cache
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape

PIPELINE_COPIES = 4
"""GGML_SCHED_MAX_COPIES (ggml/src/ggml-backend.cpp): every input is kept so often where several devices share a model."""

_IDS = 64
"""Bytes a token for token ids, positions (four of them with M-RoPE), cache rows, output rows."""

_ROW_IDS = 8
"""Bytes of an index. Without flash attention values are kept turned, and every element of a new one has its own (build_input_v_idxs)."""

_HOLE = 0.5
"""The part of the logits up to which the hole that the last mask leaves is counted as lost to them. A mask larger than the
logits takes them in, a smaller one does not: the engine's own figure falls where one outgrows the other, and a figure that never
falls cannot follow it on both sides (measured: 217 MiB with a mask of half the logits, 203 MiB with one of their size)."""

_ZEROS = 0.8
"""The same for the zeros of an indexer's choices, which are more than the logits in deep models."""

_TAIL = 3
"""Hidden rows between the mask and the logits: those of the last block that best fit has left below them."""

_POOL_PAD = 256
"""Cells by which a pooled indexer's choice of all sequences is padded (glm5-next.cpp, qwen4exp.cpp)."""


class Held(NamedTuple):
    """What lies on a device: blocks from `start` up to `stop`, and the output layer; `copies` of its inputs (0: they are made here)."""

    start: int
    stop: int
    output: bool
    copies: int


class Amounts(NamedTuple):
    """What one load multiplies coefficients with. `plain` as in `Part`; the caches' parts stand in the shape's order."""

    outputs: int
    plain: tuple[int, ...]
    grids: tuple[int, ...]  # cells of a stream times tokens, twice where masks are f32
    scores: tuple[int, ...]  # cells of a stream times tokens without flash attention, else 0
    keys: tuple[int, ...]  # cells of all streams where keys are f32, else 0
    values: tuple[int, ...]


class Sum(NamedTuple):
    """Bytes for each unit of `Amounts`: of `plain`, of `grids`, and of the one cache that is copied (-1: none)."""

    plain: tuple[int, ...]
    grids: tuple[int, ...]
    cache: int = -1
    key: int = 0
    value: int = 0
    heads: int = 0


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
    held = _dot(made.masks, load.grids) + _IDS * load.plain[0] + F16 * made.uncached * load.plain[2]
    held += _ROW_IDS * made.turned * load.plain[-1]
    rows = F32 * made.inputs * load.plain[0]
    most = copies * (held + made.input_rows * rows) + 2 * rows + F32 * made.extra * load.plain[0]
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
    sums, tail = _sums(key, held)
    most = 0
    for one in sums:
        size = _dot(one.plain, load.plain) + _dot(one.grids, load.grids)
        if one.cache >= 0:
            at = one.cache
            size += one.key * load.keys[at] + one.value * load.values[at] + one.heads * load.scores[at]
        most = max(most, size)
    if tail is not None:
        logits = made.logits * key.shape.vocabulary * load.outputs * F32
        hole = _dot(tail.grids, load.grids)
        zeros = min(PARTS * sum(made.waits[held.start : held.stop]) * load.plain[3], int(_ZEROS * logits))
        if held.copies < 2:
            # Without rows of images nothing lies above the last mask, and the logits take its place whatever their size.
            hole = min(hole, int(_HOLE * logits) // made.logits) if made.input_rows > 1 else 0
        most = max(most, _dot(tail.plain, load.plain) + logits + hole + zeros)
    return most


def _dot(coefficients: tuple[int, ...], amounts: tuple[int, ...]) -> int:
    return sum(map(int.__mul__, coefficients, amounts))


@lru_cache(maxsize=512)
def _sums(key: Same, held: Held) -> tuple[tuple[Sum, ...], Sum | None]:
    """Every sum that can be the largest there, and what is alive beside the logits (None: there are none)."""
    made = geometry(key)
    start, stop, output, copies = held
    crossing = max(made.crossing[max(start, 0) : stop], default=0)
    uncached = F16 * made.uncached * max(copies, 1)
    resident = (
        _resident(made, start <= 0, copies, crossing),
        0,
        uncached,
        *(0,) * 10,
        _ROW_IDS * made.turned * max(copies, 1),
    )
    found = set()
    for number in range(max(start, 0), min(stop, len(made.parts))):
        for part in made.parts[number]:
            masks = _masks(made, number + part.after, stop, copies)
            waiting = PARTS * sum(made.waits[number + part.after : stop])
            plain = tuple(map(int.__add__, resident, part.plain))
            plain = (*plain[:3], plain[3] + waiting, *plain[4:])
            found.add(Sum(plain, masks, part.cache, part.key, part.value, part.heads))
    if not copies:
        # Rows of tokens, of images, and their mixture are all there before the first block.
        first = (resident[0] + F32 * (3 * made.inputs + 2 * made.extra), *resident[1:])
        found.add(Sum(first, _masks(made, 0, stop, copies)))
    if not output or not made.logits:
        return _largest(found), None
    if copies == 1 and start > 0:
        # Nothing of the input rows is left here: the logits find the buffer empty but for the last rows.
        return _largest(found), Sum((F32 * _TAIL * made.hidden + _IDS, *resident[1:]), (0,) * len(made.masks))
    beside = (resident[0] + F32 * (1 + _TAIL) * made.hidden, *resident[1:])
    return _largest(found), Sum(beside, _masks(made, start, stop, copies) if stop > start else (0,) * len(made.masks))


def _largest(found: set[Sum]) -> tuple[Sum, ...]:
    """Without those that another is never below, whatever the load."""
    return tuple(one for one in found if not any(_covers(other, one) for other in found if other is not one))


def _covers(other: Sum, one: Sum) -> bool:
    if one.cache not in (-1, other.cache):
        return False
    here, there = ((*two.plain, *two.grids, two.key, two.value, two.heads) for two in (one, other))
    return all(map(int.__le__, here, there))


def _resident(made: Geometry, first: bool, copies: int, crossing: int) -> int:
    """Bytes a token that stay from the first block to the last (build_inp_embd; passes 5 and 6 of the scheduler's splitting).

    A device is handed the residual rows and their norm by the one before it, or the input rows by the host; what it was handed
    is freed once read, unless there are several copies of it.
    """
    if not copies:
        return F32 * (made.input_rows * made.inputs + made.extra) + _IDS
    if copies == 1:
        return F32 * max(made.stream, made.inputs) + _IDS
    handed = 2 * made.stream + crossing
    if first:
        rows = 3 * made.inputs + made.extra if made.input_rows > 1 else made.inputs
        return F32 * (copies * max(handed, rows + crossing // 2) + made.inputs) + _IDS * copies
    return (F32 * handed + _IDS) * copies


def _masks(made: Geometry, number: int, stop: int, copies: int) -> tuple[int, ...]:
    """Bytes a cell and token of the masks that block `number` or a later one on this device still reads. Copies stay."""
    if copies > 1:
        return tuple(mask * copies for mask in made.masks)
    return tuple(mask if min(last, stop - 1) >= number else 0 for mask, last in zip(made.masks, made.last, strict=True))


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
    return Amounts(
        asked if made.all_outputs else min(outputs or asked, asked),
        (
            tokens,
            sequences,
            tokens * tokens,
            *_indexed(made, kept, tokens, sequences, flash),
            0 if flash else tokens * (tokens if made.uncached else kept[made.indexer].cells if made.beside >= 0 else 0),
            0 if flash else tokens,
        ),
        grids if flash else tuple(2 * grid for grid in grids),
        none if flash else grids,
        _wide(kept, [cache.k_type or settings.cache_type_k for cache in shape.caches]) if flash else none,
        _wide(kept, [cache.v_type or settings.cache_type_v for cache in shape.caches]) if flash else none,
    )


def _wide(kept: tuple[Cache, ...], types: list[str]) -> tuple[int, ...]:
    """Cells of all streams of the f32 caches, which flash attention reads as f16 copies (build_attn_mha)."""
    return tuple(cache.cells * cache.streams if kind == "f32" else 0 for cache, kind in zip(kept, types, strict=True))


def _indexed(made: Geometry, kept: tuple[Cache, ...], tokens: int, sequences: int, flash: bool) -> tuple[int, ...]:
    """An indexer's part of `plain`.

    Cells picked, picked of one sequence, scored, pools, cells of all sequences, cells of one sequence by its own tokens, cells of
    a window beside compressed ones, each times the tokens and in `PARTS`; then cells of all sequences, and joined ones, once.
    """
    if made.indexer < 0:
        return (0,) * 9
    cells = kept[made.indexer].cells
    if made.by_blocks:
        # A unified cache of several sequences, or no flash attention, and nothing is picked.
        apart = flash and kept[made.indexer].streams == sequences
        own = cells * -(-tokens // sequences) // PARTS
        return (0, 0, cells * tokens // PARTS, 0, 0, own, 0, 0, 0) if apart else (0,) * 9
    every = cells * sequences if made.pool else cells
    pad = _POOL_PAD if made.pool else 0
    most = made.top or every + pad
    pools = every // made.pool + _POOL_PAD if made.pool else 0
    beside = kept[made.beside].cells if made.beside >= 0 else 0
    counts = (min(every + pad, most), min(cells + pad, most), cells, pools, every + pad, 0, beside)
    return (*(count * tokens // PARTS for count in counts), every, (beside + cells) * sequences if beside else 0)
