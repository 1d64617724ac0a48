"""How much memory this process may use: the machine's, or less where a control group says so. Bytes.

A container sees the host's /proc/meminfo, so loading by that alone gets the process killed. What the group uses is
counted without its inactive file pages: the kernel drops those first, and a weight file that was read once would
otherwise look like memory in use (memory.stat, Documentation/admin-guide/cgroup-v2.rst).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from blazar.adapters.hardware.cgroups import folders, number
from blazar.adapters.hardware.figures import whole

_V1_UNLIMITED = 2**60
"""Version 1 says "no limit" by a page-rounded 2**63; nothing real is above an exbibyte."""


class Ram(NamedTuple):
    """Bytes in all, and bytes that could be had now; 0 where unknown, so that what is known to be nothing is 1."""

    total: int
    available: int


def machine_ram(root: Path = Path("/")) -> Ram:
    """What the kernel says of the whole machine. Linux has it in a file; psutil, which costs a list 20 ms, is asked elsewhere."""
    told = _figures(root / "proc/meminfo")
    total, available = told.get("MemTotal:", 0), told.get("MemAvailable:", 0)
    if 0 < available <= total:
        return Ram(total * 1024, available * 1024)
    import psutil

    memory = psutil.virtual_memory()
    return Ram(memory.total, max(1, memory.available))


def limited(ram: Ram, root: Path) -> Ram:
    """The machine's memory bounded by every group around this process; `root` stands for `/`.

    A figure that cannot be read bounds nothing. A group that is used up leaves 1 byte: 0 would be unknown, which refuses no load.
    """
    total, available = ram
    for folder in folders(root, "memory"):
        stat = _stat(folder)
        limit = _limit(folder, stat)
        if limit is None:
            continue
        used = number(folder / "memory.current") or number(folder / "memory.usage_in_bytes") or 0
        # Version 2 counts the whole subtree as `inactive_file`, version 1 as `total_inactive_file`.
        working = max(0, used - stat.get("total_inactive_file", stat.get("inactive_file", 0)))
        total = min(total or limit, max(1, limit))
        left = max(1, limit - working)
        available = min(available or left, left)
    return Ram(total, available)


def _limit(folder: Path, stat: Mapping[str, int]) -> int | None:
    """The tightest that holds here. Above `memory.high` the kernel stalls a process rather than kill it: no more usable.

    A version 1 container that cannot see the groups above it still finds their limit in `hierarchical_memory_limit`
    (Documentation/admin-guide/cgroup-v1/memory.rst, 5.2).
    """
    told = [number(folder / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")]
    limits = (*told, stat.get("hierarchical_memory_limit"))
    return min((limit for limit in limits if limit is not None and 0 <= limit < _V1_UNLIMITED), default=None)


def _stat(folder: Path) -> dict[str, int]:
    return _figures(folder / "memory.stat")


def _figures(file: Path) -> dict[str, int]:
    """The rows that are a name and a number, whatever its unit; none of a file that cannot be read."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return {}
    rows = (row[:2] for line in text.splitlines() if len(row := line.split()) == 2 or row[2:] == ["kB"])
    return {name: figure for name, word in rows if (figure := whole(word)) is not None and figure >= 0}
