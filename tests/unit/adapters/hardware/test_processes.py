"""Processes without pidfds and without /proc; what holds everywhere stands in tests/contract/ports."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from blazar.adapters.hardware import processes as module
from blazar.adapters.hardware.processes import SystemProcesses

WATCHDOG = 60.0
processes = SystemProcesses()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """One that waits."""
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as waiting:
        yield waiting
        waiting.kill()


def test_a_zombie_is_dead() -> None:
    """A process that has ended and was not waited for has no start time (G5, D31)."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    start = ""
    while processes.start_time(process.pid):
        start = processes.start_time(process.pid) or start
    assert not processes.is_same(process.pid, start)
    process.wait(WATCHDOG)


def test_a_name_with_blanks_and_brackets_is_read_past(process: subprocess.Popen[bytes]) -> None:
    """Field 2 of /proc/<pid>/stat is whatever the program calls itself."""
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b') R 1 (', 0, 0, 0); print(flush=True); input()"
    words = [sys.executable, "-S", "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as odd:
        assert odd.stdout is not None
        odd.stdout.readline()
        assert int(processes.start_time(odd.pid)) >= int(processes.start_time(process.pid))
        odd.kill()


def test_without_proc_psutil_tells(monkeypatch: pytest.MonkeyPatch, process: subprocess.Popen[bytes]) -> None:
    """Elsewhere start times come from it; a dead pid has none."""
    monkeypatch.setattr(module, "has_proc", lambda: False)
    start = processes.start_time(process.pid)
    assert processes.is_same(process.pid, start)
    process.kill()
    process.wait(WATCHDOG)
    assert processes.start_time(process.pid) == ""


def test_without_pidfds_the_start_time_is_still_checked(
    monkeypatch: pytest.MonkeyPatch, process: subprocess.Popen[bytes]
) -> None:
    """Where a process cannot be pinned: signalled only if it is the one, and its end is polled for."""
    monkeypatch.delattr(os, "pidfd_open")
    start = processes.start_time(process.pid)
    assert not processes.signal(process.pid, "not it", signal.SIGKILL)
    assert not processes.ended_within(process.pid, start, 0.0)
    assert processes.signal(process.pid, start, signal.SIGKILL)
    assert processes.ended_within(process.pid, start, WATCHDOG)


def test_an_end_between_look_and_signal_is_no_error(
    monkeypatch: pytest.MonkeyPatch, process: subprocess.Popen[bytes]
) -> None:
    """It was gone when the signal came: as if it had not been there."""
    start = processes.start_time(process.pid)
    process.kill()
    process.wait(WATCHDOG)
    monkeypatch.setattr(SystemProcesses, "is_same", lambda *_: True)
    monkeypatch.delattr(os, "pidfd_open")
    assert not processes.signal(process.pid, start, signal.SIGTERM)
