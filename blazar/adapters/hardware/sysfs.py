"""Display and compute devices on the PCI bus, as the kernel lists them: what is there even when no driver is.

Files: Documentation/ABI/testing/sysfs-bus-pci (class, vendor, device, driver); for AMD's memory Documentation/gpu/amdgpu
(driver-misc: mem_info_*; thermal: hwmon); for Intel's the xe driver (xe_tile_sysfs.c: physical_vram_size_bytes).
"""

from pathlib import Path
from typing import NamedTuple

from blazar.adapters.hardware.figures import whole
from blazar.adapters.hardware.vulkan import vulkan_drivers
from blazar.domain.records import Gpu

VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel"}
"""Makers of devices that engines compute on. Management consoles and virtual screens are displays as well, and no GPUs."""

_NAMES = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
_DISPLAY = 0x03  # the base class of display controllers: VGA, 3D and other
_ACCELERATOR = 0x12  # processing accelerators: AMD's Instinct cards without a display are of this class
_PASSED_ON = "vfio-pci"  # reserved for a virtual machine: not ours to use, and nothing is missing
_USABLE = {"nvidia": {"nvidia"}, "amd": {"amdgpu", "radeon"}, "intel": {"i915", "xe"}}
"""Kernel drivers that engines can work with; a card on another one (nouveau) is as good as without."""
_ROOT_BUS = "0000:00:"
"""Intel's integrated GPU is on the root bus (00:02.0), its cards are behind a bridge."""


class _Memory(NamedTuple):
    """Bytes, and whether they are the host's."""

    total: int
    free: int
    shared: bool = False


def pci_gpus(root: Path) -> list[Gpu]:
    """Devices of known makers, by address; `root` stands for `/`. `driver` is empty where none is bound that is of use."""
    try:
        folders = sorted((root / "sys/bus/pci/devices").iterdir())
    except OSError:
        return []
    return [found for folder in folders if (found := _device(folder, root)) is not None]


def _device(folder: Path, root: Path) -> Gpu | None:
    vendor = VENDORS.get(_hex(folder / "vendor"))
    bound = _driver(folder)
    if vendor is None or bound == _PASSED_ON:
        return None
    base = _hex(folder / "class") >> 16
    if base != _DISPLAY and (base != _ACCELERATOR or vendor != "amd"):
        return None
    driver = bound if bound in _USABLE[vendor] else ""
    memory = _memory(folder, vendor) if driver else _Memory(0, 0)
    name = f"{_NAMES[vendor]} GPU {_hex(folder / 'vendor'):04x}:{_hex(folder / 'device'):04x}"
    kind = _kind(vendor, root) if driver else ""
    return Gpu(0, name, vendor, memory.total, memory.free, driver, kind, folder.name, shared=memory.shared)


def _memory(folder: Path, vendor: str) -> _Memory:
    if vendor == "amd":
        return _amd_memory(folder)
    if vendor == "intel":
        return _intel_memory(folder)
    return _Memory(0, 0)  # NVIDIA's driver tells its memory through its library only


def _amd_memory(folder: Path) -> _Memory:
    """A card's own memory; of an APU what the driver allocates from.

    That is the part of the machine's memory that the firmware has set aside, or where the pages it may map (GTT) are more,
    those (amdgpu_ttm.c, apu_prefer_gtt): then it is the host's memory.
    """
    vram = _free(folder, "vram")
    mapped = _free(folder, "gtt")
    if _is_apu(folder) and mapped.total > vram.total:
        return mapped._replace(shared=True)
    return vram


def _free(folder: Path, pool: str) -> _Memory:
    total, used = _decimal(folder / f"mem_info_{pool}_total"), _decimal(folder / f"mem_info_{pool}_used")
    return _Memory(total, max(0, total - used))


def _is_apu(folder: Path) -> bool:
    """By its sensors: a northbridge voltage is an APU's, a memory clock a card's (Documentation/gpu/amdgpu/thermal)."""
    for sensors in sorted((folder / "hwmon").glob("hwmon*")):
        if _word(sensors / "in1_label") == "vddnb":
            return True
        if (sensors / "freq1_input").exists():
            return not (sensors / "freq2_input").exists()
    return False


def _intel_memory(folder: Path) -> _Memory:
    """What the xe driver tells of a card, all of it taken as free: no use is told. The i915 driver tells nothing."""
    total = sum(_decimal(file) for file in folder.glob("tile*/physical_vram_size_bytes"))
    return _Memory(total, total, shared=not total and folder.name.startswith(_ROOT_BUS))


def _kind(vendor: str, root: Path) -> str:
    """The backend that is likely to drive it here; the engine's own list decides where there is one."""
    if vendor == "nvidia":
        return "cuda"
    if vendor == "amd" and (root / "dev/kfd").exists():
        return "rocm"
    return "sycl" if vendor == "intel" and not vulkan_drivers(root) else "vulkan"


def _driver(folder: Path) -> str:
    """The bound kernel driver: the name that the `driver` link points at."""
    try:
        return (folder / "driver").readlink().name
    except OSError:
        return ""


def _word(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _hex(file: Path) -> int:
    try:
        return int(_word(file), 16)
    except ValueError:
        return 0


def _decimal(file: Path) -> int:
    return max(0, whole(_word(file)) or 0)
