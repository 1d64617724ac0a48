"""What each layer of one load brings along, summed up. Knows no device; `placement` cuts the sums where devices meet.

Layers are counted as llama.cpp b11434 counts them (src/llama-model.cpp, `load_tensors`): blocks 0 to n-1, then the output layer
as number n. A device's part is a difference of two prefix sums, and the farthest layer that it can take one bisection.

A plan tries many windows and types. Weights depend on neither, so that they are weighed and summed up once for a shape and what
moves tensors (`standing`); a cache's bytes are as many rows as it has cells, of a width that only the types change (`_widths`).
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import NamedTuple

from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.compute import compute_bytes, served_outputs
from blazar.domain.fit.compute_geometry import Same, geometry
from blazar.domain.fit.demand import memory
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.weights import Weights, weigh

Sums = list[int]
"""Shared between bills: never changed."""


class Standing(NamedTuple):
    """What of a bill is the same for every window, slot and cache type. `largest` is the largest tensor of a block."""

    total: int
    weights: Sums
    stays: Sums
    packs: Sums
    packs_stay: Sums
    nothing: Sums
    input: int
    tied: int
    elsewhere: tuple[tuple[str, int], ...]
    largest: int


class Bill(NamedTuple):
    """Prefix sums over the blocks and the output layer: entry i is the sum below layer i, the last one all of it. Bytes.

    `moving` is everything that follows a layer to its device; `stays` are weights of its block that never leave the host.
    `tied` of the output's weights exist only where the output lies on a device. `packs` and `packs_stay` are the parts of `weights`
    and `stays` that the CPU backend repacks. `largest` is the largest tensor of a block.
    """

    layers: int
    weights: Sums
    stays: Sums
    kv: Sums
    recurrent: Sums
    lora: Sums
    moving: Sums
    input: int
    tied: int
    elsewhere: tuple[tuple[str, int], ...]
    projector: int
    draft: int
    packs: Sums
    packs_stay: Sums
    largest: int


def standing(shape: ModelShape, settings: Settings) -> Standing:
    """What weighs the same whatever the window. Raises `Malformed` for an `override_tensor` pattern that cannot be read."""
    moved = Settings(
        cpu_moe_n=settings.cpu_moe_n,
        cpu_ffn_n=settings.cpu_ffn_n,
        override_tensor=settings.override_tensor,
        tensor_preset=settings.tensor_preset,
    )
    return _standing(Same(shape), moved)


@lru_cache(maxsize=64)
def _standing(key: Same, settings: Settings) -> Standing:
    shape = key.shape
    count, one = layers(shape), _weighed(key, settings)
    return Standing(
        total=one.total,
        weights=_sums(count, ((part.block, part.offloaded) for part in one.blocks), one.output),
        stays=_sums(count, ((part.block, part.host) for part in one.blocks)),
        packs=_sums(count, ((part.block, part.packed) for part in one.blocks), one.packed),
        packs_stay=_sums(count, ((part.block, part.packed_host) for part in one.blocks)),
        nothing=[0] * (count + 2),
        input=one.input,
        tied=one.tied,
        elsewhere=one.elsewhere,
        largest=max((tensor.bytes for tensor in shape.tensors if tensor.name.startswith("blk.")), default=0),
    )


@lru_cache(maxsize=64)
def _weighed(key: Same, settings: Settings) -> Weights:
    """`weigh`, for any number of blocks whose experts stay with the host from none and all of them: a search tries many."""
    shape, held = key.shape, settings.cpu_moe_n
    if settings.override_tensor or settings.tensor_preset or not 0 < held < len(shape.blocks):
        return weigh(shape, settings)
    none, every = (_weighed(key, replace(settings, cpu_moe_n=count)) for count in (0, len(shape.blocks)))
    return replace(none, blocks=every.blocks[:held] + none.blocks[held:])


def layers(shape: ModelShape) -> int:
    """Layers below the output, as the engine counts them: a stack that is run through several times has each pass's (nanbeige.cpp)."""
    return len(shape.blocks) * max(shape.loops, 1)


def draw_up(shape: ModelShape, settings: Settings) -> Bill:
    """One load by layer.

    A stack that is run through several times has its weights with the first pass. Adapters lie beside the tensors that they
    change; which these are, a file's size does not say: all alike.
    """
    count, same = layers(shape), standing(shape, settings)
    kv = same.nothing
    for cache, widths in zip(
        caches(geometry(Same(shape)).hollow, settings), _widths(Same(shape), _types(settings)), strict=True
    ):
        rows = cache.cells * cache.streams
        kv = [sum_ + rows * width for sum_, width in zip(kv, widths, strict=True)]
    state = same.nothing
    if shape.recurrent:
        state = _sums(count, ((layer.block, layer.bytes) for layer in recurrent(shape, settings)))
    lora = same.nothing
    if adapters := sum(settings.lora_bytes):
        lora = [adapters * layer // (count + 1) for layer in range(count + 2)]
    moving = same.weights
    for sums in (lora, kv, state) if settings.kv_offload else (lora,):
        if sums[-1]:
            moving = list(map(add, moving, sums))
    projector, draft = settings.projector, settings.draft
    return Bill(
        layers=count,
        weights=same.weights,
        stays=same.stays,
        kv=kv,
        recurrent=state,
        lora=lora,
        moving=moving,
        input=same.input,
        tied=same.tied,
        elsewhere=same.elsewhere,
        projector=projector.weights_bytes + projector.compute_bytes if projector else 0,
        draft=_drafting(Same(draft.shape), draft.settings) if draft else 0,
        packs=same.packs,
        packs_stay=same.packs_stay,
        largest=same.largest,
    )


@lru_cache(maxsize=64)
def _drafting(key: Same, settings: Settings) -> int:
    """Bytes of a draft, whose logits are one row a slot (common/speculative.cpp)."""
    counted = memory(key.shape, settings)
    served = compute_bytes(key.shape, settings, outputs=served_outputs(settings) if key.shape.causal else 0)
    return counted.total_bytes - counted.compute_bytes + served


def _types(settings: Settings) -> Settings:
    """What the width of a row depends on, in the smallest window there is."""
    return Settings(
        ctx=1,
        parallel=1,
        cache_type_k=settings.cache_type_k,
        cache_type_v=settings.cache_type_v,
        flash_attention=settings.flash_attention,
    )


@lru_cache(maxsize=256)
def _widths(key: Same, settings: Settings) -> tuple[Sums, ...]:
    """For each cache the bytes of one cell of one stream, summed up over layers."""
    shape, count = key.shape, layers(key.shape)
    return tuple(
        _sums(count, ((layer.block, layer.bytes // max(one.cells * one.streams, 1)) for layer in one.layers))
        for one in caches(shape, settings)
    )


def _sums(count: int, parts: Iterable[tuple[int, int]], output: int = 0) -> Sums:
    values = [0] * count
    for block, size in parts:
        values[block] += size
    values.append(output)
    return list(accumulate(values, initial=0))
