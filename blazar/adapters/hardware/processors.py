"""How many physical cores this process may really use (D23): its CPU set, without hyper-thread twins, within its quota.

More compute threads than cores make an engine slower, not faster: its barriers spin.
"""

import math
from collections.abc import Collection
from pathlib import Path

from blazar.adapters.hardware.cgroups import folders, number
from blazar.adapters.hardware.figures import whole


def physical_cores(cpus: Collection[int], root: Path) -> int:
    """Cores behind the logical `cpus`, at least 1; `root` stands for `/`."""
    cores = {_core(cpu, root) for cpu in cpus}
    return max(1, min(len(cores), _quota(root)))


def _core(cpu: int, root: Path) -> tuple[str, ...]:
    """What names a core uniquely: its package and its id in it, else the logical CPU itself."""
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        return tuple((topology / name).read_text().strip() for name in ("physical_package_id", "die_id", "core_id"))
    except OSError:
        pass
    try:
        # die_id is younger (Linux 5.2) than the other two.
        return tuple((topology / name).read_text().strip() for name in ("physical_package_id", "core_id"))
    except OSError:
        return ("cpu", str(cpu))


def _quota(root: Path) -> int:
    """Whole CPUs that the tightest group allows, rounded up."""
    most = math.inf
    for folder in folders(root, "cpu"):
        try:
            words = (folder / "cpu.max").read_text(errors="replace").split()
        except OSError:
            words = [str(number(folder / f"cpu.cfs_{name}_us") or "max") for name in ("quota", "period")]
        match [whole(word) for word in words]:
            case [int(quota), int(period)] if quota >= 0 and period > 0:
                most = min(most, quota / period)
    return max(1, math.ceil(most)) if math.isfinite(most) else 1 << 16
