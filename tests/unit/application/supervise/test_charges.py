"""Who uses memory, and what is left of it."""

import pytest

from blazar.application.ports.children import HOST, Measured
from blazar.application.supervise.charges import NOBODY, Tenant, Usage, usage_of
from blazar.domain.fit.machine import Device, Machine, Running

GIB = 2**30


def a_tenant(key="x", **changes):
    """A child that serves and rests, on 4 GiB of the card and one of main memory."""
    measured = Measured(GIB, GIB // 2, (("CUDA0", 4 * GIB),))
    return Tenant(key, 7, 5.0, False, False, measured, (), object())._replace(**changes)


def a_card(free):
    return Machine(16 * GIB, 8 * GIB, (Device("CUDA0", "cuda", 24 * GIB, free),))


def test_a_serving_model_is_charged_what_it_measurably_uses():
    """Nothing is taken off the card: its use is gone from the free memory already. Mapped pages in use are not free."""
    usage = usage_of([a_tenant()])
    assert usage.running == (Running("x", True, False, GIB, (("CUDA0", 4 * GIB),)),)
    left = usage.left_of(a_card(20 * GIB))
    assert (left.devices[0].free, left.ram_available) == (20 * GIB, 8 * GIB - GIB // 2)
    assert left.running == usage.running


@pytest.mark.parametrize(("so_far", "still"), [(0, 10), (4, 6), (10, 0), (12, 0)])
def test_a_loading_model_is_charged_the_larger_of_plan_and_use(so_far, still):
    """What it took is gone already; the rest of its promise is taken off, and never less than nothing."""
    measured = Measured(0, 0, (("CUDA0", so_far * GIB),))
    loading = a_tenant(idle_since=None, measured=measured, promised=(("CUDA0", 10 * GIB), (HOST, GIB)))
    left = usage_of([loading]).left_of(a_card(20 * GIB))
    assert left.devices[0].free == (20 - still) * GIB
    assert left.ram_available == 7 * GIB
    assert not left.running[0].idle


def test_the_driver_knows_more_than_the_engine():
    """Of a device the larger figure counts, and one that only the driver saw counts as well."""
    usage = usage_of([a_tenant()], {7: {"CUDA0": 5 * GIB, "CUDA1": GIB}})
    assert dict(usage.running[0].devices) == {"CUDA0": 5 * GIB, "CUDA1": GIB}
    assert dict(usage_of([a_tenant()], {7: {"CUDA0": GIB}}).running[0].devices) == {"CUDA0": 4 * GIB}


def test_who_goes_first():
    """Those that leave anyway, then the longest idle; a pin holds until its model leaves for another reason."""
    tenants = [
        a_tenant("young", idle_since=9.0),
        a_tenant("old", idle_since=1.0),
        a_tenant("gone", idle_since=None, leaving=True, pinned=True),
        a_tenant("kept", idle_since=2.0, pinned=True),
    ]
    running = usage_of(tenants).running
    assert [one.key for one in running] == ["gone", "old", "kept", "young"]
    assert [one.key for one in running if one.idle and not one.pinned] == ["gone", "old", "young"]


def test_everybody_comes_to_rest():
    """Busy ones count as idle, loading ones as if they had all they were promised; what is out is no more for that."""
    busy = a_tenant("busy", idle_since=None)
    loading = a_tenant("loading", idle_since=None, promised=(("CUDA0", 10 * GIB),))
    rested = usage_of([busy, loading], rested=True)
    assert all(one.idle for one in rested.running)
    assert dict(rested.running[1].devices)["CUDA0"] == 10 * GIB
    assert rested.outstanding == usage_of([busy, loading]).outstanding


def test_unknown_stays_unknown_and_known_never_becomes_it():
    """0 bytes of main memory mean that nobody knows: planning must neither refuse for it nor come to it."""
    unknown = Machine(0, 0)
    assert usage_of([a_tenant()]).left_of(unknown).ram_available == 0
    assert Usage(mapped=99 * GIB).left_of(a_card(GIB)).ram_available == 1
    assert NOBODY.left_of(a_card(GIB)) == a_card(GIB)
    assert unknown.without({"x"}).ram_available == 0


def test_what_leaves_gives_back_what_it_uses():
    """Never more than there is; the others stay."""
    machine = usage_of([a_tenant(), a_tenant("y")]).left_of(a_card(19 * GIB))
    one = machine.without({"x"})
    assert (one.devices[0].free, [left.key for left in one.running]) == (23 * GIB, ["y"])
    assert one.ram_available == machine.ram_available + GIB
    assert machine.without({"x", "y"}).devices[0].free == 24 * GIB


def test_a_child_is_another_once_it_is_ready_or_replaced():
    """Between a look and its use neither may have happened."""
    tenure = object()
    loading = a_tenant(tenure=tenure, promised=((HOST, 1),))
    assert loading.phase != loading._replace(promised=()).phase
    assert loading.phase != loading._replace(tenure=object()).phase
    assert loading.phase == loading._replace(idle_since=None, leaving=True).phase


def test_odd_a_sleeping_model_keeps_its_claim():
    """Or somebody else would lie where it wakes up. It would give back no more than it has, and awake it claims nothing twice."""
    asleep = a_tenant(measured=Measured(GIB // 4, 0, (("CUDA0", 4 * GIB),)), again=((HOST, GIB),))
    left = usage_of([asleep]).left_of(a_card(20 * GIB))
    assert left.ram_available == 8 * GIB - GIB * 3 // 4
    assert left.without({"x"}).ram_available == 8 * GIB + GIB // 4, "once it is gone nobody claims what it had let go"
    awake = a_tenant(again=((HOST, GIB),))
    assert usage_of([awake]).left_of(a_card(20 * GIB)) == usage_of([a_tenant()]).left_of(a_card(20 * GIB))
    assert usage_of([asleep], gone={"x"}).left_of(a_card(20 * GIB)).ram_available == 8 * GIB + GIB // 4
    assert usage_of([asleep], rested=True).running == usage_of([asleep]).running


def test_odd_a_sleeping_model_keeps_its_claim_on_a_card():
    """The driver tells what it holds there now. Where it does not, what the engine once said is all there is, and claims nothing."""
    asleep = a_tenant(again=((HOST, GIB),))
    usage = usage_of([asleep], {7: {"CUDA0": GIB}})
    left = usage.left_of(a_card(23 * GIB))
    assert left.devices[0].free == 20 * GIB
    assert left.without({"x"}).devices[0].free == 24 * GIB
    gone = usage_of([asleep], {7: {"CUDA0": GIB}}, gone={"x"}).left_of(a_card(22 * GIB))
    assert gone.devices[0].free == 23 * GIB
    assert usage_of([asleep]).left_of(a_card(20 * GIB)).devices[0].free == 20 * GIB
    awake = a_tenant(), {7: {"CUDA0": GIB}}
    assert usage_of([awake[0]], awake[1]).outstanding == (), "one that never sleeps has let nothing go"
    loading = a_tenant(again=((HOST, 0),), promised=(("CUDA0", 5 * GIB),))
    assert dict(usage_of([loading], {7: {"CUDA0": GIB}}).outstanding) == {"CUDA0": GIB}, "it is claimed once"
