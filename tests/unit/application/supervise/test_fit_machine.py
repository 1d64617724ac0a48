"""From what was found to what is planned with: names, memory, whose word counts."""

import pytest

from blazar.application.ports.hardware import ListedDevice
from blazar.application.supervise.fit_machine import engine_names, fit_machine
from blazar.domain.fit.machine import Device, Machine, Running
from blazar.domain.records import Gpu
from tests.fakes.hardware import GIB, a_gpu, a_machine


def named(*gpus):
    return [device.name for device in fit_machine(a_machine(gpus=gpus)).devices]


def test_a_machine_without_cards():
    """Memory is all there is; who runs is handed on."""
    running = [Running("m", idle=True, pinned=False, host=GIB)]
    assert fit_machine(a_machine(ram=16 * GIB), running) == Machine(16 * GIB, 8 * GIB, (), tuple(running))


def test_names_count_by_backend():
    """As engines number them: each backend from 0, in bus order; a card without a driver is seen by nobody."""
    gpus = [
        a_gpu(0),
        a_gpu(1, vendor="amd", driver="amdgpu"),
        a_gpu(2, driver="", total=0),
        a_gpu(3),
        a_gpu(4, vendor="intel", driver="xe"),
        a_gpu(5, vendor="apple", driver="metal"),
    ]
    assert engine_names(gpus) == ("CUDA0", "ROCm0", "", "CUDA1", "Vulkan0", "MTL0")
    assert named(*gpus) == ["CUDA0", "ROCm0", "CUDA1", "Vulkan0", "MTL0"]


def test_of_slices_an_engine_sees_one():
    """CUDA shows a process the first MIG slice, and beside it no whole card."""
    whole, one, two = a_gpu(0), *(a_gpu(n)._replace(parent="GPU-p", uuid=f"MIG-{n}") for n in (1, 2))
    amd = a_gpu(3, vendor="amd", driver="amdgpu")
    assert engine_names([whole, one, two, amd]) == ("", "CUDA0", "", "ROCm0")


def test_a_card_that_reports_no_memory_is_in_no_pool():
    """It keeps its number, for the engine counts it; nothing is put there."""
    machine = fit_machine(a_machine(gpus=[a_gpu(0, total=0), a_gpu(1)]))
    assert [device.name for device in machine.devices] == ["CUDA0", "CUDA1"]
    assert [device.name for device in machine.pool] == ["CUDA1"]


def test_memory_that_is_the_hosts_is_there_once():
    """A shared device has no more free than the machine has available; a card of its own does not care."""
    shared = Gpu(0, "APU", "amd", 15 * GIB, 14 * GIB, "amdgpu", "rocm", shared=True)
    machine = fit_machine(a_machine(available=3 * GIB, gpus=[shared, a_gpu(1)]))
    assert machine.devices == (
        Device("ROCm0", "rocm", 15 * GIB, 3 * GIB, "APU", shared=True),
        Device("CUDA0", "cuda", 24 * GIB, 24 * GIB, "card 1"),
    )
    assert fit_machine(a_machine(available=0, gpus=[shared])).devices[0].free == 14 * GIB  # unknown bounds nothing


def test_the_engines_own_list_decides():
    """A build for the processor has no device whatever is plugged in; no answer, and a list without memory, say nothing."""
    machine = a_machine(gpus=[a_gpu()])
    assert fit_machine(machine, listed=()).devices == ()
    for silent in (None, [ListedDevice("CUDA0", "a card", 0, 0)]):
        assert [device.name for device in fit_machine(machine, listed=silent).devices] == ["CUDA0"]


def test_one_card_two_reports():
    """CUDA counts less than the driver; what is free now is the census's word, within what the engine can have at all."""
    card = a_gpu(0, total=24 * GIB)._replace(free=20 * GIB)
    row = ListedDevice("CUDA0", "RTX 4090", 23 * GIB, 22 * GIB)
    (device,) = fit_machine(a_machine(gpus=[card]), listed=[row]).devices
    assert device == Device("CUDA0", "cuda", 23 * GIB, 20 * GIB, "RTX 4090")
    (device,) = fit_machine(a_machine(gpus=[card._replace(free=24 * GIB - 1)]), listed=[row]).devices
    assert device.free == 23 * GIB


