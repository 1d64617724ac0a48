"""The PCI bus, on recorded shapes (Documentation/ABI/testing/sysfs-bus-pci)."""

from pathlib import Path

from blazar.adapters.hardware.sysfs import pci_gpus
from blazar.adapters.hardware.vulkan import vulkan_drivers
from blazar.domain.records import Gpu

GIB = 2**30


def device(root: Path, address: str, ids: tuple[str, str, str], driver: str = "", **files: int) -> None:
    """One device folder: class, vendor, device; its driver link and further numbers."""
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, value in zip(("class", "vendor", "device"), ids, strict=True):
        (folder / name).write_text(f"{value}\n")
    for name, number in files.items():
        (folder / name).write_text(f"{number}\n")
    if driver:
        (folder / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")


def test_cards_of_every_maker(tmp_path):
    """VGA and 3D controllers of known makers are found, with their driver, in bus order; AMD tells its memory."""
    device(tmp_path, "0000:41:00.0", ("0x030200", "0x10de", "0x2684"), "nvidia")
    device(
        tmp_path,
        "0000:03:00.0",
        ("0x030000", "0x1002", "0x744c"),
        "amdgpu",
        mem_info_vram_total=24 * GIB,
        mem_info_vram_used=GIB,
    )
    device(tmp_path, "0000:00:02.0", ("0x030000", "0x8086", "0xa7a0"), "i915")
    assert [found.gpu for found in pci_gpus(tmp_path)] == [
        Gpu(0, "Intel GPU 8086:a7a0", "intel", 0, 0, "i915"),
        Gpu(0, "AMD GPU 1002:744c", "amd", 24 * GIB, 23 * GIB, "amdgpu"),
        Gpu(0, "NVIDIA GPU 10de:2684", "nvidia", 0, 0, "nvidia"),
    ]


def test_what_is_no_accelerator(tmp_path):
    """Network cards, management consoles, virtual screens and cards given to a virtual machine are left out."""
    device(tmp_path, "0000:00:03.0", ("0x020000", "0x8086", "0x1533"), "igb")
    device(tmp_path, "0000:00:04.0", ("0x030000", "0x1a03", "0x2000"), "ast")
    device(tmp_path, "0000:00:05.0", ("0x030000", "0x1af4", "0x1050"), "virtio-pci")
    device(tmp_path, "0000:00:06.0", ("0x030000", "0x10de", "0x2684"), "vfio-pci")
    device(tmp_path, "0000:00:07.0", ("0x040300", "0x10de", "0x22ba"), "snd_hda_intel")
    assert pci_gpus(tmp_path) == []


def test_a_card_without_a_useful_driver(tmp_path):
    """No driver, and one that no engine can use, look the same: empty."""
    device(tmp_path, "0000:01:00.0", ("0x030000", "0x10de", "0x2684"))
    device(tmp_path, "0000:02:00.0", ("0x030000", "0x10de", "0x2684"), "nouveau")
    assert [found.gpu.driver for found in pci_gpus(tmp_path)] == ["", ""]


def test_broken_entries_are_skipped(tmp_path):
    """Unreadable numbers and missing files find nothing and raise nothing."""
    assert pci_gpus(tmp_path) == []
    device(tmp_path, "0000:01:00.0", ("zz", "0x10de", "0x1"))
    (tmp_path / "sys/bus/pci/devices/0000:02:00.0").mkdir()
    assert pci_gpus(tmp_path) == []


def test_vulkan_drivers_by_their_manifests(tmp_path):
    """Hardware drivers count once, whichever folder they stand in; software ones do not."""
    for name in (
        "usr/share/vulkan/icd.d/radeon_icd.x86_64.json",
        "usr/share/vulkan/icd.d/lvp_icd.json",
        "etc/vulkan/icd.d/nvidia_icd.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "usr/share/vulkan/icd.d/readme.txt").write_text("")
    assert vulkan_drivers(tmp_path) == ("nvidia_icd", "radeon_icd.x86_64")
    assert vulkan_drivers(tmp_path / "none") == ()
