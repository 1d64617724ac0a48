"""Whether a load may be tried at all, by the host's free RAM. Reads no hardware: sizes come in as bytes.

What a load is charged on accelerators is `budget`'s question.
"""

MARGIN = 512 * 2**20
"""Bytes beyond half the weights that a load must find free (setup document, `spawn_mem_guard`)."""


def guard_bytes(weights: int) -> int:
    """The least free memory with which loading `weights` bytes is tried: half of them (the rest is mapped) plus a margin."""
    return weights // 2 + MARGIN


def may_load(weights: int, available: int) -> bool:
    """Whether `available` bytes of memory are enough to try. An `available` of 0 means unknown and refuses nothing."""
    return available == 0 or available >= guard_bytes(weights)
