"""What a child of ours uses: how much it has read, and the memory it occupies. Linux reads /proc, other systems ask psutil.

The child must be ours and unreaped, for a pid alone names nobody else.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_KIB = 1024
_STATUS = re.compile(r"^(VmRSS|RssFile):\s+(\d+) kB$", re.MULTILINE)


class Occupied(NamedTuple):
    """Main memory; bytes. `mapped` is the part of `resident` that files back: weights that are mapped and not copied."""

    resident: int
    mapped: int


def has_proc() -> bool:
    """Whether facts come from /proc."""
    return sys.platform == "linux"


def bytes_read(pid: int) -> int:
    """What it has read so far: by calls (`rchar`) and from disk through mapped files (`read_bytes`); 0 where unknown."""
    try:
        text = (_PROC / str(pid) / "io").read_text(encoding="ascii")
    except OSError:
        return 0
    counters = dict(line.split(": ", 1) for line in text.splitlines())
    return int(counters.get("rchar", 0)) + int(counters.get("read_bytes", 0))


def occupied(pid: int) -> Occupied:
    """Memory that it occupies now; 0 where unknown. PSS would part what is shared, at the price of a walk over every page."""
    if not has_proc():
        return Occupied(_resident_elsewhere(pid), 0)
    try:
        status = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Occupied(0, 0)
    found = {name: int(kib) * _KIB for name, kib in _STATUS.findall(status)}
    return Occupied(found.get("VmRSS", 0), found.get("RssFile", 0))


def _resident_elsewhere(pid: int) -> int:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
