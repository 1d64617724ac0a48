"""Whether a load fits, and who would have to leave."""

from dataclasses import astuple, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.budget import MARGIN_PER_DEVICE, admission_floor, charge
from blazar.domain.fit.demand import memory
from blazar.domain.fit.machine import GIB, Device, Machine, Running, imagined
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import CACHE_TYPES, Draft, Settings
from blazar.domain.fit.shape import Projector
from blazar.domain.fit.verdict import Outcome
from tests.support.fit_rows import models, shape_of
from tests.support.fit_shapes import CLOSED, DENSE, MIB, Dense, cards

BIG = Dense(size=16 * GIB).shape()
HUGE = Dense(size=100 * GIB).shape()
MAY = {Outcome.FITS, Outcome.PAGES, Outcome.AFTER_EVICTION}


def busy(free: float, *running: Running, card: float = 24) -> Machine:
    """One card with this much GiB free, and who sits on it."""
    device = Device("CUDA0", "cuda", int(card * GIB), int(free * GIB))
    return Machine(64 * GIB, 60 * GIB, (device,), running)


def idle(key: str, gib: float, *, pinned: bool = False, at_work: bool = False) -> Running:
    return Running(key, not at_work, pinned, 0, (("CUDA0", int(gib * GIB)),))


def test_a_load_that_fits_says_how_much_stays_free():
    """Per device; the settings can be told to the engine as they are."""
    verdict = plan(DENSE, cards(24), CLOSED)
    assert verdict.fits
    assert verdict.shares[1].headroom > 10 * GIB
    assert (verdict.settings.gpu_layers, verdict.settings.devices, verdict.pins) == (33, ("CUDA0",), ("CUDA0",))
    assert verdict.gpu_layers == 33
    assert verdict.sentence == teaching.fit_whole(["CUDA0"], verdict.shares[1].used, verdict.shares[1].headroom)


def test_nothing_stays_open():
    """Every value that was 0, "" or None is decided."""
    told = plan(BIG, cards(12, 12), Settings(), 16384).settings
    assert told.ctx > 0
    assert told.parallel > 0
    assert told.cache_type_k
    assert told.cache_type_v
    assert told.gpu_layers == 33
    assert len(told.tensor_split) == len(told.devices) == 2


def test_what_was_planned_can_be_planned_again():
    """A plan's settings, asked for, give the same plan."""
    first = plan(BIG, cards(12, 12), Settings(), 16384)
    again = plan(BIG, cards(12, 12), first.settings)
    assert (again.shares, again.settings, again.exact_bytes) == (first.shares, first.settings, first.exact_bytes)


def test_on_the_host_alone_the_sum_is_what_memory_says():
    """One device holds it all."""
    verdict = plan(DENSE, cards(), CLOSED)
    assert verdict.exact_bytes == verdict.memory.total_bytes == verdict.shares[0].used


def test_admission_is_charged_the_sum_with_its_margins_or_the_floor():
    """Card by card; the host has neither. Both figures are in the verdict."""
    verdict = plan(BIG, cards(12, 12), CLOSED)
    host, *both = verdict.shares
    assert verdict.exact_bytes == sum(share.used for share in verdict.shares)
    assert verdict.floor_bytes == sum(admission_floor(share.weights) for share in both)
    assert verdict.admission_bytes == host.used + sum(charge(share.used, share.weights) for share in both)
    assert verdict.admission_bytes >= verdict.exact_bytes + 2 * MARGIN_PER_DEVICE
    heavy = plan(BIG, cards(24), CLOSED)
    assert heavy.admission_bytes == heavy.shares[0].used + heavy.floor_bytes


def test_without_a_card_the_floor_is_only_told():
    """Main memory has a guard of its own."""
    verdict = plan(BIG, cards(ram=18), CLOSED)
    assert verdict.fits
    assert verdict.floor_bytes == admission_floor(16 * GIB)
    assert verdict.admission_bytes == verdict.exact_bytes < verdict.floor_bytes


