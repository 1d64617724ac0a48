"""What ends a child when we die. The parents here are processes of their own, killed the hard way."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.engines import tether
from blazar.adapters.hardware.processes import SystemProcesses
from tests.support.engine import stub_server, until

PARENT = """
import os, subprocess, sys
sys.path.insert(0, {root!r})
from blazar.adapters.engines import tether
pipe = os.pipe() if {piped} else None
words = [*tether.shim(pipe and pipe[0]), {program!r}, "--port", "0"]
child = subprocess.Popen(words, start_new_session=True, pass_fds=(pipe[0],) if pipe else (), stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""
ROOT = str(Path(__file__).resolve().parents[4])
PROCESSES = SystemProcesses()


@pytest.mark.parametrize("piped", [False, True], ids=["death-signal", "watched-pipe"])
def test_a_killed_parent_leaves_no_child(tmp_path: Path, piped: bool) -> None:
    """SIGKILL of the parent ends the child, by the kernel or by the watcher, even one that ignores TERM (G3)."""
    program = str(stub_server(tmp_path, ignore_term=1))
    code = PARENT.format(root=ROOT, piped=piped, program=program)
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    start = PROCESSES.start_time(pid)
    assert start
    asyncio.run(until(lambda: b"llama-server" in Path(f"/proc/{pid}/cmdline").read_bytes()))
    parent.kill()
    parent.communicate()
    asyncio.run(until(lambda: not PROCESSES.is_same(pid, start)))


def test_a_watched_child_that_ends_takes_its_watcher_along(tmp_path: Path) -> None:
    """The watcher does not outlive the engine that it watches."""
    read, write = os.pipe()
    child = subprocess.Popen(
        [*tether.shim(read), sys.executable, "-S", "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(read,),
    )
    grandchildren = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    asyncio.run(until(lambda: grandchildren.read_text().split()))
    watcher = int(grandchildren.read_text())
    start = PROCESSES.start_time(watcher)
    child.communicate()
    asyncio.run(until(lambda: not PROCESSES.is_same(watcher, start)))
    os.close(read)
    os.close(write)


def test_the_shim_starts_nothing_for_a_strangers_child() -> None:
    """If the parent is gone before the engine starts, it is not started."""
    for pipe in (None, 0):
        words = tether.shim(pipe)
        words[words.index(str(os.getpid()))] = "1"
        done = subprocess.run([*words, "/bin/echo", "started"], capture_output=True, timeout=60)
        assert (done.returncode, done.stdout) == (1, b"")


def test_python_servers_tie_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the right parent the death signal is asked for; with a wrong one the process leaves; by hand nothing happens."""
    code = "import os, sys; sys.path.insert(0, sys.argv[2]); from blazar.adapters.engines import tether; tether.die_with(sys.argv[1]); print('runs')"

    def told(parent: str) -> bytes:
        return subprocess.run([sys.executable, "-c", code, parent, ROOT], capture_output=True, timeout=60).stdout

    assert told(str(os.getpid())) == b"runs\n"
    assert told("") == b"runs\n"
    assert told("1") == b""
    monkeypatch.setattr(tether, "has_death_signal", lambda: False)
    tether.die_with("1")


class Kernel32:
    """Windows's job calls, recorded; `refuse` is the call that fails."""

    def __init__(self, refuse: str = "") -> None:
        self.refuse, self.calls = refuse, []

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> int:
            self.calls.append((name, given))
            return 0 if name == self.refuse else 77

        return call


def test_a_job_kills_when_closed() -> None:
    """The job's limit flag lies where Windows reads it, and the process is put into the job."""
    kernel = Kernel32()
    assert tether.job_for(kernel, 5) == 77
    created, limited, assigned = kernel.calls
    assert created[0] == "CreateJobObjectW"
    assert limited[1][:2] == (77, tether.JOB_EXTENDED_LIMITS)
    assert limited[1][2].raw[16:20] == b"\x00\x20\x00\x00"
    assert len(limited[1][2].raw) == limited[1][3] == 144
    assert assigned == ("AssignProcessToJobObject", (77, 5))


@pytest.mark.parametrize("refuse", ["CreateJobObjectW", "SetInformationJobObject", "AssignProcessToJobObject"])
def test_a_refused_job_is_no_job(refuse: str) -> None:
    """Where Windows refuses, the child runs untied and no handle leaks."""
    kernel = Kernel32(refuse)
    assert tether.job_for(kernel, 5) == 0
    assert (kernel.calls[-1][0] == "CloseHandle") is (refuse != "CreateJobObjectW")


def test_a_windows_process_is_tied_by_its_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handle that Popen holds goes into the job."""
    import ctypes
    from types import SimpleNamespace

    kernel = Kernel32()
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    process: Any = SimpleNamespace(_handle=9)
    assert tether.tie_on_windows(process) == 77
    assert kernel.calls[-1][1] == (77, 9)


def test_term_reaches_the_engine_through_the_shim(tmp_path: Path) -> None:
    """Signals to the shim's pid are the engine's."""
    child = subprocess.Popen(
        [*tether.shim(None), str(stub_server(tmp_path)), "--port", "0"], stderr=subprocess.PIPE, start_new_session=True
    )
    assert child.stderr is not None
    while b"listening" not in child.stderr.readline():
        pass
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 0
    child.communicate()
