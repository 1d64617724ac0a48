"""The specification's constants for memory, and how they combine into the figure that admission charges.

It knows no model and no machine: sizes come in as bytes. Everything here is judged card by card; main memory has no floor of this
kind, since the guard that looks at it before a spawn (`guard`) has its own.
"""

MIB = 2**20

OVERHEAD = 700 * MIB
"""What a load is taken to need beside weights and KV cache when its compute buffers are not modelled (the contract's "700 MiB
overhead"): a CUDA context, its libraries' workspaces and the scratch of one micro-batch."""

FLOOR_PADDING = 64 * MIB
FLOOR_NUMERATOR, FLOOR_DENOMINATOR = 20, 17
"""The contract's floor (weights+64)×20/17, in MiB there: weights with a little scratch must lie within 17/20 = 85 % of a card."""

LADDER_SHARE = 9, 10
"""The cache-type ladder takes the first rung with which a load stays within 90 % of the memory (setup document, `cache_type`)."""

CACHE_RAM_SHARE = 3, 10
"""The most of physical RAM that cached weights may take (setup document, `cache_ram_mb`; the contract: an unclamped budget
swap-killed a machine)."""

MARGIN_PER_DEVICE = 1024 * MIB
"""What stays free on every device that a load uses: llama.cpp's own target for that (`--fit-target`, default 1024 MiB in b11434's
common/common.h). Drivers, a desktop and other processes grow after the census was taken."""


def admission_floor(weights: int) -> int:
    """The least that a card with `weights` bytes of a model is charged, rounded up to a byte.

    8 GiB of weights: (8192 MiB + 64 MiB) × 20/17 = 9712.9 MiB. Not `guard.guard_bytes`, which asks how much RAM must be
    free to try a load at all.
    """
    return -(-(weights + FLOOR_PADDING) * FLOOR_NUMERATOR // FLOOR_DENOMINATOR)


def weights_room(free: int) -> int:
    """The most weights whose floor is within `free` bytes of a card, below 0: not even none. 24 GiB: 20.34 GiB."""
    return free * FLOOR_DENOMINATOR // FLOOR_NUMERATOR - FLOOR_PADDING


def charge(used: int, weights: int) -> int:
    """What a card is charged: what lies there with its margin, or the floor of its part of the weights, whichever is larger.

    `used` and `weights`, which are part of it, are this card's bytes. Never falls when one of them rises. A card that is charged
    more than it has free takes no such part.

    8 GiB of weights and 9 GiB in all: max(9 GiB + 1 GiB, 9.49 GiB) = 10 GiB. The same weights with 8.3 GiB in all:
    max(9.3 GiB, 9.49 GiB) = the floor. 40 GiB of weights need a card with 47.13 GiB free, whatever comes with them.
    """
    return max(used + MARGIN_PER_DEVICE, admission_floor(weights))


def rough_bytes(weights: int, kv: int) -> int:
    """An engine's load whose compute buffers nobody models (SGLang, mistral.rs): weights, KV cache and the flat overhead."""
    return weights + kv + OVERHEAD


def ladder_room(memory: int) -> int:
    """How much of `memory` bytes of VRAM the cache-type ladder may plan for. 24 GiB: 21.6 GiB."""
    part, whole = LADDER_SHARE
    return memory * part // whole


def cache_ram_cap(ram: int) -> int:
    """How much of `ram` bytes of physical memory cached weights may take at most. 32 GiB: 9.6 GiB."""
    part, whole = CACHE_RAM_SHARE
    return ram * part // whole
