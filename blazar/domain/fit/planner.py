"""Whether a load fits a machine, where each byte goes, and who would have to leave. The only module that gives verdicts.

A request for a model that runs already is not planned again: that is its caller's business, as are reproducible answers (one
slot) and the watch over free memory before a spawn (`guard`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from blazar.domain import teaching
from blazar.domain.fit import budget, guard
from blazar.domain.fit.caches import aborts, refusal
from blazar.domain.fit.compute import compute_bytes
from blazar.domain.fit.demand import memory
from blazar.domain.fit.ladder import STEP, Case, Found, decide, rungs, wish
from blazar.domain.fit.levers import levers
from blazar.domain.fit.machine import Machine, Running
from blazar.domain.fit.placement import candidates
from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.shares import HOST, outputs
from blazar.domain.fit.verdict import Outcome, Share, Verdict

NO_DEVICE = "none"
"""What llama.cpp takes as the name of no device (`--device none`)."""

_PAIRS = 2
"""Idle models that are tried out exhaustively, in sets of up to this many; larger sets are found by leaving models out."""


def plan(shape: ModelShape, machine: Machine, settings: Settings, cap: int = 0) -> Verdict:
    """The verdict on loading `shape` on `machine` with `settings`; all sizes in it are bytes.

    Open settings (0, "", None) are decided and come back in `Verdict.settings`, which the engine can be told as they are. `cap` is
    the largest window to choose where `settings.ctx` is open, in tokens of one request (0: the trained one).

    `fits`: it may be loaded now. `fits-from-disk`: it may, with weights in main memory that it cannot hold all at a time.
    `fits-after-eviction`: idle models (`evict`) leave first, also where it would fit without but
    only with layers in main memory; nobody to evict means that something busy, or another program, has to end. `never`: not
    even on this machine with nothing loaded. `refused`: the engine would not take the settings.

    Unknown sizes refuse nothing. More free memory never makes a fitting load unfit; more context, slots or precision never
    makes an unfit one fit. Raises `Malformed` for an `override_tensor` pattern that cannot be read.
    """
    case = Case.of(shape, machine, settings, cap)
    if sentence := _refused(case):
        return _without_plan(case, sentence)
    found = decide(case)
    if found and found.whole:
        return _fits(case, found)
    idle = tuple(model for model in machine.running if model.idle and not model.pinned)
    if idle and (freed := decide(_after(case, idle))) and (freed.whole or not found):
        return _after_eviction(case, idle, freed)
    if found:
        return _fits(case, found)
    if empty := decide(case._replace(machine=_emptied(machine))):
        have = sum(device.free for device in candidates(machine, settings)) or machine.ram_available
        return _verdict(case, empty, Outcome.AFTER_EVICTION, teaching.fit_waits(empty.need, have))
    return _never(case)


def _refused(case: Case) -> str | None:
    """The engine's own refusals, what it would end itself over, and devices that are not there."""
    known = [device.name for device in case.machine.pool]
    for key, name in _named(case.settings):
        if name not in known and name != NO_DEVICE:
            return teaching.fit_no_device(key, name, known)
    window = wish(case.shape, case.settings, case.cap)
    asked = replace(case.settings, ctx=case.settings.ctx or window)
    keys, values = asked.cache_type_k, asked.cache_type_v
    asked = replace(asked, cache_type_k=keys or values, cache_type_v=values or keys)
    return refusal(case.shape, asked) or aborts(case.shape, asked)


def _named(settings: Settings) -> Iterator[tuple[str, str]]:
    """Devices that somebody configured, each with the key that names it."""
    yield from (("devices", name) for name in settings.devices)
    if settings.projector and settings.projector_device:
        yield "projector_device", settings.projector_device
    if settings.draft:
        yield from (("the draft's devices", name) for name in settings.draft.settings.devices)


def _after(case: Case, leaving: Iterable[Running]) -> Case:
    """The machine without these models: what they measurably use becomes free."""
    machine, ram, freed = case.machine, 0, dict[str, int]()
    for model in leaving:
        ram += model.host
        for name, size in model.devices:
            freed[name] = freed.get(name, 0) + size
    devices = tuple(
        device._replace(free=min(device.free + freed.get(device.name, 0), device.total)) for device in machine.devices
    )
    available = min(machine.ram_available + ram, machine.ram_total) if machine.ram_available else 0
    return case._replace(machine=replace(machine, ram_available=available, devices=devices))


def _emptied(machine: Machine) -> Machine:
    devices = tuple(device._replace(free=device.total) for device in machine.devices)
    return replace(machine, ram_available=machine.ram_total, devices=devices, running=())


def _after_eviction(case: Case, idle: Sequence[Running], freed: Found) -> Verdict:
    """The fewest that suffice, those first that are listed first (the least recently used)."""

    def suffices(leaving: Sequence[Running]) -> Found | None:
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


def _never(case: Case) -> Verdict:
    empty = case._replace(machine=_emptied(case.machine))
    asked = case.settings
    window = wish(case.shape, asked, case.cap) if asked.ctx else STEP
    *_, rung = rungs(case.shape, asked, window)
    failed = empty.at(window, case.slots, rung, partly=True)
    short = [share for share in failed.placement.shares if share.used and share.headroom < 0] or failed.placement.shares
    need = sum(share.used - share.mapped for share in short)
    have = sum(share.free - share.margin for share in short)
    helps = levers(empty, failed)
    if asked.kv_unified and asked.parallel > 1 and decide(empty.told(replace(asked, ctx=STEP))):
        sentence = teaching.fit_unified(asked.parallel, window, need, have)
        return _verdict(case, failed, Outcome.REFUSED, sentence, levers=helps)
    cards = len(candidates(case.machine, asked))
    sharded = teaching.fit_sharded(cards, failed.need // cards) if cards > 1 else ""
    sentence = teaching.fit_never([share.device for share in short], need, have, sharded)
    return _verdict(case, failed, Outcome.NEVER, sentence, levers=helps)


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
    exact = found.need
    used = sum(1 for share in where.shares[1:] if share.used)
    served = compute_bytes(case.shape, settings, outputs=outputs(case.shape, settings))
    sum_ = replace(memory(case.shape, settings), compute_bytes=served)
    return Verdict(
        outcome=outcome,
        sentence=sentence,
        memory=sum_,
        settings=settings,
        shares=where.shares,
        exact_bytes=exact,
        floor_bytes=budget.admission_floor(sum_.weights_bytes),
        admission_bytes=budget.admission_bytes(exact, used, sum_.weights_bytes),
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
        "guard": not guard.may_load(case.weights.total, machine.ram_available),
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
