"""The census as a whole: senses joined, nothing counted twice."""

import os

from blazar.adapters.hardware.census import SystemCensus, usable_cpus
from blazar.adapters.hardware.memory import Ram
from blazar.adapters.hardware.nvml import NvidiaCard
from blazar.domain.records import Gpu, Machine

GIB = 2**30


def bus(root, address, vendor, driver=""):
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, text in (("class", "0x030000"), ("vendor", vendor), ("device", "0x0001")):
        (folder / name).write_text(text)
    if driver:
        (folder / "driver").symlink_to(f"/sys/bus/pci/drivers/{driver}")


def census(root, *cards):
    return SystemCensus(root, ram=lambda: Ram(8 * GIB, 5 * GIB), cpus=lambda: {0, 1}, nvidia=lambda: list(cards))


def test_an_empty_machine(tmp_path):
    """Memory and cores are always known, everything else may be absent."""
    assert census(tmp_path).read() == Machine(8 * GIB, 5 * GIB, 2, (), ())


def test_a_card_is_counted_once(tmp_path):
    """What the driver reports and what the bus shows are joined by address; ordinals run through."""
    bus(tmp_path, "0000:01:00.0", "0x10de", "nvidia")
    bus(tmp_path, "0000:02:00.0", "0x10de")
    bus(tmp_path, "0000:03:00.0", "0x1002", "amdgpu")
    card = NvidiaCard(Gpu(0, "A", "nvidia", GIB, GIB, "555"), "0000:01:00.0")
    gpus = census(tmp_path, card).read().gpus
    assert [(gpu.ordinal, gpu.vendor, gpu.total, gpu.driver) for gpu in gpus] == [
        (0, "nvidia", GIB, "555"),
        (1, "nvidia", 0, ""),
        (2, "amd", 0, "amdgpu"),
    ]


def test_it_reads_anew(tmp_path):
    """A card that appears is found by the next reading."""
    machine = census(tmp_path)
    assert machine.read().gpus == ()
    bus(tmp_path, "0000:01:00.0", "0x10de")
    assert len(machine.read().gpus) == 1


def test_the_cpu_set_is_ours():
    """The affinity of this process is what counts."""
    assert usable_cpus()
    assert len(usable_cpus()) <= (os.cpu_count() or 1)
