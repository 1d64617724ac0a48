"""SGLang's memory ladder: how many cards, which share of each, 8-bit cache, weights in main memory. Counts; says no word.

Rungs in order: one card, the fewest ranks that fit, the same with a cache of half the size, and last one card with a part of the
weights in main memory. Each must leave the flat overhead, the margin and what speculation needs. Where nothing fits, or nobody
can count, the engine's own heuristics stay in charge: admission is who refuses.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from blazar.domain.fit import budget
from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.machine import GIB, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.shards import Environment, Shards, discrete, pins, ranks, room
from blazar.domain.fit.weights import weigh

TABLES = 256 * budget.MIB
"""Of the flat overhead, what has to lie inside the share: index tables and rounding up to whole pages of cells."""
HALF = "fp8_e5m2"
"""The 8-bit cache type without scales, which no checkpoint has to bring along."""
_AS_HALF = "q8_0"  # what the planner counts for it: 8 bits and a little, an upper bound


class Load(NamedTuple):
    """What is to be loaded. `ctx` are all windows together in tokens, `requests` how many share them.

    `reserve` are bytes that speculation needs on every card, `draft` those of a draft model. `kv_type` is a pin ("": open);
    `halves`: the cards can compute with an 8-bit cache.
    """

    shape: ModelShape
    ctx: int
    requests: int
    reserve: int = 0
    draft: int = 0
    kv_type: str = ""
    halves: bool = False


class Rung(NamedTuple):
    """What to say. `ranks` 1: one card, which is number `card` (0: the engine's first). `per_rank` and `free` are bytes of the fullest card.

    `kv_type` "" is the model's own. `env` holds a load to its cards.
    """

    ranks: int
    fraction: float
    per_rank: int
    free: int
    card: int = 0
    kv_type: str = ""
    offload_gib: int = 0
    env: Environment = ()


def climb(load: Load, machine: Machine) -> Rung | None:
    """The first rung that fits; None where there is none."""
    room = _less(machine, load.reserve + load.draft)
    for kv_type in _types(load):
        found = ranks(load.shape, room, _settings(load, kv_type))
        if found.fits:
            return _rung(load, machine, found, kv_type)
    return _offloaded(load, machine)


def span(machine: Machine, count: int) -> Environment:
    """What holds `count` configured ranks to the first cards; nothing where there are not so many, or in doubt."""
    cards = discrete(machine)
    return pins(machine, cards[:count]) if 1 < count <= len(cards) else ()


def alone(machine: Machine) -> Machine:
    """This machine as an engine sees it that is told no card: with the first one."""
    first = discrete(machine)[:1]
    return replace(machine, devices=tuple(device for device in machine.devices if device in first))


def token_bytes(shape: ModelShape, ctx: int) -> int:
    """What one token keeps in the cache, rounded up."""
    kv = sum(cache.bytes for cache in caches(shape, Settings(ctx=ctx, parallel=1)))
    return -(-kv // ctx) if ctx else 0


def _types(load: Load) -> Iterator[str]:
    yield load.kv_type
    if not load.kv_type and load.halves:
        yield HALF


def _settings(load: Load, kv_type: str) -> Settings:
    kind = _AS_HALF if kv_type.startswith("fp8") else "f16"
    return Settings(
        ctx=load.ctx, parallel=load.requests, kv_unified=True, own_windows=True, cache_type_k=kind, cache_type_v=kind
    )


def _rung(load: Load, machine: Machine, found: Shards, kv_type: str) -> Rung | None:
    """ODD: the first card that holds the load is taken, which is the engine's own, not the roomiest."""
    need = found.per_rank + load.draft
    own = kv_type if kv_type == HALF else ""
    if found.ranks > 1:
        free = min(card.free for card in discrete(machine)[: found.ranks])
        return Rung(found.ranks, _fraction(need, free), need, free, kv_type=own, env=found.env)
    cards = discrete(machine)
    number = next(at for at, card in enumerate(cards) if room(card) >= need + load.reserve)
    order = pins(machine, cards[:1])[:1]
    if number and not order:  # its number would be a guess, and so would be the share of it
        return None
    free = cards[number].free
    return Rung(1, _fraction(need, free), need, free, number, own, env=order if number else ())


def _offloaded(load: Load, machine: Machine) -> Rung | None:
    """The engine's first card, with as many whole GiB of weights as it lacks in main memory."""
    cards = discrete(machine)
    if not cards:
        return None
    kv_type = load.kv_type or (HALF if load.halves else "")
    settings = _settings(load, kv_type)
    weights = weigh(load.shape, settings).total
    kept = sum(cache.bytes for cache in caches(load.shape, settings))
    kept += sum(layer.bytes for layer in recurrent(load.shape, settings))
    need = budget.rough_bytes(weights, kept) + load.draft
    gib = -(-(need + load.reserve - room(cards[0])) // GIB)
    spare = machine.ram_available - budget.MARGIN_PER_DEVICE if machine.ram_available else weights
    if gib * GIB > min(weights, spare):
        return None
    left, free = need - gib * GIB, cards[0].free
    own = kv_type if kv_type == HALF else ""
    return Rung(1, _fraction(left, free), left, free, kv_type=own, offload_gib=gib)


def _fraction(need: int, free: int) -> float:
    """The share of what is free at the start that weights and cache take (`--mem-fraction-static`), in thousandths, rounded up.

    10 GiB of weights and cache with their 700 MiB overhead on 24 free GiB: (10 GiB + 256 MiB) / 24 GiB = 0.428.
    """
    static = need - budget.OVERHEAD + TABLES
    return -(-static * 1000 // free) / 1000


def _less(machine: Machine, size: int) -> Machine:
    """This machine with so much less free on every card."""
    devices = tuple(device._replace(free=device.free - size) for device in machine.devices)
    return replace(machine, devices=devices)
