"""Installed Vulkan drivers."""

from blazar.adapters.hardware.vulkan import vulkan_drivers


def test_hardware_drivers_by_their_manifests(tmp_path):
    """Each once and in order, wherever it lies; drivers that compute on the processor do not count."""
    for path in (
        "etc/vulkan/icd.d/nvidia_icd.json",
        "usr/share/vulkan/icd.d/radeon_icd.x86_64.json",
        "usr/share/vulkan/icd.d/nvidia_icd.json",
        "usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
        "usr/local/share/vulkan/icd.d/vk_swiftshader_icd.json",
        "usr/share/vulkan/icd.d/README",
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert vulkan_drivers(tmp_path) == ("nvidia_icd", "radeon_icd.x86_64")


def test_none(tmp_path):
    """A machine without the loader."""
    assert vulkan_drivers(tmp_path) == ()
