"""Processes as the operating system knows them. Linux reads /proc and pins by pidfd, other systems ask psutil (imported only there).

The thin verbs come through here too: nothing but cheap modules may be imported at the top.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blazar.application.ports.processes import Processes

PAUSE = 0.05
"""Between two looks at a process that cannot be waited for otherwise."""

_PROC = Path("/proc")
_STATE_FIELD, _START_FIELD = 3, 22  # man 5 proc: state; start time in clock ticks after boot


def has_proc() -> bool:
    """Whether facts come from /proc."""
    return sys.platform == "linux"


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat, counted from 1; the command name (field 2) may hold blanks and is cut out."""
    text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return ["", str(pid), "", *text.rpartition(")")[2].split()]


def _start_time_elsewhere(pid: int) -> str:
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return ""


@contextmanager
def _pinned(pid: int) -> Iterator[int | None]:
    """A handle on the process that has this pid now: while it is held the pid cannot change hands unnoticed."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, a sandbox without the call, or no such process
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


class SystemProcesses(Processes):
    """The real ones."""

    def start_time(self, pid: int) -> str:
        if not has_proc():
            return _start_time_elsewhere(pid)
        try:
            fields = _stat(pid)
        except OSError:
            return ""
        return "" if fields[_STATE_FIELD] in "ZX" else fields[_START_FIELD]

    def signal(self, pid: int, start: str, number: int) -> bool:
        with _pinned(pid) as handle:
            if not self.is_same(pid, start):
                return False
            try:
                if handle is None:
                    os.kill(pid, number)
                else:
                    signal.pidfd_send_signal(handle, number)
            except ProcessLookupError:
                return False
            return True

    def ended_within(self, pid: int, start: str, seconds: float) -> bool:
        with _pinned(pid) as handle:
            if not self.is_same(pid, start):
                return True
            if handle is not None:
                waiting = select.poll()
                waiting.register(handle, select.POLLIN)  # readable once it has ended, waited for or not
                return bool(waiting.poll(seconds * 1000))
        end = time.monotonic() + seconds
        while self.is_same(pid, start):
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE)
        return True