def test_the_floor_decides():
    """40 GiB of weights leave a margin on a card of 44 GiB, and their floor is 47.1 GiB: an empty one does not help either."""
    whole = Dense(size=40 * GIB).shape()
    asked = replace(CLOSED, gpu_layers=33)
    verdict = plan(whole, cards(44), asked)
    assert verdict.shares[1].headroom > 0
    assert verdict.outcome is Outcome.NEVER
    card = verdict.shares[1]
    assert verdict.sentence == teaching.fit_never(["CUDA0"], card.floor, 44 * GIB, "") + teaching.fit_floor(
        card.weights, card.floor
    )
    assert plan(whole, cards(48), asked).fits
    part = plan(whole, cards(44), CLOSED)
    assert part.fits
    assert part.gpu_layers < 33


def test_layers_in_main_memory_are_named():
    """How many of how many."""
    verdict = plan(BIG, cards(12), CLOSED)
    assert verdict.fits
    assert 0 < verdict.gpu_layers < 33
    assert f"{verdict.gpu_layers} of 33 layers" in verdict.sentence


def test_a_projector_that_pushes_layers_out_is_named():
    """Case F8: 5 GiB and a projector of 1 GiB on a card of 6 GiB."""
    asked = replace(CLOSED, projector=Projector("clip", GIB, 0))
    verdict = plan(Dense(size=5 * GIB).shape(), cards(6), asked)
    assert verdict.gpu_layers < 33
    assert teaching.fit_note("projector") in verdict.notes


def test_a_trained_window_of_a_million_does_not_abort():
    """Case F14: on 20 GB the window is smaller."""
    verdict = plan(Dense(trained=2**20).shape(), imagined((20,), 64), Settings())
    assert verdict.fits
    assert 4096 <= verdict.ctx < 2**20
    assert teaching.fit_note("smaller-ctx") in verdict.notes
    assert teaching.fit_note("quantised") in verdict.notes


def test_the_window_of_a_verdict_is_one_requests():
    """The engine is told as many times that as it has slots."""
    verdict = plan(DENSE, cards(24), Settings(ctx=8192, parallel=2))
    assert (verdict.ctx, verdict.settings.ctx) == (4096, 8192)


def test_what_runs_keeps_what_it_uses():
    """A busy model is not asked to leave for a load that fits beside it."""
    verdict = plan(DENSE, busy(16, idle("a", 8)), CLOSED)
    assert verdict.fits
    assert verdict.evict == ()


def test_one_idle_model_leaves_where_that_is_enough():
    """The one that was used longest ago, of those that suffice."""
    verdict = plan(DENSE, busy(4, idle("small", 1), idle("a", 8), idle("b", 9)), CLOSED)
    assert (verdict.outcome, verdict.evict) == (Outcome.AFTER_EVICTION, ("a",))
    assert not verdict.fits


def test_two_leave_where_one_is_not_enough():
    """In their order."""
    verdict = plan(BIG, busy(4, idle("a", 6), idle("b", 2), idle("c", 12)), CLOSED)
    assert verdict.evict == ("a", "c")


def test_of_many_only_those_leave_that_must():
    """Three of five; what is not needed stays."""
    models_ = [idle("a", 5), idle("b", 0.1), idle("c", 5), idle("d", 0.1), idle("e", 5)]
    verdict = plan(BIG, busy(4, *models_), CLOSED)
    assert verdict.evict == ("a", "c", "e")


@pytest.mark.parametrize("kept", [idle("a", 20, pinned=True), idle("a", 20, at_work=True)])
def test_pinned_and_busy_models_do_not_leave(kept):
    """Layers go to main memory instead."""
    verdict = plan(BIG, busy(4, kept), CLOSED)
    assert verdict.fits
    assert verdict.gpu_layers < 33


def test_idle_models_leave_before_layers_do():
    """A model half in main memory is slow for as long as it runs."""
    verdict = plan(DENSE, busy(6, idle("a", 18)), CLOSED)
    assert verdict.outcome is Outcome.AFTER_EVICTION
    assert verdict.gpu_layers == 33


