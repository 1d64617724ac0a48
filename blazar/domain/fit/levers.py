"""What would make a load fit: settings to turn, each tried before it is named, the least painful first. Decides nothing itself."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from blazar.domain import teaching
from blazar.domain.fit import guard
from blazar.domain.fit.ladder import RUNGS, Case, Found, decide, wish
from blazar.domain.fit.placement import candidates
from blazar.domain.fit.slots import shared

_PARTS = 12
_ENDLESS = 1 << 50
_STEP = 1 << 23


def levers(case: Case) -> tuple[str, ...]:
    """Sentences for a case that does not fit: what they name makes it fit, without weights that are read again and again."""
    tried = (_context, _slots, _cache, _experts, _layers, _smaller_files, _larger_machines)
    return tuple(sentence for lever in tried for sentence in lever(case))


def _fits(case: Case) -> Found | None:
    found = decide(case)
    return found if found and not found.pages else None


def _context(case: Case) -> Iterator[str]:
    window = wish(case.shape, case.settings, case.cap)
    if case.settings.ctx:
        found = _fits(case.told(replace(case.settings, ctx=0), window))
        if found and found.window < window:
            yield teaching.fit_lever_ctx(found.window)


def _slots(case: Case) -> Iterator[str]:
    window, slots = wish(case.shape, case.settings, case.cap), case.settings.parallel
    while (slots := slots // 2) >= 1:
        ctx = window * slots if case.settings.ctx and not shared(case.settings) else case.settings.ctx
        if _fits(case.told(replace(case.settings, parallel=slots, ctx=ctx))):
            yield teaching.fit_lever_slots(slots)
            return


def _cache(case: Case) -> Iterator[str]:
    set_types = case.settings.cache_type_k, case.settings.cache_type_v
    if not any(set_types):
        return
    for keys, values in RUNGS[1:]:
        smaller = replace(case.settings, cache_type_k=keys, cache_type_v=values)
        if (keys, values) != set_types and _fits(case.told(smaller)):
            yield teaching.fit_lever_cache(keys, values)
            return


def _experts(case: Case) -> Iterator[str]:
    """The fewest blocks whose experts must go to main memory: each one more leaves more room on the devices."""
    if not case.shape.experts or not candidates(case.machine, case.settings):
        return
    held = case.settings.cpu_moe_n
    counts = range(held + 1, len(case.shape.blocks) + 1)

    def fits(count: int) -> bool:
        return _fits(case.told(replace(case.settings, cpu_moe_n=count))) is not None

    place = bisect_left(counts, True, key=fits)
    if place < len(counts):
        yield teaching.fit_lever_experts(counts[place])


def _layers(case: Case) -> Iterator[str]:
    if case.settings.gpu_layers and (found := _fits(case.told(replace(case.settings, gpu_layers=None)))):
        count = found.placement.gpu_layers
        fewer = case.settings.gpu_layers < 0 or count < case.settings.gpu_layers
        yield teaching.fit_lever_layers(count) if fewer else teaching.fit_lever_more_layers(count)


def _smaller_files(case: Case) -> Iterator[str]:
    """The largest weights that fit, in twelfths of what they are."""
    from blazar.domain.fit.preview import resized

    parts = range(1, _PARTS)

    def too_large(part: int) -> bool:
        size = case.weights * part // _PARTS
        return _fits(Case(resized(case.shape, case.weights, size), case.machine, case.settings, case.cap)) is None

    if most := bisect_left(parts, True, key=too_large):
        yield teaching.fit_lever_quant(case.weights * most // _PARTS)


def _larger_machines(case: Case) -> Iterator[str]:
    """The least card that takes it, and the least main memory that does, each with all else as it is."""
    machine, cards = case.machine, candidates(case.machine, case.settings)
    free_to_choose = not case.settings.devices and not case.settings.tensor_split

    def on(**other: Any) -> Found | None:
        return _fits(Case(case.shape, replace(machine, **other), case.settings, case.cap))

    if cards and free_to_choose and guard.may_load(case.weights, machine.ram_total):

        def with_card(size: int) -> Found | None:
            found = on(devices=(cards[0]._replace(total=size, free=size, shared=False),))
            return found if found and found.placement.whole else None

        if found := with_card(_ENDLESS):
            yield teaching.fit_lever_memory("a card", _least(0, found.placement.shares[1].charge, with_card))
    # Of unknown main memory nothing is ever short: what lies there then is what has to.
    if machine.ram_total and (found := on(ram_total=0, ram_available=0)):
        host, low = found.placement.shares[0], max(machine.ram_total, guard.guard_bytes(case.weights))
        size = _least(low, host.used + host.margin, lambda size: on(ram_total=size, ram_available=size))
        if size > machine.ram_total:
            yield teaching.fit_lever_memory("main memory", size)


def _least(low: int, high: int, fits: Callable[[int], object]) -> int:
    """The least size above `low` that fits, or a few hundredths more; `high` is enough, and may be much too much."""
    low, high = low // _STEP, -(-high // _STEP)
    while high - low > max(1, high // 64):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle * _STEP) else (middle, high)
    return max(low, high) * _STEP
