"""Programs that do not behave while they are asked."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from blazar.adapters.engines import asking as module
from blazar.adapters.engines.asking import MOST, Process, ask
from tests.support.daemon import WATCHDOG

ENV = dict(os.environ)


def python(body: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", body)


def test_what_a_program_prints_is_heard() -> None:
    """On either stream, or on stdout alone; Windows' line ends are no part of it, and what is no UTF-8 is marked."""
    words = python("import os; os.write(1, b'a\\r\\n\\xff\\n'); os.write(2, b'b\\n')")
    assert ask(words, ENV, WATCHDOG) == (0, "a\n\ufffd\nb\n", True)
    assert ask(words, ENV, WATCHDOG, both=False).text == "a\n\ufffd\n"


def test_who_prints_for_ever_is_ended() -> None:
    """Long before the time is over, with no more than the bound in memory."""
    said = ask(python("import os\nwhile True: os.write(1, b'x' * 65536)"), ENV, WATCHDOG)
    assert said.code == -signal.SIGKILL
    assert MOST <= len(said.text) < MOST + 2**16
    assert not said.whole


def test_who_never_ends_is_ended() -> None:
    """And is no process any more when that is told."""
    seen: list[Process] = []
    with pytest.raises(subprocess.TimeoutExpired):
        ask(python("import time; time.sleep(600)"), ENV, 0.2, started=seen.append)
    assert seen[0].returncode == -signal.SIGKILL


def test_who_is_left_behind_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that keeps the output open: what was said until the end of the program counts, and is not known to be all."""
    monkeypatch.setattr(module, "LINGER_SECS", 0.2)
    os.mkfifo(tmp_path / "end")
    body = (
        f"import os\nprint('--a', flush=True)\nif not os.fork(): open({str(tmp_path / 'end')!r}).read(); print('late')"
    )
    said = ask(python(body), ENV, WATCHDOG)
    assert said == (0, "--a\n", False)
    (tmp_path / "end").write_text("")  # the child goes, and its listener with it
    for thread in [thread for thread in threading.enumerate() if thread.name == "ask"]:
        thread.join(WATCHDOG)
        assert not thread.is_alive()


def test_a_signal_is_a_negative_code() -> None:
    """What was said before it is heard."""
    said = ask(python("import os; os.write(1, b'half'); os.kill(os.getpid(), 11)"), ENV, WATCHDOG)
    assert said == (-signal.SIGSEGV, "half", True)


def test_what_cannot_be_run_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Not there, or no program."""
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    for path in (tmp_path / "missing", tmp_path / "text", tmp_path):
        with pytest.raises(OSError):
            ask((str(path),), ENV, WATCHDOG)