def test_idle_models_stay_where_their_leaving_would_not_keep_layers_together():
    """The load is partly in main memory either way."""
    verdict = plan(Dense(size=40 * GIB).shape(), busy(6, idle("a", 18)), CLOSED)
    assert verdict.fits
    assert verdict.evict == ()


def test_a_busy_machine_is_waited_for():
    """It would fit an empty one: nobody is named, since nobody idle frees enough."""
    verdict = plan(DENSE, busy(4, idle("a", 20, at_work=True)), replace(CLOSED, gpu_layers=33))
    assert (verdict.outcome, verdict.evict) == (Outcome.AFTER_EVICTION, ())
    assert verdict.sentence == teaching.fit_waits(verdict.exact_bytes, 4 * GIB)


def test_what_never_fits_is_refused_with_numbers_and_levers():
    """Not even with nothing else loaded."""
    verdict = plan(HUGE, cards(24, 24, ram=16), CLOSED)
    assert verdict.outcome is Outcome.NEVER
    assert "GiB are needed" in verdict.sentence
    assert "even sharded across 2 cards" in verdict.sentence
    assert "blazar fit" in verdict.sentence
    assert verdict.levers


def test_never_is_judged_on_the_empty_machine():
    """What others use now does not count."""
    assert plan(DENSE, busy(1, idle("a", 23, at_work=True), card=24), replace(CLOSED, gpu_layers=33)).outcome in MAY
    assert plan(HUGE, cards(24, free=0.1, ram=16), CLOSED).outcome is Outcome.NEVER


def test_what_the_engine_refuses_is_said_before():
    """Its sentence, no numbers."""
    asked = replace(CLOSED, cache_type_v="q4_0", flash_attention=False)
    verdict = plan(DENSE, cards(24), asked)
    assert verdict.outcome is Outcome.REFUSED
    assert verdict.sentence == verdict.memory.refused == memory(DENSE, asked).refused
    assert verdict.exact_bytes == 0


def test_what_the_engine_would_end_itself_over_is_said_before():
    """Although it could be counted."""
    asked = replace(CLOSED, batch=3, parallel=4)
    verdict = plan(DENSE, cards(24), asked)
    assert verdict.outcome is Outcome.REFUSED
    assert verdict.sentence == teaching.batch_below_slots(3, 4)
    assert memory(DENSE, asked).refused is None


def test_what_the_engine_refuses_of_a_draft_is_said_before():
    """Else it would count for nothing."""
    draft = Draft(Dense(blocks=4, size=GIB).shape(), Settings(cache_type_v="q4_0", flash_attention=False))
    verdict = plan(DENSE, cards(24), replace(CLOSED, draft=draft))
    assert verdict.outcome is Outcome.REFUSED
    assert verdict.sentence == memory(draft.shape, draft.settings).refused


def test_no_more_slots_are_chosen_than_a_batch_has_tokens():
    """Each needs one."""
    verdict = plan(DENSE, cards(24), replace(CLOSED, batch=3, parallel=0))
    assert verdict.fits
    assert verdict.settings.parallel == 3


def test_a_device_that_is_not_there_is_refused():
    """With those that are."""
    verdict = plan(DENSE, cards(24), replace(CLOSED, devices=("CUDA7",)))
    assert verdict.sentence == teaching.fit_no_device("devices", "CUDA7", ["CUDA0"])
    assert plan(DENSE, cards(24), replace(CLOSED, devices=("none",))).gpu_layers == 0
    away = replace(CLOSED, projector=Projector("clip", GIB, 0), projector_device="CUDA7")
    assert plan(DENSE, cards(24), away).sentence == teaching.fit_no_device("mmproj_device", "CUDA7", ["CUDA0"])
    draft = replace(CLOSED, draft=Draft(DENSE, replace(CLOSED, devices=("CUDA7",))))
    assert plan(DENSE, cards(24), draft).outcome is Outcome.REFUSED


