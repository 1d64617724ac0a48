"""Display and compute devices on the PCI bus, as the kernel lists them: what is there even when no driver is.

Files: Documentation/ABI/testing/sysfs-bus-pci (class, vendor, device, driver) and, for AMD's memory figures,
Documentation/gpu/amdgpu (mem_info_vram_total, mem_info_vram_used).
"""

from pathlib import Path
from typing import NamedTuple

from blazar.domain.records import Gpu

VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel"}
"""Makers of devices that engines compute on. Management consoles and virtual screens are displays as well, and no GPUs."""

_NAMES = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
_DISPLAY = 0x03  # the base class of display controllers: VGA, 3D and other
_PASSED_ON = "vfio-pci"  # reserved for a virtual machine: not ours to use, and nothing is missing
_USABLE = {"nvidia": {"nvidia"}, "amd": {"amdgpu", "radeon"}, "intel": {"i915", "xe"}}
"""Kernel drivers that engines can work with; a card on another one (nouveau) is as good as without."""


class PciGpu(NamedTuple):
    """One device and its address."""

    gpu: Gpu
    address: str


def pci_gpus(root: Path) -> list[PciGpu]:
    """Devices of known makers, by address; `root` stands for `/`. `driver` is empty where none is bound that is of use."""
    try:
        folders = sorted((root / "sys/bus/pci/devices").iterdir())
    except OSError:
        return []
    return [found for folder in folders if (found := _device(folder)) is not None]


def _device(folder: Path) -> PciGpu | None:
    vendor = VENDORS.get(_hex(folder / "vendor"))
    bound = _driver(folder)
    if vendor is None or _hex(folder / "class") >> 16 != _DISPLAY or bound == _PASSED_ON:
        return None
    driver = bound if bound in _USABLE[vendor] else ""
    total, used = _decimal(folder / "mem_info_vram_total"), _decimal(folder / "mem_info_vram_used")
    name = f"{_NAMES[vendor]} GPU {_hex(folder / 'vendor'):04x}:{_hex(folder / 'device'):04x}"
    return PciGpu(Gpu(0, name, vendor, total, max(0, total - used), driver), folder.name)


def _driver(folder: Path) -> str:
    """The bound kernel driver: the name that the `driver` link points at."""
    try:
        return (folder / "driver").readlink().name
    except OSError:
        return ""


def _hex(file: Path) -> int:
    try:
        return int(file.read_text().strip(), 16)
    except (OSError, ValueError):
        return 0


def _decimal(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0
