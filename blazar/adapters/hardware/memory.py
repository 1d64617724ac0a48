"""How much memory this process may use: the machine's, or less where a control group says so. Bytes.

A container sees the host's /proc/meminfo, so loading by that alone gets the process killed. What the group uses is
counted without its inactive file pages: the kernel drops those first, and a weight file that was read once would
otherwise look like memory in use (memory.stat, Documentation/admin-guide/cgroup-v2.rst).
"""

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
        limit = number(folder / "memory.max") or number(folder / "memory.limit_in_bytes")
        if not limit or limit >= _V1_UNLIMITED:
            continue
        used = number(folder / "memory.current") or number(folder / "memory.usage_in_bytes") or 0
        working = max(0, used - _inactive_file(folder))
        total = min(total, limit)
        available = min(available, max(0, limit - working))
    return Ram(total, available)


def _inactive_file(folder: Path) -> int:
    """Version 2 counts the whole subtree as `inactive_file`, version 1 as `total_inactive_file`."""
    try:
        text = (folder / "memory.stat").read_text()
    except OSError:
        return 0
    rows = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    word = rows.get("total_inactive_file", rows.get("inactive_file", "0"))
    return int(word) if word.isdigit() else 0