def test_a_device_without_layers_is_not_touched():
    """The engine would set it up for prompts all the same."""
    assert plan(DENSE, cards(24), replace(CLOSED, gpu_layers=0)).settings.devices == ("none",)
    assert plan(DENSE, cards(), CLOSED).settings.devices == ()


def test_a_shared_cache_without_room_for_one_window_names_four_levers():
    """One sentence: ctx, cache_type, types of each side, layers."""
    asked = Settings(ctx=131072, parallel=4, kv_unified=True, cache_type_k="f16", cache_type_v="f16", gpu_layers=33)
    verdict = plan(DENSE, cards(12, ram=16), asked)
    assert verdict.outcome is Outcome.REFUSED
    for lever in ("ctx", "cache_type", "cache_type_k", "gpu layers"):
        assert lever in verdict.sentence


def test_windows_of_their_own_in_one_cache_are_planned_one_by_one():
    """As slots that are chosen have them: the verdict and its levers speak of one request's."""
    asked = Settings(ctx=65536, parallel=4, kv_unified=True, own_windows=True, cache_type_k="f16", cache_type_v="f16")
    verdict = plan(DENSE, cards(80), asked)
    chosen = plan(DENSE, cards(80), Settings(ctx=16384, kv_unified=True, cache_type_k="f16", cache_type_v="f16"))
    for one in (verdict, chosen):
        assert (one.ctx, one.settings.ctx, one.settings.parallel, one.settings.kv_unified) == (16384, 65536, 4, True)
    assert verdict.exact_bytes == chosen.exact_bytes
    open_window = plan(DENSE, cards(80), replace(asked, ctx=0), 16384)
    assert (open_window.ctx, open_window.exact_bytes) == (16384, verdict.exact_bytes)
    tight = plan(DENSE, cards(8), replace(asked, ctx=4 * 131072, gpu_layers=33))
    assert tight.outcome is Outcome.NEVER
    assert teaching.fit_unified(4, 131072, 0, 0)[:40] not in tight.sentence


def test_weights_that_never_fit_are_no_matter_of_the_cache():
    """A shared cache or not."""
    asked = Settings(ctx=131072, parallel=4, kv_unified=True, gpu_layers=33)
    assert plan(HUGE, cards(12), asked).outcome is Outcome.NEVER


def test_an_unreadable_override_is_malformed():
    """Its pattern is the person's."""
    with pytest.raises(Malformed):
        plan(DENSE, cards(24), replace(CLOSED, override_tensor=(("(", "CPU"),)))


def test_an_unknown_architecture_is_said_to_be_a_bound():
    """The figures are meant to be too high."""
    verdict = plan(replace(DENSE, known=False), cards(24), CLOSED)
    assert teaching.fit_note("bound") in verdict.notes
    assert verdict.memory.upper_bound


def test_the_guard_is_announced():
    """A plan for cards may still meet too little main memory for the load itself."""
    assert teaching.fit_note("guard") in plan(BIG, cards(24, ram=4), CLOSED).notes
    assert plan(BIG, cards(24, ram=32), CLOSED).notes == ()


def test_weights_that_main_memory_cannot_hold_at_a_time_do_not_fit():
    """They can be loaded as `spawn_mem_guard` allows, which is no fit; nothing is gained by a coarser cache."""
    verdict = plan(BIG, cards(ram=12), Settings())
    assert verdict.outcome is Outcome.PAGES
    assert verdict.fits
    assert verdict.settings.cache_type_k == "f16"
    host = verdict.shares[0]
    assert verdict.sentence == teaching.fit_from_disk(host.used, host.free - host.margin)
    assert teaching.fit_note("mapped") in verdict.notes
    assert plan(BIG, cards(ram=7), Settings()).outcome is Outcome.NEVER
    assert plan(BIG, cards(ram=12), Settings(mmap=False)).outcome is Outcome.NEVER