def test_a_driver_that_tells_no_use():
    """What our own children hold there is taken off; where the engine's list knows better, that holds."""
    running = [Running("m", idle=True, pinned=False, host=0, devices=(("Vulkan0", 5 * GIB), ("CUDA0", GIB)))]
    arc = a_gpu(0, total=16 * GIB, vendor="intel", driver="xe")
    card = a_gpu(1)._replace(free=20 * GIB)
    machine = a_machine(gpus=[arc, card])
    assert [device.free // GIB for device in fit_machine(machine, running).devices] == [11, 20]
    rows = [ListedDevice("Vulkan0", "Arc", 16 * GIB, 9 * GIB)]
    assert fit_machine(machine, running, rows).devices[0].free == 9 * GIB
    rows = [ListedDevice("Vulkan7", "no budget told", 8 * GIB, 8 * GIB)]
    more = [Running("m", idle=True, pinned=False, host=0, devices=(("Vulkan7", 9 * GIB),))]
    assert fit_machine(machine, more, rows).devices[0].free == 0


def test_a_card_whose_driver_tells_no_memory():
    """The engine's figures fill the row of that name; where it lives stays the census's word. Not so with Vulkan's numbers."""
    board = a_gpu(0, total=0)._replace(shared=True)
    machine = a_machine(available=9 * GIB, gpus=[board, a_gpu(1, vendor="amd", driver="amdgpu")])
    (device,) = fit_machine(machine, listed=[ListedDevice("CUDA0", "GB10", 120 * GIB, 99 * GIB)]).devices
    assert device == Device("CUDA0", "cuda", 120 * GIB, 9 * GIB, "GB10", shared=True)
    inside = Gpu(0, "UHD", "intel", 0, 0, "i915", "vulkan", shared=True)
    machine = a_machine(available=9 * GIB, gpus=[inside, a_gpu(1, total=16 * GIB, vendor="intel", driver="xe")])
    (device,) = fit_machine(machine, listed=[ListedDevice("Vulkan0", "Arc A770", 16 * GIB, 15 * GIB)]).devices
    assert device == Device("Vulkan0", "vulkan", 16 * GIB, 15 * GIB, "Arc A770")


def test_another_card_of_that_name():
    """With CUDA_VISIBLE_DEVICES the engine's CUDA0 is not ours: its own figures hold."""
    row = ListedDevice("CUDA0", "H100", 80 * GIB, 79 * GIB)
    (device,) = fit_machine(a_machine(gpus=[a_gpu()]), listed=[row]).devices
    assert device == Device("CUDA0", "cuda", 80 * GIB, 79 * GIB, "H100")


@pytest.mark.parametrize(
    ("row", "kind", "shared"),
    [
        (ListedDevice("Vulkan0", "AMD Radeon 780M", 16 * GIB, 15 * GIB), "vulkan", True),
        (ListedDevice("RPC0", "10.0.0.2:50052", 24 * GIB, 24 * GIB), "rpc", False),
        (ListedDevice("SYCL1", "Arc", 16 * GIB, 99 * GIB), "sycl", True),
        (ListedDevice("OpenCL", "Adreno", 16 * GIB, 15 * GIB), "opencl", True),
    ],
)
def test_rows_that_no_card_of_ours_answers_to(row, kind, shared):
    """They are what the engine says; on a machine whose GPUs all live on its memory, so do they, save another machine's."""
    apu = Gpu(0, "APU", "amd", 4 * GIB, 4 * GIB, "amdgpu", "rocm", shared=True)
    (device,) = fit_machine(a_machine(ram=99 * GIB, available=99 * GIB, gpus=[apu]), listed=[row]).devices
    assert device == Device(row.name, kind, row.total, min(row.free, row.total), row.label, shared)


def test_what_a_log_says_of_a_worker_is_charged_to_that_worker():
    """Engines call every worker's buffers by the first one's name and tell them apart by address."""
    listed = [
        ListedDevice("RPC0", "10.0.0.2:50052", 24 * GIB, 20 * GIB),
        ListedDevice("RPC1", "10.0.0.3:50052", 24 * GIB, 20 * GIB),
    ]
    running = [Running("m", idle=True, pinned=False, host=0, devices=(("RPC0[10.0.0.3:50052]", GIB),))]
    assert fit_machine(a_machine(), running, listed).running[0].devices == (("RPC1", GIB),)
