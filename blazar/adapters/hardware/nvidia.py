"""Whether NVIDIA's driver is worth asking, and by which of its two doors: the library, else `nvidia-smi`."""

import sys
from collections.abc import Callable, Collection
from pathlib import Path

from blazar.adapters.hardware.nvml import NvidiaReport, nvml_use, read_nvml
from blazar.adapters.hardware.probing import NotHere, ProbeFailed
from blazar.adapters.hardware.smi import read_smi
from blazar.domain.records import Trouble

# What stands for the bus in WSL and on boards whose GPU is on none.
_SIGNS = ("dev/nvidiactl", "dev/dxg", "proc/driver/nvidia")
_NVIDIA = "0x10de"

Source = Callable[[], NvidiaReport]


def nvidia_if_any(root: Path = Path("/"), nvml: Source = read_nvml, smi: Source = read_smi) -> NvidiaReport:
    """All cards in PCI order; on Linux nobody is asked unless a card or its driver can be seen."""
    return _asked(nvml, smi) if _may_be_here(root) else NvidiaReport()


def nvidia_use_if_any(pids: Collection[int], root: Path = Path("/")) -> dict[int, dict[str, int]]:
    """Bytes by pid and device, as the driver counts them."""
    return nvml_use(pids) if pids and _may_be_here(root) else {}


def _asked(nvml: Source, smi: Source) -> NvidiaReport:
    """The program is asked where the library fails, and where no card of the library's has memory (contract)."""
    report, troubles = _answer("nvml", nvml)
    if report is not None and (not report.gpus or any(gpu.total for gpu in report.gpus)):
        return report
    other, more = _answer("nvidia-smi", smi)
    if report is not None and not (other is not None and any(gpu.total for gpu in other.gpus)):
        return report._replace(troubles=report.troubles + more)
    found = other or NvidiaReport()
    known = report or NvidiaReport()
    return found._replace(cuda_version=known.cuda_version, troubles=known.troubles + troubles + found.troubles + more)


def _answer(name: str, source: Source) -> tuple[NvidiaReport | None, tuple[Trouble, ...]]:
    """Its report, or nothing and why."""
    try:
        return source(), ()
    except NotHere:
        return None, ()
    except ProbeFailed as failed:
        return None, (Trouble(name, str(failed)),)


def _may_be_here(root: Path) -> bool:
    if sys.platform != "linux":
        return True
    vendors = (root / "sys/bus/pci/devices").glob("*/vendor")
    return any((root / sign).exists() for sign in _SIGNS) or any(_is_nvidia(vendor) for vendor in vendors)


def _is_nvidia(vendor: Path) -> bool:
    try:
        return vendor.read_text().strip() == _NVIDIA
    except OSError:
        return True
