"""What a child of ours uses: how much it has read and computed, and the memory it occupies. Linux reads /proc, other systems ask psutil.

The child must be ours and unreaped, for a pid alone names nobody else.
"""

import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_KIB = 1024
_STEP = 2**20
"""Of memory that a child has grown by: one that stands still allocates a little for each of our polls."""
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


def cpu_seconds(pid: int) -> int:
    """Processor time that all of its threads have spent, whole seconds; 0 where unknown.

    Whole ones, because a child that waits for ever spends some to answer our polls: some hundredths in the time after which a
    load counts as stalled.
    """
    if not has_proc():
        return _cpu_elsewhere(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # The name in brackets may hold blanks and brackets; utime and stime are fields 14 and 15, in ticks (proc(5)).
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) // os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0


class Effort:
    """What one child has done so far, as a number that never falls: bytes read, MiB of memory taken, seconds computed (D34).

    An engine that clears a cache of some GiB reads and says nothing for as long as that takes.
    """

    def __init__(self) -> None:
        self._most: tuple[int, ...] = (0, 0, 0)

    def of(self, pid: int) -> int:
        """Up to now; the same child may have started over as another process."""
        now = (bytes_read(pid), occupied(pid).resident // _STEP, cpu_seconds(pid))
        self._most = tuple(map(max, self._most, now))
        return sum(self._most)


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


def _cpu_elsewhere(pid: int) -> int:
    import psutil

    try:
        spent = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0
    return int(spent.user + spent.system)


def _resident_elsewhere(pid: int) -> int:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
