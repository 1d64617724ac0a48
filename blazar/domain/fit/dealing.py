"""How layers are dealt out to devices in a row: filled one by one, or by ratio as the engine does it. Knows sums, and no machine."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from struct import Struct
from typing import NamedTuple

from blazar.domain.fit.bill import Bill
from blazar.domain.fit.shares import Scratch


class Room(NamedTuple):
    """What a device has left for layers: bytes of everything, and of weights, since their floor has to be free as well.

    `taken` is what lies there whatever the layers; where that is too much no layout is any good.
    """

    all: int
    weights: int
    taken: int = 0

    @property
    def crowded(self) -> bool:
        return self.all < 0 < self.taken


def fill(one: Bill, scratch: Scratch, rooms: Sequence[Room], lowest: int = 0, kept: int = 0) -> tuple[int, ...]:
    """How many layers each device takes, as many as fit: from the output layer down to `lowest`, the last device first.

    A device's cost grows with every layer, so that taking all it can is never worse for those before it; a device that cannot
    take even one gets none, and the next is asked (case F17). `kept` layers are left to the first device.
    """
    counts = [0] * len(rooms)
    if any(room.crowded for room in rooms):
        return tuple(counts)
    end = one.layers + 1
    for index in reversed(range(len(rooms))):
        room, needed = rooms[index], scratch[end == one.layers + 1]
        if needed > room.all or room.weights < 0:
            continue
        start = max(
            bisect_left(one.moving, one.moving[end] + needed - room.all, 0, end + 1),
            bisect_left(one.weights, one.weights[end] - room.weights, 0, end + 1),
            lowest + kept if index else lowest,
        )
        if start < end:
            counts[index], end = end - start, start
    return tuple(counts)


def shared_out(layers: int, ratios: Sequence[float]) -> tuple[int, ...]:
    """How many of `layers` layers each device gets by ratio, as the engine counts: `std::upper_bound` on running sums, as floats."""
    sums = list(accumulate(map(_single, ratios), lambda total, ratio: _single(total + ratio)))
    if layers == 0 or sums[-1] <= 0:
        return (0,) * len(ratios)
    marks = _marks(layers)
    ends = [bisect_left(marks, _single(part / sums[-1])) for part in sums]
    return tuple(end - begin for begin, end in zip([0, *ends], ends, strict=False))


@lru_cache(maxsize=512)
def _marks(layers: int) -> tuple[float, ...]:
    """Where each layer stands in the whole, as the engine divides."""
    return tuple(_single(layer / layers) for layer in range(layers))


def _single(value: float) -> float:
    """Rounded to the engine's single precision."""
    return float(_FLOAT.unpack(_FLOAT.pack(value))[0])


_FLOAT = Struct("f")


def within(one: Bill, scratch: Scratch, counts: Sequence[int], rooms: Sequence[Room]) -> bool:
    """Whether no device gets more than it has room for."""
    if any(room.crowded for room in rooms):
        return False
    start = one.layers + 1 - sum(counts)
    for count, room in zip(counts, rooms, strict=True):
        end = start + count
        if count and (
            one.moving[end] - one.moving[start] + scratch[end == one.layers + 1] > room.all
            or one.weights[end] - one.weights[start] > room.weights
        ):
            return False
        start = end
    return True
