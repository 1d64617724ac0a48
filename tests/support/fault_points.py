"""Real processes that are killed right before their n-th change to the disk: every crash that an operation can have, one by one.

The interpreter's own audit events are the points, so that the code under test needs no hook and none can be forgotten.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Act = Callable[[], object]

_CHANGES = frozenset(
    [
        "os.chmod",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "shutil.move",
        "shutil.rmtree",
    ]
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_FAILED = 99


def _changes_the_disk(event: str, args: tuple[Any, ...]) -> bool:
    if event in _CHANGES or event == "subprocess.Popen":
        return True
    return event == "open" and isinstance(args[2], int) and bool(args[2] & _WRITES) and "/dev/" not in str(args[0])


def _in_a_process(act: Act, hook: Callable[[str, tuple[Any, ...]], None]) -> int:
    """How a forked process that acts ended; it never returns into the test."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        sys.addaudithook(hook)
        act()
    except BaseException:
        traceback.print_exc()
        os._exit(_FAILED)
    os._exit(0)


def points(act: Act, notes: Path) -> list[str]:
    """The changes that a whole run makes, in order; `notes` is a file of the test's own."""
    handle = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def note(event: str, args: tuple[Any, ...]) -> None:
        if _changes_the_disk(event, args):
            os.write(handle, f"{event} {args[0]!r}\n".encode("utf-8", "replace"))

    code = _in_a_process(act, note)
    os.close(handle)
    assert code == 0, "the run that was to be watched failed"
    return notes.read_text().splitlines()


def killed_before(act: Act, number: int) -> bool:
    """Run it and kill it with SIGKILL before its change of this number (from 0); False where it ended before that."""
    seen = 0

    def kill(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if _changes_the_disk(event, args):
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    code = _in_a_process(act, kill)
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def overtaken(act: Act, at: Callable[[str, tuple[Any, ...]], bool], others: Act) -> None:
    """Run it in a process that stands still before the first change to the disk that `at` means, until `others` have acted."""
    done = False

    def overtake(event: str, args: tuple[Any, ...]) -> None:
        nonlocal done
        if not done and _changes_the_disk(event, args) and at(event, args):
            done = True
            others()

    def acted() -> None:
        act()
        assert done, "nobody overtook it"

    assert _in_a_process(acted, overtake) == 0
