"""What everybody who looks at processes must do, on paper and with real ones."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.processes import Processes
from tests.fakes.processes import FakeProcesses

WATCHDOG = 60.0


class Case(NamedTuple):
    """One process that runs and ends on SIGTERM."""

    processes: Processes
    pid: int


@pytest.fixture(params=["paper", "system"])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    if request.param == "paper":
        yield Case(FakeProcesses({77: "5"}), 77)
        return
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield Case(SystemProcesses(), process.pid)
        process.kill()


def test_a_process_is_itself(case: Case) -> None:
    """Its start time does not change, and no other fits; no start time fits nobody."""
    start = case.processes.start_time(case.pid)
    assert start
    assert case.processes.start_time(case.pid) == start
    assert case.processes.is_same(case.pid, start)
    assert not case.processes.is_same(case.pid, start + "0")
    assert not case.processes.is_same(case.pid, "")


def test_what_is_not_there_has_no_start_time(case: Case) -> None:
    """No such pid: no time, not the same, gone already, and no signal."""
    nobody = 2**22 + 1  # above the highest pid of Linux
    assert case.processes.start_time(nobody) == ""
    assert not case.processes.is_same(nobody, "5")
    assert not case.processes.signal(nobody, "5", signal.SIGTERM)
    assert case.processes.ended_within(nobody, "5", 0.0)


def test_a_stranger_under_the_same_pid_is_not_signalled(case: Case) -> None:
    """The start time is another: nothing is sent, and the one that was meant counts as gone (D5)."""
    start = case.processes.start_time(case.pid)
    assert not case.processes.signal(case.pid, start + "0", signal.SIGKILL)
    assert case.processes.ended_within(case.pid, start + "0", 0.0)
    assert case.processes.is_same(case.pid, start)


def test_a_signal_ends_it_and_its_end_is_noticed(case: Case) -> None:
    """Before it, waiting is in vain; after it, it is gone, although nobody has waited for the zombie (D31)."""
    start = case.processes.start_time(case.pid)
    assert not case.processes.ended_within(case.pid, start, 0.0)
    assert case.processes.signal(case.pid, start, signal.SIGTERM)
    assert case.processes.ended_within(case.pid, start, WATCHDOG)
    assert case.processes.start_time(case.pid) == ""
    assert not case.processes.signal(case.pid, start, signal.SIGTERM)
