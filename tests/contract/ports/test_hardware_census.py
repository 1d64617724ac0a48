"""What every hardware census keeps to."""

import pytest

from blazar.adapters.hardware.census import SystemCensus
from tests.fakes.hardware import FakeCensus, a_gpu, a_machine


@pytest.fixture(
    params=[SystemCensus, FakeCensus, lambda: FakeCensus(a_machine(gpus=[a_gpu(0), a_gpu(1, total=0, driver="")]))]
)
def machine(request):
    return request.param().read()


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
