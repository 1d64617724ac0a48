"""What processes hold on AMD's and Intel's devices, by the kernel's account of their open device files.

Format: Documentation/gpu/drm-usage-stats.rst; the names of the regions are each driver's (amdgpu: vram, gtt; xe: vram0;
i915: local0, system0).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from blazar.adapters.hardware.figures import whole
from blazar.adapters.hardware.sysfs import pci_gpus
from blazar.application.supervise.fit_machine import engine_names

_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_OWN = re.compile(r"(vram|local)\d*")
_HOST = re.compile(r"(gtt|system)\d*")
# `memory` is what amdgpu wrote before `resident` was agreed on; where both stand they are the same.
_HELD = ("drm-resident-", "drm-memory-")


def drm_use(pids: Collection[int], root: Path = Path("/")) -> dict[int, dict[str, int]]:
    """Bytes by pid and device; `root` stands for `/`. A process of another user tells nothing and is absent."""
    gpus = pci_gpus(root)
    places = {
        gpu.address: (name, _HOST if gpu.shared else _OWN)
        for name, gpu in zip(engine_names(gpus), gpus, strict=True)
        if name and gpu.vendor != "nvidia"
    }
    held = {pid: _held(root / "proc" / str(pid) / "fdinfo", places) for pid in pids} if places else {}
    return {pid: devices for pid, devices in held.items() if devices}


def _held(folder: Path, places: Mapping[str, tuple[str, re.Pattern[str]]]) -> dict[str, int]:
    found: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for keys in _clients(folder):
        address, client = keys["drm-pdev"], keys.get("drm-client-id", "")
        if address not in places or (address, client) in seen:
            continue  # several descriptors of one client tell the same
        seen.add((address, client))
        name, region = places[address]
        if size := _resident(keys, region):
            found[name] = found.get(name, 0) + size
    return found


def _clients(folder: Path) -> Iterator[dict[str, str]]:
    """The keys of every descriptor that is a device's."""
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return
    for file in files:
        try:
            text = file.read_text()
        except OSError:
            continue  # closed meanwhile
        keys = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        if "drm-pdev" in keys:
            yield {key.strip(): word.strip() for key, word in keys.items()}


def _resident(keys: Mapping[str, str], region: re.Pattern[str]) -> int:
    for prefix in _HELD:
        sizes = [
            _bytes(word)
            for key, word in keys.items()
            if key.startswith(prefix) and region.fullmatch(key[len(prefix) :])
        ]
        if sizes:
            return sum(sizes)
    return 0


def _bytes(word: str) -> int:
    number, _, unit = word.partition(" ")
    return max(0, whole(number) or 0) * _UNITS.get(unit.strip(), 0)
