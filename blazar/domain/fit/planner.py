"""Whether a load fits a machine, where each byte goes, and who would have to leave. The only module that gives verdicts.

A request for a model that runs already is not planned again: that is its caller's business, as are reproducible answers (one
slot) and the watch over free memory before a spawn (`guard`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from blazar.domain import teaching
from blazar.domain.fit import budget, guard
from blazar.domain.fit.caches import aborts, refusal, types_unknown
from blazar.domain.fit.compute import compute_bytes
from blazar.domain.fit.compute_geometry import Same
from blazar.domain.fit.demand import memory
from blazar.domain.fit.flaws import check
from blazar.domain.fit.ladder import Case, Found, decide, following, thinned, wish
from blazar.domain.fit.levers import levers
from blazar.domain.fit.machine import Machine, Running
from blazar.domain.fit.placement import candidates
from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import NO_DEVICE, Draft, Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.shares import HOST, outputs
from blazar.domain.fit.slots import shared
from blazar.domain.fit.verdict import Outcome, Share, Verdict
from blazar.domain.fit.windows import STEP

_PAIRS = 2
"""Idle models that are tried out exhaustively, in sets of up to this many; larger sets are found by leaving models out."""


def plan(shape: ModelShape, machine: Machine, settings: Settings, cap: int = 0, *, advise: bool = True) -> Verdict:
    """The verdict on loading `shape` on `machine` with `settings`; all sizes in it are bytes.

    Open settings (0, "", None) are decided and come back in `Verdict.settings`, which the engine can be told as they are. `cap` is
    the largest window to choose where `settings.ctx` is open, in tokens of one request (0: the trained one). `advise`: look for
    `levers` where it never fits, which takes longer than the rest.

    `fits`: it may be loaded now. `fits-from-disk`: it may, with weights in main memory that it cannot hold all at a time.
    `fits-after-eviction`: idle models (`evict`) leave first, also where it would fit without but
    only with layers in main memory; nobody to evict means that something busy, or another program, has to end. `never`: not
    even on this machine with nothing loaded. `refused`: the engine would not take the settings.

    Unknown sizes refuse nothing. More free memory never makes a fitting load unfit; more context, slots or precision never
    makes an unfit one fit, and in the same places (devices, layers on each, projector, draft) no device ever needs less for it.
    Sums of different places do not compare: devices that hold all of a model between them keep their inputs four times, those
    that hold a part of it once. Raises `Malformed` for a setting that no load can have (`flaws`), and for an
    `override_tensor` pattern that cannot be read.
    """
    check(settings)
    case = Case(shape, machine, _meant(machine, settings), cap)
    if sentence := _refused(case):
        return _without_plan(case, sentence)
    found = decide(case)
    if found and found.whole:
        return _fits(case, found)
    idle = tuple(model for model in machine.running if model.idle and not model.pinned)
    if idle and (freed := decide(_after(case, idle), whole=found is not None)):
        return _after_eviction(case, idle, freed)
    if found:
        return _fits(case, found)
    emptied = machine.emptied()
    if replace(machine, running=()) != emptied and (empty := decide(case.on(emptied))):
        have = sum(device.free for device in candidates(machine, settings)) or machine.ram_available
        return _verdict(case, empty, Outcome.AFTER_EVICTION, teaching.fit_waits(empty.need, have))
    return _never(case, advise=advise)


def _meant(machine: Machine, settings: Settings) -> Settings:
    """Ratios of nothing for every device are none to the engine (`all_zero`, src/llama-model.cpp)."""
    some = any(settings.tensor_split[: len(candidates(machine, settings))])
    return settings if some else replace(settings, tensor_split=())


def _refused(case: Case) -> str | None:
    """The engine's own refusals, what it would end itself over, and devices that are not there."""
    if sentence := types_unknown(case.settings):
        return sentence
    known = [device.name for device in case.machine.pool]
    for key, name in _named(case.settings):
        if name not in known and name != NO_DEVICE:
            return teaching.fit_no_device(key, name, known)
    window = wish(case.shape, case.settings, case.cap)
    asked = replace(case.settings, ctx=case.settings.ctx or window)
    keys, values = asked.cache_type_k, asked.cache_type_v
    asked = replace(asked, cache_type_k=keys or values, cache_type_v=values or keys)
    draft = asked.draft and following(asked.draft, asked.ctx, asked.parallel)
    return (
        refusal(thinned(Same(case.shape)), asked)
        or aborts(case.shape, asked)
        or (draft and refusal(draft.shape, draft.settings))
        or None
    )


