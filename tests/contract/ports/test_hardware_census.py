"""What every hardware census keeps to."""

import pytest

from blazar.adapters.hardware.census import CachedCensus, SystemCensus
from tests.fakes.hardware import FakeCensus, a_gpu, a_machine


def cached() -> CachedCensus:
    system = SystemCensus()
    return CachedCensus(system, system.ram, lambda: 0.0)


@pytest.fixture(
    params=[
        SystemCensus,
        cached,
        FakeCensus,
        lambda: FakeCensus(a_machine(gpus=[a_gpu(0), a_gpu(1, total=0, driver="")])),
    ]
)
def census(request):
    return request.param()


@pytest.fixture
def machine(census):
    return census.read()


def test_there_is_memory(machine):
    """Available memory is part of all memory."""
    assert 0 <= machine.ram_available <= machine.ram_total
    assert machine.ram_total > 0


def test_there_is_a_core(machine):
    """At least one core computes."""
    assert machine.cores >= 1


def test_cards_are_numbered(machine):
    """Ordinals run from 0, free memory is part of all memory, a card without a driver has none."""
    assert [gpu.ordinal for gpu in machine.gpus] == list(range(len(machine.gpus)))
    assert all(0 <= gpu.free <= gpu.total for gpu in machine.gpus)
    assert all(gpu.driver or not gpu.total for gpu in machine.gpus)


def test_it_may_be_told_to_forget(census):
    """At any time, also before the first reading; the machine stays the same one."""
    census.invalidate()
    first = census.read()
    census.invalidate()
    again = census.read()
    assert (again.ram_total, again.cores, len(again.gpus)) == (first.ram_total, first.cores, len(first.gpus))
