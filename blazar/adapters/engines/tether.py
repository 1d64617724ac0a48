"""What ties a child's life to ours, so that a killed daemon leaves no engine behind (D28, D32).

Linux: the kernel sends the child SIGKILL when the thread that started it dies. Other POSIX systems: a watcher process
holds the read end of a pipe whose write end is ours. Windows: a job object that kills on close. Decides nothing else.
"""

import os
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
SIGKILL = 9  # by number: the name does not exist on Windows

PARENT_VARIABLE = "BLAZAR_PARENT_PID"
"""Tells a child of ours whose death it must not survive."""

# `python -S -I -c` runs these before the engine: no site-packages, no environment, about 13 ms. The pid stays the engine's own.
# The second getppid closes the gap in which the parent dies before the signal is asked for.
_DEATH_SIGNAL = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {SIGKILL}, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
"""
_WATCHED_PIPE = f"""
import os, select, sys
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
pipe, engine = int(sys.argv[2]), os.getpid()
if os.fork() == 0:
    null = os.open(os.devnull, os.O_RDWR)
    for taken in (0, 1, 2):
        os.dup2(null, taken)
    while os.getppid() == engine:
        if select.select([pipe], [], [], 1.0)[0]:
            if os.getppid() == engine:
                os.kill(engine, {SIGKILL})
            break
    os._exit(0)
os.close(pipe)
"""
_EXEC = """
words = sys.argv[3:]
try:
    os.execvp(words[0], words)
except OSError as error:
    print(f"cannot start {words[0]}: {error.strerror}", file=sys.stderr)
    sys.exit(127)
"""


def shim(pipe: int | None) -> list[str]:
    """The words that come before the engine's own; `pipe` is the watched read end where there is no death signal."""
    code = _DEATH_SIGNAL if pipe is None else _WATCHED_PIPE
    return [sys.executable, "-S", "-I", "-c", code + _EXEC, str(os.getpid()), str(-1 if pipe is None else pipe)]


def has_death_signal() -> bool:
    """Whether the kernel can do it."""
    return sys.platform == "linux"


def has_shim() -> bool:
    """Windows has no exec: there the job object does the work."""
    return sys.platform != "win32"


def die_with(parent: str) -> None:
    """For a server that is Python itself: ask for the death signal, then leave if the parent is gone already."""
    if not parent.isdigit() or not has_death_signal():
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        os._exit(1)


JOB_KILL_ON_CLOSE = 0x2000
JOB_EXTENDED_LIMITS = 9
_LIMITS_SIZE = 144  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION on 64 bits; LimitFlags lie at offset 16


def job_for(kernel32: Any, process: int) -> int:
    """Put a process handle into a job that dies with our handle; 0 when Windows refuses (the child then is merely untied)."""
    import ctypes

    flags = JOB_KILL_ON_CLOSE.to_bytes(4, "little")
    limits = ctypes.create_string_buffer(bytes(16) + flags + bytes(_LIMITS_SIZE - 20), _LIMITS_SIZE)
    job = int(kernel32.CreateJobObjectW(None, None))
    if not job:
        return 0
    limited = kernel32.SetInformationJobObject(job, JOB_EXTENDED_LIMITS, limits, _LIMITS_SIZE)
    if limited and kernel32.AssignProcessToJobObject(job, process):
        return job
    kernel32.CloseHandle(job)
    return 0


def tie_on_windows(process: Any) -> int:
    """A job around a started process; the handle must live as long as we do."""
    import ctypes

    kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009 - the name exists only on Windows
    return job_for(kernel32, int(process._handle))  # noqa: SLF001 - Popen offers the handle nowhere else
