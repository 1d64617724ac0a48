"""How large a window can be: a guess from two of them, and the search that starts there. Decides nothing that is open."""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from blazar.domain.fit.dealing import Room, fill
from blazar.domain.fit.placement import Search, fitting, question
from blazar.domain.fit.shares import HOST, Load, Scratch

STEP = 256
"""Windows are whole multiples: the engine rounds up to it (llama.cpp b11434, src/llama-context.cpp, `GGML_PAD`)."""


def foreseen(small: Load, large: Load, between: int, partly: bool) -> int:
    """About how far it goes on fitting from the small window to the large one, which does not fit, `between` tokens on.

    0 where not even the small one fits. What a window takes grows in a straight line, as most caches do; layers on devices seldom
    divide evenly, so that they are dealt out at every step.
    """
    straight = partly or small.settings.tensor_split or not question(small)[2]
    return _by_spare(small, large, between, partly) if straight else _by_layers(small, large, between)


def _by_spare(small: Load, large: Load, between: int, partly: bool) -> int:
    """By what is left over."""
    where = fitting(small, partly)
    if where is None:
        return 0
    grows = large.bill.kv[-1] + large.bill.draft - small.bill.kv[-1] - small.bill.draft
    if not where.devices:
        grows = Search(large).host_least((), 0) - Search(small).host_least((), 0)
    spare = sum(share.headroom for share in where.shares if share.device in (where.devices or (HOST,)))
    return between * min(max(spare, 0), grows) // max(grows, 1)


def _by_layers(small: Load, large: Load, between: int) -> int:
    """By whole layers: all devices are filled."""
    layers = question(small)[2]
    lowest, kept = small.bill.layers + 1 - layers, 1 if small.visiting(layers) else 0
    moving = tuple(zip(small.bill.moving, large.bill.moving, strict=True))
    ends, ram = (_filled(small), _filled(large)), small.machine.ram_available

    def over(step: int) -> bool:
        part = step * STEP

        def line(a: int, b: int) -> int:
            return a + (b - a) * part // between

        if ram and line(ends[0].host, ends[1].host) > ram:
            return True
        bill = small.bill._replace(moving=[a + (b - a) * part // between for a, b in moving])
        without, output = map(line, ends[0].scratch, ends[1].scratch)
        for key in ends[0].homes.keys() & ends[1].homes.keys():
            here, there = ends[0].homes[key], ends[1].homes[key]
            rooms = [Room(line(a.all, b.all), a.weights, b.taken) for a, b in zip(here, there, strict=True)]
            if sum(fill(bill, (without, output), rooms, lowest, kept)) == layers:
                return False
        return True

    return max(bisect_left(range(between // STEP), True, key=over) - 1, 0) * STEP


class _Filled(NamedTuple):
    """What filling all devices goes by: the host's need, scratch, and their rooms by the homes of what is no layer and the first with layers."""

    host: int
    scratch: Scratch
    homes: dict[tuple[str, str, int], list[Room]]


def _filled(load: Load) -> _Filled:
    search, cards, layers = question(load)
    homes = {
        (layout.attached.projector, layout.attached.draft, len(layout.counts)): rooms
        for layout, rooms in search.tries(cards, layers, True)
    }
    return _Filled(search.host_least(cards, layers), load.scratch(load.copies(cards, layers)), homes)


def widest(fits: Callable[[int], bool], low: int, high: int, guess: int) -> int | None:
    """The largest multiple of `STEP` in [low, high) that fits; None if not even the lowest does. `high` does not.

    From the guess in ever longer steps, since it is seldom off by more than one, then by halves.
    """
    low, high = -(-low // STEP), -(-high // STEP)
    if low >= high:
        return None
    at, step, least = min(max(guess // STEP, low), high - 1), 1, low
    if fits(at * STEP):
        while at + step < high and fits((at + step) * STEP):
            at, step = at + step, 2 * step
        low, high = at, min(high, at + step)
    else:
        high = at
        while high > least and not fits(max(high - step, least) * STEP):
            high, step = max(high - step, least), 2 * step
        if high == least:
            return None
        low = max(high - step, least)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * STEP) else (low, middle)
    return low * STEP
