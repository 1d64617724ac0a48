"""How much memory this process may use: the machine's, or less where a control group says so. Bytes.

A container sees the host's /proc/meminfo, so loading by that alone gets the process killed. What the group uses is
counted without its inactive file pages: the kernel drops those first, and a weight file that was read once would
otherwise look like memory in use (memory.stat, Documentation/admin-guide/cgroup-v2.rst).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import psutil

from blazar.adapters.hardware.cgroups import folders, number

_V1_UNLIMITED = 2**60
"""Version 1 says "no limit" by a page-rounded 2**63; nothing real is above an exbibyte."""


class Ram(NamedTuple):
    """Bytes in all, and bytes that could be had now."""

    total: int
    available: int


def machine_ram() -> Ram:
    """What the kernel says of the whole machine."""
    memory = psutil.virtual_memory()
    return Ram(memory.total, memory.available)


def limited(ram: Ram, root: Path) -> Ram:
    """The machine's memory bounded by every group around this process; `root` stands for `/`."""
    total, available = ram
    for folder in folders(root, "memory"):
        stat = _stat(folder)
        limit = _limit(folder, stat)
        if limit is None:
            continue
        used = number(folder / "memory.current") or number(folder / "memory.usage_in_bytes") or 0
        # Version 2 counts the whole subtree as `inactive_file`, version 1 as `total_inactive_file`.
        working = max(0, used - stat.get("total_inactive_file", stat.get("inactive_file", 0)))
        total = min(total, limit)
        available = min(available, max(0, limit - working))
    return Ram(total, available)


def _limit(folder: Path, stat: Mapping[str, int]) -> int | None:
    """The tightest that holds here. Above `memory.high` the kernel stalls a process rather than kill it: no more usable.

    A version 1 container that cannot see the groups above it still finds their limit in `hierarchical_memory_limit`
    (Documentation/admin-guide/cgroup-v1/memory.rst, 5.2).
    """
    told = [number(folder / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")]
    limits = [limit for limit in (*told, stat.get("hierarchical_memory_limit")) if limit and 0 < limit < _V1_UNLIMITED]
    return min(limits, default=None)


def _stat(folder: Path) -> dict[str, int]:
    """The rows of memory.stat that are a name and a number."""
    try:
        text = (folder / "memory.stat").read_text()
    except OSError:
        return {}
    rows = (line.split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
