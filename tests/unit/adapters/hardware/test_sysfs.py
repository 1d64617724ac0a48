"""The PCI bus, on synthetic machines (tests/fixtures/sysfs; each names the document that fixes its shape)."""

import pytest

from blazar.adapters.hardware.sysfs import pci_gpus
from blazar.domain.records import Gpu
from tests.support.sysfs_trees import cases, grow

GIB = 2**30


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.stem)
def test_every_machine_names_its_source(case):
    """A tree that nobody can check against a document proves nothing."""
    lines = case.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert any(line.startswith("# Source: ") for line in lines)


@pytest.mark.parametrize(
    ("case", "gpus"),
    [
        (
            "amd-card",
            [Gpu(0, "AMD GPU 1002:744c", "amd", 24 * GIB, 23 * GIB, "amdgpu", "rocm", "0000:03:00.0")],
        ),
        (
            "amd-apu",
            [Gpu(0, "AMD GPU 1002:15bf", "amd", 15 * GIB, 14 * GIB, "amdgpu", "vulkan", "0000:c4:00.0", shared=True)],
        ),
        (
            "amd-apu-carveout",
            [Gpu(0, "AMD GPU 1002:1586", "amd", 96 * GIB, 95 * GIB, "amdgpu", "rocm", "0000:c5:00.0")],
        ),
        (
            "amd-instinct",
            [Gpu(0, "AMD GPU 1002:74a1", "amd", 206141652992, 205843857408, "amdgpu", "rocm", "0000:0c:00.0")],
        ),
        (
            "intel-xe",
            [
                Gpu(0, "Intel GPU 8086:a7a0", "intel", 0, 0, "i915", "vulkan", "0000:00:02.0", shared=True),
                Gpu(0, "Intel GPU 8086:e20b", "intel", 12 * GIB, 12 * GIB, "xe", "vulkan", "0000:03:00.0"),
            ],
        ),
        ("intel-i915", [Gpu(0, "Intel GPU 8086:56a0", "intel", 0, 0, "i915", "sycl", "0000:03:00.0")]),
        (
            "nvidia-bus",
            [
                Gpu(0, "NVIDIA GPU 10de:2684", "nvidia", 0, 0, "nvidia", "cuda", "0000:01:00.0"),
                Gpu(0, "NVIDIA GPU 10de:2330", "nvidia", 0, 0, "", "", "0000:02:00.0"),
                Gpu(0, "NVIDIA GPU 10de:1b06", "nvidia", 0, 0, "", "", "0000:41:00.0"),
            ],
        ),
        ("no-accelerator", []),
    ],
)
def test_what_is_on_the_bus(tmp_path, case, gpus):
    """Makers, drivers and memory, in bus order; where the kernel tells no memory there is none to load into."""
    assert pci_gpus(grow(case, tmp_path)) == gpus


def test_a_card_without_sensors_is_a_card(tmp_path):
    """Without hwmon nothing tells an APU: its mappable pages are then no memory to count on."""
    root = grow("amd-apu", tmp_path)
    for file in (root / "sys/bus/pci/devices/0000:c4:00.0/hwmon/hwmon3").iterdir():
        file.unlink()
    (gpu,) = pci_gpus(root)
    assert (gpu.total, gpu.shared) == (GIB // 2, False)


def test_broken_entries_are_skipped(tmp_path):
    """Unreadable numbers and missing files find nothing and raise nothing."""
    assert pci_gpus(tmp_path) == []
    root = grow("amd-card", tmp_path)
    card = root / "sys/bus/pci/devices/0000:03:00.0"
    (card / "mem_info_vram_used").write_text("many")
    assert [(gpu.total, gpu.free) for gpu in pci_gpus(root)] == [(24 * GIB, 24 * GIB)]
    (card / "mem_info_vram_total").write_bytes(b"\xff\xfe")
    assert [(gpu.total, gpu.free) for gpu in pci_gpus(root)] == [(0, 0)]
    (card / "class").write_text("zz")
    (root / "sys/bus/pci/devices/0000:09:00.0").mkdir()
    assert pci_gpus(root) == []