def test_idle_models_leave_before_weights_are_read_again_and_again():
    """Also on a machine without a card."""
    machine = Machine(32 * GIB, 14 * GIB, (), (Running("old", idle=True, pinned=False, host=12 * GIB),))
    verdict = plan(BIG, machine, CLOSED)
    assert (verdict.outcome, verdict.evict) == (Outcome.AFTER_EVICTION, ("old",))


def test_a_machine_that_tells_nothing_refuses_nothing():
    """Unknown sizes are 0."""
    verdict = plan(HUGE, Machine(0, 0), CLOSED)
    assert verdict.fits
    assert teaching.fit_note("unknown") in verdict.notes


def test_where_projector_and_draft_go_is_told_to_the_engine():
    """By name, or that they stay with the host."""
    asked = replace(CLOSED, projector=Projector("clip", GIB, 0), draft=Draft(Dense(blocks=4, size=GIB).shape(), CLOSED))
    told = plan(BIG, cards(12, 14), asked).settings
    assert told.projector_device == "CUDA0"
    assert told.draft is not None
    assert told.draft.settings.devices == ("CUDA1",)
    host = plan(BIG, cards(), asked).settings
    assert not host.projector_offload
    assert host.draft is not None
    assert host.draft.settings.gpu_layers == 0


@pytest.mark.parametrize("name", list(models()))
def test_every_measured_model_can_be_planned(name):
    """On all kinds of machines; each byte is in one share, and what fits is nowhere short."""
    shape = shape_of(name)
    for machine in (cards(), cards(24), cards(10, 10, 2), cards(1.1, 1.2, ram=1)):
        for asked in (Settings(), Settings(ctx=4096, parallel=2), Settings(parallel=2, kv_unified=True)):
            verdict = plan(shape, machine, asked, 16384)
            assert sum(share.used for share in verdict.shares) == verdict.exact_bytes
            assert not verdict.fits or all(share.headroom >= 0 for share in verdict.shares)
            assert not verdict.settings.tensor_split or sum(verdict.settings.tensor_split) == verdict.gpu_layers


SIZES = st.integers(1, 30 * 1024)  # MiB
MACHINES = st.builds(
    lambda free, ram: Machine(
        256 * GIB,
        ram * MIB,
        tuple(Device(f"CUDA{index}", "cuda", 40 * GIB, size * MIB) for index, size in enumerate(free)),
    ),
    st.lists(SIZES, max_size=4),
    st.integers(1, 64 * 1024),
)
TYPES = ("", *CACHE_TYPES)
ASKED = st.builds(
    Settings,
    ctx=st.sampled_from((0, 512, 8192, 131072)),
    parallel=st.integers(0, 5),
    cache_type_k=st.sampled_from(("", "f16", "q8_0", "q4_0")),
    cache_type_v=st.sampled_from(("", "f16", "q8_0")),
    kv_unified=st.booleans(),
    kv_offload=st.booleans(),
    gpu_layers=st.sampled_from((None, None, -1, 0, 12)),
    cpu_moe_n=st.sampled_from((0, 0, 10)),
    lora_bytes=st.sampled_from(((), (GIB,))),
    projector=st.sampled_from((None, Projector("clip", GIB, 300 * MIB))),
    draft=st.sampled_from((None, Draft(Dense(blocks=4, size=GIB).shape(), Settings()))),
)
SHAPES = st.sampled_from((DENSE, BIG, Dense(size=30 * GIB, experts=8).shape()))


@settings(max_examples=120, deadline=None)
@given(SHAPES, MACHINES, ASKED, st.integers(0, 4), st.integers(0, 20 * 1024))
def test_more_free_memory_never_makes_a_fit_unfit(shape, machine, asked, index, more):
    """On any device, or in main memory."""
    devices = list(machine.devices)
    ram = machine.ram_available
    if index < len(devices):
        devices[index] = devices[index]._replace(free=min(devices[index].free + more * MIB, 40 * GIB))
    else:
        ram += more * MIB
    roomier = replace(machine, ram_available=ram, devices=tuple(devices))
    if plan(shape, machine, asked, 16384).fits:
        assert plan(shape, roomier, asked, 16384).fits


