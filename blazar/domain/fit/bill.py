"""What each layer of one load brings along, summed up. Knows no device; `placement` cuts the sums where devices meet.

Layers are counted as llama.cpp b11434 counts them (src/llama-model.cpp, `load_tensors`): blocks 0 to n-1, then the output layer
as number n. A device's part is a difference of two prefix sums, and the farthest layer that it can take one bisection.
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.demand import memory
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.weights import Weights

Sums = list[int]


class Bill(NamedTuple):
    """Prefix sums over the blocks and the output layer: entry i is the sum below layer i, the last one all of it. Bytes.

    `moving` is everything that follows a layer to its device; `stays` are weights of its block that never leave the host.
    `tied` of the output's weights exist only where the output lies on a device. `packs` and `packs_stay` are the parts of `weights`
    and `stays` that the CPU backend repacks.
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


def draw_up(shape: ModelShape, settings: Settings, weights: Weights) -> Bill:
    """One load by layer; `weights` is what `weigh` says of the same shape and settings.

    A stack that is run through several times has as many layers in the engine's count (src/models/nanbeige.cpp); its weights
    lie with the first pass. Adapters lie beside the tensors that they change; which these are, a file's size does not say: all
    alike.
    """
    count = len(shape.blocks) * max(shape.loops, 1)
    own = _sums(count, ((part.block, part.offloaded) for part in weights.blocks), weights.output)
    kv = _sums(count, ((layer.block, layer.bytes) for cache in caches(shape, settings) for layer in cache.layers))
    state = _sums(count, ((layer.block, layer.bytes) for layer in recurrent(shape, settings)))
    adapters = sum(settings.lora_bytes)
    lora = [adapters * layer // (count + 1) for layer in range(count + 2)]
    follows = (own, lora, kv, state) if settings.kv_offload else (own, lora)
    projector, draft = settings.projector, settings.draft
    return Bill(
        layers=count,
        weights=own,
        stays=_sums(count, ((part.block, part.host) for part in weights.blocks)),
        kv=kv,
        recurrent=state,
        lora=lora,
        moving=[sum(parts) for parts in zip(*follows, strict=True)],
        input=weights.input,
        tied=weights.tied,
        elsewhere=weights.elsewhere,
        projector=projector.weights_bytes + projector.compute_bytes if projector else 0,
        draft=memory(draft.shape, draft.settings).total_bytes if draft else 0,
        packs=_sums(count, ((part.block, part.packed) for part in weights.blocks), weights.packed),
        packs_stay=_sums(count, ((part.block, part.packed_host) for part in weights.blocks)),
    )


def _sums(count: int, parts: Iterable[tuple[int, int]], output: int = 0) -> Sums:
    values = [0] * count
    for block, size in parts:
        values[block] += size
    values.append(output)
    return list(accumulate(values, initial=0))
