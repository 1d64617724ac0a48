"""What is alive together on one device, as sums of bytes for each unit of a load. Knows no settings and counts no cell."""

from functools import lru_cache
from typing import NamedTuple

from blazar.domain.fit.compute_geometry import Geometry, Same, geometry
from blazar.domain.fit.compute_units import F16, F32, PARTS, Units

IDS = 64
"""Bytes a token for token ids, positions (four of them with M-RoPE), cache rows, output rows."""

ROW_IDS = 8
"""Bytes of an index. Without flash attention values are kept turned, and every element of a new one has its own (build_input_v_idxs)."""

_TAIL = 3
"""Hidden rows between the mask and the logits: those of the last block that best fit has left below them."""


class Held(NamedTuple):
    """What lies on a device: blocks from `start` up to `stop`, and the output layer; `copies` of its inputs (0: they are made here)."""

    start: int
    stop: int
    output: bool
    copies: int


class Sum(NamedTuple):
    """Bytes for each unit of `Amounts`: of `plain`, of `grids`, of the one cache that is copied (-1: none), and of `lent`."""

    plain: Units
    grids: tuple[int, ...]
    cache: int = -1
    key: int = 0
    value: int = 0
    heads: int = 0
    lent: tuple[int, ...] = ()


@lru_cache(maxsize=512)
def sums(key: Same, held: Held) -> tuple[tuple[Sum, ...], Sum | None]:
    """Every sum that can be the largest there, and what is alive beside the logits (None: there are none)."""
    made = geometry(key)
    start, stop, output, copies = held
    crossing = max(made.crossing[max(start, 0) : stop], default=0)
    resident = Units(
        tokens=_resident(made, start <= 0, copies, crossing),
        squares=(F16 * made.uncached + F32 * made.decaying) * max(copies, 1),
        turned=ROW_IDS * made.turned * max(copies, 1),
    )
    found = set()
    lent = _lent(made, held)
    first, end = max(start, 0), min(stop, len(made.parts))
    beside = [
        (_masks(made, number, stop, copies), waiting(made, held, number), lent[number])
        for number in range(first, end + 1)
    ]
    # Most blocks are alike, and so is what is there beside them: each such crowd is summed once.
    alike = {(made.parts[first + place], beside[place], beside[place + 1]) for place in range(end - first)}
    for parts, here, there in alike:
        for part in parts:
            masks, handed, after = there if part.after else here
            plain = resident.plus(handed).plus(part.plain)
            found.add(Sum(plain, masks, part.cache, part.key, part.value, part.heads, after))
    if not copies:
        # Rows of tokens, of images, and their mixture are all there before the first block.
        rows = resident.plus(Units(tokens=F32 * (3 * made.inputs + 2 * made.extra)))
        found.add(Sum(rows.plus(waiting(made, held, 0)), _masks(made, 0, stop, copies), lent=lent[-1]))
    if not output or not made.logits:
        return _largest(found), None
    none = (0,) * len(made.masks)
    early = lent[max(start, 0)] if start < len(made.parts) else ()
    if copies == 1 and start > 0:
        # Nothing of the input rows is left here: the logits find the buffer empty but for the last rows.
        return _largest(found), Sum(resident._replace(tokens=F32 * _TAIL * made.hidden + IDS), none, lent=early)
    below = resident.plus(Units(tokens=F32 * (1 + _TAIL) * made.hidden))
    return _largest(found), Sum(below, _masks(made, start, stop, copies) if stop > start else none, lent=early)


def _largest(found: set[Sum]) -> tuple[Sum, ...]:
    """Without those that another is never below, whatever the load."""
    return tuple(one for one in found if not any(_covers(other, one) for other in found if other is not one))


def _covers(other: Sum, one: Sum) -> bool:
    if one.cache not in (-1, other.cache):
        return False
    here, there = ((*two.plain, *two.grids, two.key, two.value, two.heads, *two.lent) for two in (one, other))
    return all(map(int.__le__, here, there))


def _resident(made: Geometry, first: bool, copies: int, crossing: int) -> int:
    """Bytes a token that stay from the first block to the last (build_inp_embd; passes 5 and 6 of the scheduler's splitting).

    A device is handed the residual rows and their norm by the one before it, or the input rows by the host; what it was handed
    is freed once read, unless there are several copies of it.
    """
    if not copies:
        return F32 * (made.input_rows * made.inputs + made.extra) + IDS
    if copies == 1:
        return F32 * max(made.stream, made.inputs) + IDS
    handed = 2 * made.stream + crossing
    if first:
        rows = 3 * made.inputs if made.input_rows > 1 else made.inputs
        return F32 * (copies * (max(handed, rows + crossing // 2) + made.extra) + made.inputs) + IDS * copies
    return (F32 * (handed + made.extra) + IDS) * copies


def _masks(made: Geometry, number: int, stop: int, copies: int) -> tuple[int, ...]:
    """Bytes a cell and token of the masks that block `number` or a later one on this device still reads. Copies stay."""
    if copies > 1:
        return tuple(mask * copies for mask in made.masks)
    return tuple(mask if min(last, stop - 1) >= number else 0 for mask, last in zip(made.masks, made.last, strict=True))


def waiting(made: Geometry, held: Held, number: int) -> Units:
    """What block `number` of a device and all after it have been handed, or have ready, before the first of them works."""
    end = len(made.waits) - 1
    here, stop = min(number, end), min(held.stop, end)
    handed = held.copies and made.viewed[min(held.start, end)] < made.viewed[0]
    views = made.viewed[min(held.start, end) if held.copies > 1 else here] - made.viewed[stop] if handed else 0
    return Units(picked=PARTS * (made.waits[here] - made.waits[stop]), scored=PARTS * views * held.copies)


def _lent(made: Geometry, held: Held) -> list[tuple[int, ...]]:
    """By block: elements of a cell, K and V of each cache in turn, that it and all after it are handed of blocks elsewhere.

    Every block has views of its own, which are copied one by one (ggml_backend_sched_split_graph).
    """
    none = (0,) * (2 * len(made.masks))
    found = [none] * (len(made.parts) + 2)
    if not held.copies:
        return found
    for number in range(min(held.stop, len(made.parts)) - 1, max(held.start, 0) - 1, -1):
        own, lender = list(found[number + 1]), made.borrowed[number]
        if lender is not None and lender.owner < held.start:
            own[2 * lender.cache] += lender.k * held.copies
            own[2 * lender.cache + 1] += lender.v * held.copies
        found[number] = tuple(own)
    if held.copies > 1:
        return [found[max(held.start, 0)] if held.start < len(made.parts) else none] * len(found)
    return found
