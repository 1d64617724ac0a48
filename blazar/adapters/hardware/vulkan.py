"""Installed Vulkan drivers, by the manifests that the loader reads. Loads no driver: that can hang on broken hardware."""

from pathlib import Path

_FOLDERS = ("etc/vulkan/icd.d", "usr/local/etc/vulkan/icd.d", "usr/local/share/vulkan/icd.d", "usr/share/vulkan/icd.d")
_SOFTWARE = ("lvp_", "swiftshader", "vk_swiftshader")
"""Drivers that compute on the processor: no reason to expect a fast engine."""


def vulkan_drivers(root: Path) -> tuple[str, ...]:
    """Names of the hardware drivers' manifests; `root` stands for `/`."""
    names = {file.stem for folder in _FOLDERS for file in (root / folder).glob("*.json")}
    return tuple(sorted(name for name in names if not name.startswith(_SOFTWARE)))
