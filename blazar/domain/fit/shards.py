"""Loads that an engine other than llama.cpp spreads over cards: SGLang's tensor-parallel ranks, mistral.rs's layers, and the pins.

Ranks are equal, so that the smallest card decides; layers are not, so that the sum does. What the engine allocates itself is
not modelled: the flat overhead of the specification stands for it. Configured parallelism always wins and is not judged.
"""

from collections.abc import Sequence
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.fit import budget
from blazar.domain.fit.caches import caches, recurrent
from blazar.domain.fit.machine import Device, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.weights import weigh

Environment = tuple[tuple[str, str], ...]


class Parallelism(NamedTuple):
    """What somebody configured: SGLang's `tp_size`, `pp_size`, `dp_size`, `ep_size` (0: nothing), mistral.rs's `device_layers`."""

    tensor: int = 0
    pipeline: int = 0
    data: int = 0
    expert: int = 0
    device_layers: tuple[str, ...] = ()

    @property
    def pinned(self) -> bool:
        return any(self)


class Shards(NamedTuple):
    """How a load is spread. `per_rank` is what the fullest card takes, in bytes; `sentence` says why it does not fit, or "".

    `ranks` 1: one card suffices, 0: configuration decides. `devices` are the cards in their order, `env` what the child is told
    to see no others (empty: the engine chooses).
    """

    ranks: int
    per_rank: int
    devices: tuple[str, ...]
    env: Environment
    fits: bool
    sentence: str = ""


def ranks(shape: ModelShape, machine: Machine, settings: Settings, configured: Parallelism | None = None) -> Shards:
    """SGLang: the fewest ranks that fit, where one card does not hold weights and KV; bytes.

    A rank count must divide heads and KV heads alike. Latent caches (MLA) and a lone KV head are kept by every rank whole.
    """
    cards, (weights, kv) = discrete(machine), _sizes(shape, settings)
    alone = budget.rough_bytes(weights, kv)
    if found := _undivided(cards, alone, configured):
        return found
    fewest, narrow = 0, alone
    for count in _counts(shape, len(cards)):
        fewest, narrow = count, budget.rough_bytes(-(-weights // count), _kv_of_rank(shape, kv, count))
        if narrow <= min(room(card) for card in cards[:count]):
            chosen = cards[:count]
            return Shards(count, narrow, _names(chosen), pins(machine, chosen), True)
    have = max((card.total - budget.MARGIN_PER_DEVICE for card in cards), default=0)
    sharded = teaching.fit_sharded(fewest, narrow) if fewest else ""
    names = _names(cards) or ("a card",)
    return Shards(max(fewest, 1), narrow, _names(cards), (), False, teaching.fit_never(names, alone, have, sharded))


def layers(shape: ModelShape, machine: Machine, settings: Settings, configured: Parallelism | None = None) -> Shards:
    """mistral.rs: one card where it suffices, else all of them, if together they hold the load; the engine deals the layers out.

    No split is planned (`--device-layers` stays away), so that cards of different sizes are used as far as each goes.
    """
    cards, alone = discrete(machine), budget.rough_bytes(*_sizes(shape, settings))
    if found := _undivided(cards, alone, configured):
        return found
    # Every card runs its own context; one layer cannot be cut, so that each may waste up to one.
    count = len(cards)
    largest = max((part.offloaded for part in weigh(shape, settings).blocks), default=0)
    need = alone + max(count - 1, 0) * (budget.OVERHEAD + largest)
    have = sum(max(room(card), 0) for card in cards)
    if count > 1 and need <= have:
        return Shards(count, -(-need // count), _names(cards), pins(machine, cards), True)
    empty = sum(card.total - budget.MARGIN_PER_DEVICE for card in cards)
    sharded = teaching.fit_sharded(count, -(-need // count)) if count > 1 else ""
    names = _names(cards) or ("a card",)
    return Shards(max(count, 1), need, _names(cards), (), False, teaching.fit_never(names, need, empty, sharded))


def pins(machine: Machine, chosen: Sequence[Device]) -> Environment:
    """What holds a sharded child to the first cards in PCI order, where every accelerator is NVIDIA's and none is in doubt.

    In doubt are cards of another vendor, names that are not `CUDA0` to `CUDAn` in order, and a choice that is not the first
    ones: then nothing is set and the engine's own mapping holds.
    """
    names = [device.name for device in machine.devices]
    plain = all(device.kind == "cuda" and not device.shared and device.total for device in machine.devices)
    if not chosen or not plain or names != [f"CUDA{index}" for index in range(len(names))]:
        return ()
    if [device.name for device in chosen] != names[: len(chosen)]:
        return ()
    visible = ",".join(str(index) for index in range(len(chosen)))
    return ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", visible)


def _undivided(cards: Sequence[Device], alone: int, configured: Parallelism | None) -> Shards | None:
    """Where nothing has to be spread: somebody configured how, or the roomiest card holds all `alone` bytes."""
    if configured and configured.pinned:
        return Shards(0, 0, (), (), True)
    best = max(cards, key=room, default=None)
    return Shards(1, alone, (best.name,), (), True) if best and room(best) >= alone else None


def discrete(machine: Machine) -> tuple[Device, ...]:
    """The cards that have memory of their own, and are of this machine."""
    return tuple(device for device in machine.pool if not device.shared and device.kind != "rpc")


def room(card: Device) -> int:
    """What a load may take of a card."""
    return card.free - budget.MARGIN_PER_DEVICE


def _names(cards: Sequence[Device]) -> tuple[str, ...]:
    return tuple(card.name for card in cards)


def _sizes(shape: ModelShape, settings: Settings) -> tuple[int, int]:
    state = sum(layer.bytes for layer in recurrent(shape, settings))
    return weigh(shape, settings).total, sum(cache.bytes for cache in caches(shape, settings)) + state


def _counts(shape: ModelShape, most: int) -> list[int]:
    """Rank counts that divide every block's heads, and its KV heads where these are shared out at all."""
    heads = {block.heads for block in shape.blocks if block.heads}
    shared = set() if shape.mla else {block.kv_heads for block in shape.blocks if block.kv_heads > 1}
    return [count for count in range(2, most + 1) if all(number % count == 0 for number in heads | shared)]


def _kv_of_rank(shape: ModelShape, kv: int, count: int) -> int:
    whole = shape.mla or any(block.kv_heads == 1 for block in shape.blocks)
    return kv if whole else -(-kv // count)
