"""The specification's constants for memory, and how they combine into the figure that admission charges.

It knows no model and no machine: sizes come in as bytes. The guard that looks at free RAM before a spawn is `guard`.
"""

MIB = 2**20

OVERHEAD = 700 * MIB
"""What a load is taken to need beside weights and KV cache when its compute buffers are not modelled (the contract's "700 MiB
overhead"): a CUDA context, its libraries' workspaces and the scratch of one micro-batch."""

FLOOR_PADDING = 64 * MIB
FLOOR_NUMERATOR, FLOOR_DENOMINATOR = 20, 17
"""The contract's floor (weights+64)×20/17, in MiB there: weights with a little scratch must lie within 17/20 = 85 % of a budget."""

LADDER_SHARE = 9, 10
"""The cache-type ladder takes the first rung with which a load stays within 90 % of the memory (setup document, `cache_type`)."""

CACHE_RAM_SHARE = 3, 10
"""The most of physical RAM that cached weights may take (setup document, `cache_ram_mb`; the contract: an unclamped budget
swap-killed a machine)."""

MARGIN_PER_DEVICE = 1024 * MIB
"""What stays free on every device that a load uses: llama.cpp's own target for that (`--fit-target`, default 1024 MiB in b11434's
common/common.h). Drivers, a desktop and other processes grow after the census was taken."""


def admission_floor(weights: int) -> int:
    """The least accelerator memory that a load of `weights` bytes is charged, rounded up to a byte.

    8 GiB of weights: (8192 MiB + 64 MiB) × 20/17 = 9712.9 MiB. Not `guard.floor_bytes`, which asks how much RAM must be
    free to try a load at all.
    """
    return -(-(weights + FLOOR_PADDING) * FLOOR_NUMERATOR // FLOOR_DENOMINATOR)


def admission_bytes(exact: int, devices: int, weights: int) -> int:
    """What admission charges: the counted sum with one margin for each device used, or the floor, whichever is larger.

    `exact` is `Memory.total_bytes`; `devices` counts the accelerators that get a part (0: all on the host, no margin);
    `weights` are the bytes that the floor is made from. Never falls when an argument rises.

    8 GiB of weights and 9 GiB counted in all, over two cards: max(9 GiB + 2 × 1 GiB, 9.49 GiB) = 11 GiB. The same model with
    8.3 GiB counted on one card: max(9.3 GiB, 9.49 GiB) = the floor.
    """
    return max(exact + devices * MARGIN_PER_DEVICE, admission_floor(weights))


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
