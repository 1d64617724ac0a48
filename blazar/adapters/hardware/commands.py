"""Programs that tell about hardware, run with a hard time limit: `nvidia-smi` and `sysctl` hang with the drivers they ask."""

import subprocess
from collections.abc import Callable, Sequence
from typing import NamedTuple

from blazar.adapters.hardware.probing import NotHere, ProbeFailed
from blazar.domain import teaching

RUN_SECS = 10.0
"""nvidia-smi takes a few seconds where it has to wake the cards; `probing.ANSWER_SECS` is longer, so the child is always ended first."""
_KILLED_SECS = 1.0
"""How long a killed child may take to be gone; one that is stuck in the kernel is left to it."""


class Said(NamedTuple):
    """How a program ended, and everything that it printed."""

    code: int
    text: str


Runner = Callable[[Sequence[str]], Said]
"""Runs these words; raises `NotHere` where there is no such program, `ProbeFailed` when it does not come back."""


def run(words: Sequence[str], seconds: float = RUN_SECS) -> Said:
    """Run to its end or to the limit. `subprocess.run` waits for a killed child without limit: not here."""
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError as error:
        raise NotHere(str(error)) from error
    except OSError as error:
        raise ProbeFailed(error.strerror or str(error)) from error
    try:
        text, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(child)
        raise ProbeFailed(teaching.no_answer_within(seconds)) from None
    return Said(child.returncode, text)


def _end(child: subprocess.Popen[str]) -> None:
    child.kill()
    if child.stdout is not None:
        child.stdout.close()
    try:
        child.wait(_KILLED_SECS)
    except subprocess.TimeoutExpired:
        return
