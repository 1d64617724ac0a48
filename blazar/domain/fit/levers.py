"""What would make a load fit: settings to turn, each tried before it is named, the least painful first. Decides nothing itself."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from blazar.domain import teaching
from blazar.domain.fit import budget
from blazar.domain.fit.ladder import RUNGS, Case, Found, decide, wish
from blazar.domain.fit.placement import candidates
from blazar.domain.fit.slots import shared


def levers(case: Case, failed: Found) -> tuple[str, ...]:
    """Sentences for a case that does not fit; `failed` is the smallest way in which it was tried."""
    tried = (_context, _slots, _cache, _experts, _layers)
    found = [sentence for lever in tried for sentence in lever(case)]
    return (*found, *_sizes(case, failed))


def _context(case: Case) -> Iterator[str]:
    window = wish(case.shape, case.settings, case.cap)
    if case.settings.ctx:
        found = decide(case.told(replace(case.settings, ctx=0), window))
        if found and found.window < window:
            yield teaching.fit_lever_ctx(found.window)


def _slots(case: Case) -> Iterator[str]:
    window, slots = wish(case.shape, case.settings, case.cap), case.settings.parallel
    while (slots := slots // 2) >= 1:
        ctx = window * slots if case.settings.ctx and not shared(case.settings) else case.settings.ctx
        if decide(case.told(replace(case.settings, parallel=slots, ctx=ctx))):
            yield teaching.fit_lever_slots(slots)
            return


def _cache(case: Case) -> Iterator[str]:
    set_types = case.settings.cache_type_k, case.settings.cache_type_v
    if not any(set_types):
        return
    for keys, values in RUNGS[1:]:
        smaller = replace(case.settings, cache_type_k=keys, cache_type_v=values)
        if (keys, values) != set_types and decide(case.told(smaller)):
            yield teaching.fit_lever_cache(keys, values)
            return


def _experts(case: Case) -> Iterator[str]:
    """The fewest blocks whose experts must go to main memory: each one more leaves more room on the devices."""
    if not case.shape.experts or not candidates(case.machine, case.settings):
        return
    held = case.settings.cpu_moe_n
    counts = range(held + 1, len(case.shape.blocks) + 1)

    def fits(count: int) -> bool:
        return decide(case.told(replace(case.settings, cpu_moe_n=count))) is not None

    place = bisect_left(counts, True, key=fits)
    if place < len(counts):
        yield teaching.fit_lever_experts(counts[place])


def _layers(case: Case) -> Iterator[str]:
    if case.settings.gpu_layers and (found := decide(case.told(replace(case.settings, gpu_layers=None)))):
        count = found.placement.gpu_layers
        fewer = case.settings.gpu_layers < 0 or count < case.settings.gpu_layers
        yield teaching.fit_lever_layers(count) if fewer else teaching.fit_lever_more_layers(count)


def _sizes(case: Case, failed: Found) -> Iterator[str]:
    """What is left when no setting helps: a smaller file, a larger machine."""
    host, *cards = failed.placement.shares
    # Where a part of the host's weights may be dropped (`Share.mapped`), a byte less there frees that much less.
    kept = max(host.weights - host.mapped, 1)
    missing = host.lacking * max(host.weights, 1) // kept + sum(share.lacking for share in cards if share.used)
    if (weights := case.weights - missing) > 0:
        yield teaching.fit_lever_quant(weights)
    if candidates(case.machine, case.settings):
        used = sum(share.used for share in cards) + host.used
        yield teaching.fit_lever_memory("a card", budget.charge(used, case.weights))
    else:
        yield teaching.fit_lever_memory("main memory", host.total - host.headroom)
