"""What a child of ours uses: how much it has read, and the memory it occupies. Linux reads /proc, other systems ask psutil.

The child must be ours and unreaped, for a pid alone names nobody else.
"""

import os
import sys
from pathlib import Path

_PROC = Path("/proc")


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


def resident_bytes(pid: int) -> int:
    """Memory that it occupies now; 0 where unknown."""
    if not has_proc():
        return _resident_elsewhere(pid)
    try:
        pages = (_PROC / str(pid) / "statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _resident_elsewhere(pid: int) -> int:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