def costlier(asked: Settings) -> list[Settings]:
    ctx = asked.ctx
    grown = [replace(asked, ctx=ctx * 2)] if ctx else []
    if asked.parallel:
        grown.append(replace(asked, parallel=asked.parallel + 1, ctx=ctx // asked.parallel * (asked.parallel + 1)))
    if asked.cache_type_k == "q8_0":
        grown.append(replace(asked, cache_type_k="f16", cache_type_v=asked.cache_type_v or "f16"))
    return grown


@settings(max_examples=120, deadline=None)
@given(SHAPES, MACHINES, ASKED)
def test_more_context_slots_or_precision_never_makes_an_unfit_load_fit(shape, machine, asked):
    """Each of them alone."""
    if not plan(shape, machine, asked, 16384).fits:
        for more in costlier(asked):
            assert not plan(shape, machine, more, 16384).fits, more


CLOSED_ASKED = ASKED.filter(lambda asked: asked.cache_type_k and asked.ctx and asked.parallel)


@settings(max_examples=80, deadline=None)
@given(SHAPES, CLOSED_ASKED)
def test_more_context_slots_or_precision_never_costs_less(shape, asked):
    """On the host alone, where places play no part."""
    cost = plan(shape, Machine(0, 0), asked).exact_bytes
    for more in costlier(asked):
        assert plan(shape, Machine(0, 0), more).exact_bytes >= cost


def places(verdict):
    """Where everything lies that is not the host's."""
    told = verdict.settings
    draft = told.draft and (told.draft.settings.devices, told.draft.settings.gpu_layers)
    return verdict.pins, verdict.gpu_layers, told.tensor_split, told.projector_device, told.projector_offload, draft


@settings(max_examples=120, deadline=None)
@given(SHAPES, MACHINES, CLOSED_ASKED)
def test_in_the_same_places_more_never_costs_less_on_any_device(shape, machine, asked):
    """Sums of different places are no match: all on several devices, each keeps its inputs four times."""
    less = plan(shape, machine, asked)
    for more in (plan(shape, machine, grown) for grown in costlier(asked)):
        if less.placed and more.placed and places(less) == places(more):
            assert more.exact_bytes >= less.exact_bytes
            assert all(after.used >= before.used for before, after in zip(less.shares, more.shares, strict=True))


FREE = st.one_of(st.just(0), st.integers(0, 3 * 1024), SIZES)
ODD_DEVICES = st.builds(
    lambda kind, free, shared: (kind, free * MIB, shared and kind == "vulkan"),
    st.sampled_from(("cuda", "cuda", "rpc", "vulkan")),
    FREE,
    st.booleans(),
)
ODD_MACHINES = st.builds(
    lambda rows, ram: Machine(
        256 * GIB,
        ram * MIB,
        tuple(
            Device(f"{kind.upper()}{number}", kind, 40 * GIB, free, "10.0.0.2:5", shared)
            for number, (kind, free, shared) in enumerate(rows)
        ),
    ),
    st.lists(ODD_DEVICES, max_size=5),
    st.one_of(st.just(0), st.integers(1, 8 * 1024), st.integers(1, 64 * 1024)),
)
MEASURED = st.builds(
    lambda name, times: replace(
        shape_of(name), tensors=tuple(row._replace(bytes=times * row.bytes) for row in shape_of(name).tensors)
    ),
    st.sampled_from(sorted(models())),
    st.sampled_from((1, 64, 4096)),
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(SHAPES, MEASURED), ODD_MACHINES, ASKED)
def test_what_fits_is_nowhere_short(shape, machine, asked):
    """On every used device its part with a margin is free, and its floor; so is the host's part, with what devices borrow there."""
    verdict = plan(shape, machine, asked, 16384)
    if not verdict.fits:
        return
    host, *others = verdict.shares
    free = {device.name: device for device in machine.pool}
    for share in others:
        if share.used:
            assert share.used + MARGIN_PER_DEVICE <= free[share.device].free
            assert admission_floor(share.weights) <= free[share.device].free
    if machine.ram_available:
        borrowed = sum(share.used for share in others if free[share.device].shared)
        assert host.used - host.mapped + borrowed + host.margin <= machine.ram_available
        assert host.used + host.margin <= machine.ram_available or verdict.outcome is Outcome.PAGES


@settings(max_examples=80, deadline=None)
@given(SHAPES, MACHINES, ASKED)
def test_a_plan_is_consistent(shape, machine, asked):
    """Its sums, its layers and its devices agree; asked again, it is the same."""
    verdict = plan(shape, machine, asked, 16384)
    assert verdict == plan(shape, machine, asked, 16384)
    assert sum(share.used for share in verdict.shares) == verdict.exact_bytes
    assert sum(share.weights for share in verdict.shares) == verdict.memory.weights_bytes
    assert sum(share.kv for share in verdict.shares) == verdict.memory.kv_bytes
    assert sum(share.lora for share in verdict.shares) == verdict.memory.lora_bytes
    assert sum(share.projector for share in verdict.shares) == verdict.memory.projector_bytes
    assert sum(share.draft for share in verdict.shares) == verdict.memory.draft_bytes
    assert verdict.admission_bytes >= verdict.exact_bytes
    assert verdict.admission_bytes >= verdict.floor_bytes or not verdict.pins
    assert set(verdict.pins) == {
        share.device for share in verdict.shares[1:] if share.weights and share.device != "host"
    }
    assert verdict.fits <= all(share.headroom >= 0 for share in verdict.shares)


def left_by(machine: Machine, keys: tuple[str, ...]) -> Machine:
    """What the machine is like once these have left."""
    gone = [model for model in machine.running if model.key in keys]
    freed = {device.name: sum(dict(model.devices).get(device.name, 0) for model in gone) for device in machine.devices}
    return replace(
        machine,
        devices=tuple(device._replace(free=device.free + freed[device.name]) for device in machine.devices),
        running=tuple(model for model in machine.running if model.key not in keys),
    )


@pytest.mark.parametrize("layers", [-1, 33])
def test_nobody_leaves_for_a_load_in_a_tiny_window_that_does_not_need_it(layers):
    """All layers on devices in a window below the ladder's floor: one model has to leave for it, and only that one does."""
    devices = tuple(Device(f"CUDA{index}", "cuda", 48 * GIB, free * MIB) for index, free in enumerate((2778, 2626)))
    none = Running("none", True, False, 0, (("CUDA0", 0), ("CUDA1", 0)))
    some = Running("some", True, False, 0, (("CUDA0", 0), ("CUDA1", 4810 * MIB)))
    machine = Machine(64 * GIB, 64 * GIB, devices, (none, some))
    assert plan(DENSE, machine, Settings(gpu_layers=layers), 16384).evict == ("some",)


TENANTS = st.lists(
    st.builds(
        lambda first, second, idle, pinned: (idle, pinned, (("CUDA0", first * MIB), ("CUDA1", second * MIB))),
        st.integers(0, 6000),
        st.integers(0, 6000),
        st.booleans(),
        st.sampled_from((False, False, True)),
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(
    SHAPES, TENANTS, st.integers(0, 12000), st.integers(0, 12000), st.sampled_from((CLOSED, Settings(gpu_layers=-1)))
)
def test_those_who_leave_suffice_and_each_is_needed(shape, tenants, first, second, asked):
    """They are idle and not pinned; without them it fits, and with one of them it would not, or not wholly on devices."""
    devices = tuple(Device(f"CUDA{index}", "cuda", 48 * GIB, free * MIB) for index, free in enumerate((first, second)))
    running = tuple(Running(f"m{index}", idle, pinned, 0, held) for index, (idle, pinned, held) in enumerate(tenants))
    machine = Machine(64 * GIB, 64 * GIB, devices, running)
    verdict = plan(shape, machine, asked, 16384)
    assert all(model.idle and not model.pinned for model in running if model.key in verdict.evict)
    if verdict.evict:
        after = plan(shape, left_by(machine, verdict.evict), asked, 16384)
        assert after.fits
        assert after.shares == verdict.shares
        for key in verdict.evict:
            fewer = tuple(other for other in verdict.evict if other != key)
            less = plan(shape, left_by(machine, fewer), asked, 16384)
            assert not less.fits or less.gpu_layers < verdict.gpu_layers


@pytest.mark.parametrize("zeros", [(0,), (0.0, 0.0), (0, 0, 0, 0), (0, 0, 5)])
def test_ratios_of_nothing_are_no_ratios(zeros):
    """The engine splits as if it were told none where every device of the load has 0, whatever stands behind them."""
    asked = replace(CLOSED, tensor_split=zeros)
    assert plan(BIG, cards(12, 12), asked) == plan(BIG, cards(12, 12), CLOSED)
    assert plan(BIG, cards(12, 12), asked).gpu_layers == 33


def test_a_ratio_of_nothing_for_one_device_keeps_it_empty():
    """Only all of them together are none."""
    verdict = plan(DENSE, cards(24, 24), replace(CLOSED, tensor_split=(0, 1)))
    assert [share.weights > 0 for share in verdict.shares[1:]] == [False, True]


@pytest.mark.parametrize("devices", [("CUDA0", "CUDA0"), ("CUDA0", "CUDA1", "CUDA0")])
def test_a_device_that_is_named_twice_is_no_second_one(devices):
    """Its memory would count twice: refused by the key, for a draft as well."""
    for asked in (replace(CLOSED, devices=devices), replace(CLOSED, draft=Draft(DENSE, Settings(devices=devices)))):
        with pytest.raises(Malformed, match="each once") as refused:
            plan(BIG, cards(12, 12), asked)
        assert refused.value.field.endswith("devices")


@pytest.mark.parametrize("key", ["cache_type_k", "cache_type_v"])
def test_a_cache_type_that_nobody_knows_is_named_by_its_key(key):
    """The other one follows it where it is open, and is not to blame."""
    for asked in (Settings(**{key: "nope"}), Settings(ctx=4096, **{key: "nope"})):
        verdict = plan(DENSE, cards(24), asked)
        assert verdict.outcome is Outcome.REFUSED
        assert verdict.sentence == teaching.cache_type_unknown(key, "nope", tuple(CACHE_TYPES))
        assert memory(DENSE, asked).refused == verdict.sentence


@pytest.mark.parametrize("key", [field.name for field in fields(Settings) if isinstance(field.default, bool)])
def test_a_switch_is_true_or_false(key):
    """What cannot be hashed would break the planner's memory of what it counted before."""
    with pytest.raises(Malformed, match="true or false") as refused:
        plan(DENSE, cards(24), Settings(ctx=4096, **{key: []}))
    assert refused.value.field == key


_ODD = st.one_of(
    st.sampled_from(
        [-1, 0, 1, 10**400, 2.5, float("nan"), float("inf"), None, True, "", "nope", b"x", (), [], {}, (1,)]
    ),
    st.integers(),
    st.text(max_size=3),
)


def answered(asked):
    """The verdict, or the key that is to blame."""
    try:
        return plan(DENSE, cards(24), asked), None
    except Malformed as refused:
        return None, refused.field


@given(st.dictionaries(st.sampled_from([field.name for field in fields(Settings)]), _ODD, max_size=4))
@settings(max_examples=150, deadline=None)
def test_whatever_is_asked_is_answered(odd):
    """Any value of any setting ends in a verdict without a negative byte, or in a refusal that names the key."""
    verdict, blamed = answered(Settings(**odd))
    if verdict is None:
        assert blamed in odd
    else:
        assert verdict.sentence
        assert all(min(astuple(share)[1:]) >= 0 for share in verdict.shares)