def _named(settings: Settings) -> Iterator[tuple[str, str]]:
    """Devices that somebody configured, each with the key that names it."""
    yield from (("devices", name) for name in settings.devices)
    if settings.projector and settings.projector_device:
        yield "mmproj_device", settings.projector_device
    if settings.draft:
        yield from (("spec_draft_device", name) for name in settings.draft.settings.devices)


def _after(case: Case, leaving: Iterable[Running]) -> Case:
    """The machine without these models: what they measurably use becomes free."""
    return case.on(case.machine.without(_keys(leaving)))


def _after_eviction(case: Case, idle: Sequence[Running], freed: Found) -> Verdict:
    """The fewest that suffice, those first that are listed first (the least recently used)."""

    def suffices(leaving: Sequence[Running]) -> Found | None:
        # Every step: with a window below the ladder's floor all layers may be where they should be as well.
        found = decide(_after(case, leaving))
        return found if found and (found.whole or not freed.whole) else None

    for count in range(1, min(_PAIRS, len(idle) - 1) + 1):
        for few in combinations(idle, count):
            if found := suffices(few):
                return _evicting(case, few, found)
    leaving = list(idle)
    for model in reversed(idle):
        fewer = [other for other in leaving if other is not model]
        if fewer and (found := suffices(fewer)):
            leaving, freed = fewer, found
    return _evicting(case, leaving, freed)


def _evicting(case: Case, leaving: Sequence[Running], found: Found) -> Verdict:
    keys = _keys(leaving)
    return _verdict(case, found, Outcome.AFTER_EVICTION, teaching.fit_after(keys, found.need), evict=keys)


def _keys(models: Iterable[Running]) -> tuple[str, ...]:
    return tuple(model.key for model in models)


def _fits(case: Case, found: Found) -> Verdict:
    where = found.placement
    host, cards = where.shares[0], [share for share in where.shares[1:] if share.device in where.devices]
    need, left = sum(share.used for share in cards), sum(share.headroom for share in cards)
    if found.pages:
        sentence = teaching.fit_from_disk(host.used, host.free - host.margin)
    elif not cards:
        sentence = teaching.fit_on_host(host.used, max(host.headroom, 0))
    elif found.whole:
        sentence = teaching.fit_whole(where.devices, need, left)
    else:
        layers = len(case.shape.blocks) * max(case.shape.loops, 1) + 1
        sentence = teaching.fit_partly(where.devices, where.gpu_layers, layers, need, host.used)
    return _verdict(case, found, Outcome.PAGES if found.pages else Outcome.FITS, sentence)


