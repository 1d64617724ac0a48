"""What a child uses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from blazar.adapters.engines import usage


def gone() -> int:
    """The pid of a process that was."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.parametrize("proc", [True, False])
def test_memory_is_told_for_the_living(monkeypatch: pytest.MonkeyPatch, proc: bool) -> None:
    """By /proc, elsewhere by psutil; 0 for the dead."""
    if not proc:
        monkeypatch.setattr(usage, "has_proc", lambda: False)
    assert usage.occupied(os.getpid()).resident > 2**20
    assert usage.occupied(gone()) == (0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_files_back_is_told_apart() -> None:
    """A mapped file that was touched counts as mapped, and is part of what is resident."""
    used = usage.occupied(os.getpid())
    assert 0 < used.mapped < used.resident


def test_reading_counts(tmp_path: Path) -> None:
    """Bytes read by calls show at once; the dead have read nothing."""
    file = tmp_path / "weights"
    file.write_bytes(bytes(2**20))
    before = usage.bytes_read(os.getpid())
    file.read_bytes()
    assert usage.bytes_read(os.getpid()) - before >= 2**20
    assert usage.bytes_read(gone()) == 0
