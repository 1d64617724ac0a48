"""Whether NVIDIA's library is worth asking. Its binding takes 3 MB, and time before the first token."""

import sys
from pathlib import Path

from blazar.adapters.hardware.nvml import NvidiaCard, nvidia_cards

# What stands for the bus in WSL and on boards whose GPU is on none.
_SIGNS = ("dev/nvidiactl", "dev/dxg", "proc/driver/nvidia")
_NVIDIA = "0x10de"


def nvidia_cards_if_any(root: Path = Path("/")) -> list[NvidiaCard]:
    """All cards in PCI order; on Linux the library is asked only where a card or its driver can be seen."""
    if sys.platform == "linux":
        vendors = (root / "sys/bus/pci/devices").glob("*/vendor")
        if not any((root / sign).exists() for sign in _SIGNS) and not any(_is_nvidia(vendor) for vendor in vendors):
            return []
    return nvidia_cards()


def _is_nvidia(vendor: Path) -> bool:
    try:
        return vendor.read_text().strip() == _NVIDIA
    except OSError:
        return True