def _never(case: Case, *, advise: bool) -> Verdict:
    empty = case.on(case.machine.emptied())
    asked = case.settings
    window = wish(case.shape, asked, case.cap) if asked.ctx else STEP
    rung = case.types[-1]
    failed = empty.at(window, case.slots, rung, partly=True)
    short = [share for share in failed.placement.shares if share.used and share.lacking] or failed.placement.shares
    need, have = _missing(short)
    helps = levers(empty) if advise else ()
    if shared(asked) and asked.parallel > 1 and decide(empty.told(replace(asked, ctx=STEP))):
        sentence = teaching.fit_unified(asked.parallel, window, need, have)
        return _verdict(case, failed, Outcome.REFUSED, sentence, levers=helps)
    cards = len(candidates(case.machine, asked))
    sharded = teaching.fit_sharded(cards, failed.need // cards) if cards > 1 else ""
    floors = [share for share in short if share.floor > share.used + share.margin]
    sentence = teaching.fit_never([share.device for share in short], need, have, sharded)
    if floors:
        sentence += teaching.fit_floor(sum(share.weights for share in floors), sum(share.floor for share in floors))
    return _verdict(case, failed, Outcome.NEVER, sentence, levers=helps)


def _missing(short: Iterable[Share]) -> tuple[int, int]:
    """Bytes that are needed on these devices and that they have: their floors against all of it, else what is used but for the margin."""
    need = have = 0
    for share in short:
        floor = share.floor > share.used + share.margin
        need += share.floor if floor else share.used - share.mapped
        have += share.free if floor else share.free - share.margin
    return need, have


def _verdict(
    case: Case,
    found: Found,
    outcome: Outcome,
    sentence: str,
    *,
    evict: tuple[str, ...] = (),
    levers: tuple[str, ...] = (),
) -> Verdict:
    where, settings = found.placement, _told(case, found)
    served = compute_bytes(case.shape, settings, outputs=outputs(case.shape, settings))
    sum_ = replace(
        memory(case.shape, settings), compute_bytes=served, draft_bytes=sum(share.draft for share in where.shares)
    )
    host, *others = where.shares
    cards = [share for share in others if share.used]
    return Verdict(
        outcome=outcome,
        sentence=sentence,
        memory=sum_,
        settings=settings,
        shares=where.shares,
        exact_bytes=found.need,
        floor_bytes=sum(share.floor for share in cards) or budget.admission_floor(sum_.weights_bytes),
        admission_bytes=host.used + sum(share.charge for share in cards),
        ctx=found.window,
        gpu_layers=where.gpu_layers,
        pins=where.devices,
        evict=evict,
        levers=levers,
        notes=_notes(case, found, outcome),
    )


def _told(case: Case, found: Found) -> Settings:
    """The settings with the places written down, so that the engine puts things where they were planned."""
    where, settings = found.placement, found.settings
    draft = settings.draft
    if draft and where.draft_device == HOST:
        draft = Draft(draft.shape, replace(draft.settings, gpu_layers=0))
    elif draft:
        draft = Draft(draft.shape, replace(draft.settings, devices=(where.draft_device,)))
    with_host = where.projector_device == HOST
    # Told nothing, the engine would set up every device for prompts, although no layer lies there.
    devices = where.devices or ((NO_DEVICE,) if case.machine.pool else ())
    return replace(
        settings,
        kv_unified=settings.kv_unified and settings.parallel > 1,
        gpu_layers=where.gpu_layers,
        devices=devices,
        tensor_split=where.tensor_split,
        projector_offload=settings.projector_offload and not with_host,
        projector_device="" if with_host else where.projector_device,
        draft=draft,
    )


def _notes(case: Case, found: Found, outcome: Outcome) -> tuple[str, ...]:
    settings, machine = found.settings, case.machine
    projector, placed = settings.projector, outcome is not Outcome.NEVER
    notes = {
        "bound": not case.shape.known,
        "projector-bound": bool(projector and projector.upper_bound),
        "projector": bool(projector and not found.whole),
        "smaller-ctx": placed and not case.settings.ctx and found.window < wish(case.shape, case.settings, case.cap),
        "quantised": placed
        and not (case.settings.cache_type_k or case.settings.cache_type_v)
        and settings.cache_type_k != "f16",
        "mapped": placed and found.pages,
        "guard": not guard.may_load(case.weights, machine.ram_available),
        "unknown": not machine.ram_available,
    }
    return tuple(teaching.fit_note(what) for what, holds in notes.items() if holds)


def _without_plan(case: Case, sentence: str) -> Verdict:
    """A load that the engine would refuse: nothing is counted and nothing is placed."""
    machine = case.machine
    shares = (
        Share(HOST, machine.ram_total, machine.ram_available),
        *(Share(device.name, device.total, device.free) for device in machine.pool),
    )
    nothing = Memory(0, 0, 0, 0, 0, 0, 0, (), (), sentence, not case.shape.known)
    return Verdict(Outcome.REFUSED, sentence, nothing, case.settings, shares, 0, 0, 0, 0, 0)
