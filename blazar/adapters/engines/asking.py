"""A program of an engine run for what it prints: bounded in time and in bytes, whatever it does. Understands no word of it.

One that never ends, prints for ever or leaves a child behind that keeps its output open costs no more than these bounds.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO, NamedTuple

MOST = 4 * 2**20
"""Bytes that are heard: twenty times the longest known help. Who goes on is ended."""
LINGER_SECS = 1.0
"""How long after the end of a program its last words may take: what it has left behind may hold its output open for ever."""

Process = subprocess.Popen[bytes]


class Said(NamedTuple):
    """How a program ended (negative: by this signal), what it printed, and whether that is known to be all of it."""

    code: int
    text: str
    whole: bool


def ask(
    words: tuple[str, ...],
    env: Mapping[str, str],
    seconds: float,
    *,
    both: bool = True,
    started: Callable[[Process], None] = lambda _: None,
) -> Said:
    """Run to its end; `both`: what it says on stderr, too. `started` is handed what may be killed from elsewhere.

    Raises `OSError` for what cannot be run, `subprocess.TimeoutExpired` for what takes longer. It is ended in any case.
    """
    process = subprocess.Popen(
        words,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if both else subprocess.DEVNULL,
    )
    ear = _Ear(process)
    try:
        started(process)
        code = process.wait(seconds)
    finally:
        process.kill()  # nothing to one that has ended
        ear.finish()
    return Said(code, bytes(ear.heard).decode("utf-8", "replace").replace("\r\n", "\n"), ear.ended)


class _Ear:
    """Listens in a thread of its own, so that neither the end of the program nor that of its output is waited for in vain."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self.heard = bytearray()
        self._process = process
        self.ended = False
        self._done = False
        self._thread = threading.Thread(target=self._listen, args=(process.stdout,), name="ask", daemon=True)
        self._thread.start()

    def _listen(self, output: IO[bytes]) -> None:
        # Closed here alone: a number that is closed while it is read may be another file's by then.
        with output:
            while len(self.heard) < MOST and not self._done:
                part = os.read(output.fileno(), 2**16)
                if not part:
                    self.ended = True
                    return
                self.heard += part
            self._process.kill()  # before its output is closed: it is to end of that, and not of a broken pipe

    def finish(self) -> None:
        """Hear the rest, and take away the process: one that is stuck in the kernel is left to it."""
        self._thread.join(LINGER_SECS)
        self._done = True
        try:
            self._process.wait(LINGER_SECS)
        except subprocess.TimeoutExpired:
            return
