"""Facts about a process that may not be ours: is it still the one we knew, is it dead, how much has it read.

A pid alone names nobody: pids are recycled. Every question here takes the start time along. Linux reads /proc, other
systems ask psutil (imported only there).
"""

import os
import signal
import sys
from pathlib import Path

_PROC = Path("/proc")
_START_FIELD = 22  # man 5 proc: start time in clock ticks after boot
_STATE_FIELD = 3


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat, counted from 1; the command name (field 2) may hold blanks and is cut out."""
    text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return ["", str(pid), "", *text.rpartition(")")[2].split()]


def has_proc() -> bool:
    """Whether facts come from /proc."""
    return sys.platform == "linux"


def start_time(pid: int) -> str:
    """When this process began, in a form good only for comparing; "" when there is none, or only a zombie (D31)."""
    if not has_proc():
        return _start_time_elsewhere(pid)
    try:
        fields = _stat(pid)
    except OSError:
        return ""
    return "" if fields[_STATE_FIELD] in "ZX" else fields[_START_FIELD]


def _start_time_elsewhere(pid: int) -> str:
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return ""


def is_same(pid: int, start: str) -> bool:
    """Whether the process that began at `start` still runs under this pid."""
    return bool(start) and start_time(pid) == start


def signal_same(pid: int, start: str, number: int) -> None:
    """Signal that single process, never a successor under the same pid (D5)."""
    if not hasattr(os, "pidfd_open"):
        if is_same(pid, start):
            os.kill(pid, number)
        return
    try:
        handle = os.pidfd_open(pid)  # pins the process: from here on the pid cannot change hands unnoticed
    except OSError:
        return
    try:
        if is_same(pid, start):
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


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
