"""Probes that answer, fail, hang, and come back."""

import subprocess
import sys
from threading import Event

import pytest

from blazar.adapters.hardware.probing import NotHere, ProbeFailed, Probes
from blazar.domain import teaching
from blazar.domain.records import Trouble

SECS = 0.05
"""Too short for whoever hangs. Who shall be heard is given as long as it takes."""


def raising(error):
    def probe():
        raise error

    return probe


def asked(probes, probe, name="nvml"):
    troubles = []
    return probes.ask(name, probe, "otherwise", troubles), troubles


def test_an_answer_is_handed_on():
    """Nothing is noted about it."""
    assert asked(Probes(), lambda: "found") == ("found", [])


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ProbeFailed("the card fell off the bus"), "the card fell off the bus"),
        (KeyError("x"), "KeyError('x')"),
        (MemoryError(), "MemoryError()"),
        (AttributeError("no such function"), "AttributeError('no such function')"),
    ],
)
def test_whatever_a_probe_throws_is_a_finding(error, why):
    """An old binding without a function, a broken file: never an error of who asked."""
    assert asked(Probes(), raising(error)) == ("otherwise", [Trouble("nvml", why)])


def speechless(trouble, kind=Exception):
    """An error of this kind whose text throws."""

    def text(self):
        raise trouble

    return type("Speechless", (kind,), {"__str__": text, "__repr__": text})()


@pytest.mark.parametrize("kind", [Exception, ProbeFailed, BaseException])
@pytest.mark.parametrize("trouble", [ValueError("no text"), SystemExit(3), MemoryError()])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_that_cannot_say_itself_is_one_by_its_name(kind, trouble):
    """A driver's binding may throw what throws again when it is written down."""
    assert asked(Probes(), raising(speechless(trouble, kind))) == ("otherwise", [Trouble("nvml", "Speechless")])


def test_what_is_not_installed_is_no_trouble():
    """Most machines have no NVIDIA driver."""
    assert asked(Probes(), raising(NotHere("no library"))) == ("otherwise", [])


def test_a_probe_that_hangs_is_given_up_and_not_piled_up():
    """Its time is up once; while it hangs it is not begun again; afterwards it is asked as before."""
    begun, go_on = [], Event()

    def probe():
        begun.append(1)
        go_on.wait()
        return "late"

    probes = Probes(SECS)
    hung = ("otherwise", [Trouble("nvml", teaching.no_answer_within(SECS))])
    assert asked(probes, probe) == hung
    assert asked(probes, probe) == hung
    assert len(begun) == 1
    probes._seconds = 60.0
    assert asked(probes, lambda: "other", name="pci") == ("other", [])
    hanging = probes._hanging["nvml"]
    assert hanging.daemon  # the process may end without it
    go_on.set()
    hanging.join()
    assert asked(probes, probe) == ("late", [])


def test_a_process_ends_although_a_probe_hangs():
    """A stuck driver must not keep the daemon from stopping."""
    code = (
        "from threading import Event; from blazar.adapters.hardware.probing import Probes\n"
        "print(Probes(0.05).ask('nvml', Event().wait, 'nothing', []))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing\n", "")
