"""How the measured processes get the machine to themselves: a core each, real-time priority, cores that never sleep.

Without this a run measures its neighbours: on two cores one foreign process doubles a 99th percentile, and in a virtual machine waking a
sleeping core costs 50 µs, more than a proxy does. Needs privileges for the priority; a run without them says so and is noisier.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GATEWAY, CHILD = 0, 1
"""Which core a process gets: gateways one, stub and load generator the other, so that measuring takes nothing from the measured."""


def may_preempt() -> bool:
    """Whether this process may use real-time priorities."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (AttributeError, OSError):
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


PREEMPTS = may_preempt()


def alone_on(core: int) -> dict[str, Any]:
    """Popen arguments for a measured process; what it starts itself inherits both."""
    cores = _cores()

    def settle() -> None:
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[core]})
        if PREEMPTS:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))

    return {"preexec_fn": settle}


def move(pid: int, core: int) -> None:
    """Put a running process, with all its threads, on a core."""
    cores = _cores()
    if len(cores) > 1:
        for task in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {cores[core]})


@contextlib.contextmanager
def awake(spinner: Path) -> Iterator[None]:
    """Spin on every core at the lowest priority there is, which any other process preempts at once."""
    if not hasattr(os, "SCHED_IDLE"):
        yield
        return
    running = [subprocess.Popen([str(spinner)], preexec_fn=_idler(core)) for core in _cores()]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _idler(core: int) -> Any:
    def settle() -> None:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    return settle


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))
