"""The daemon's own files in `run/`: the lock that makes it the only one, and the note that says where it listens (D2, D3).

The lock is the kernel's (flock), not the file's existence: it is gone with its process, whatever killed that.
"""

import json
import os
import sys
from pathlib import Path
from typing import IO

from blazar.domain import teaching
from blazar.domain.errors import DataDirLocked


class DataDirLock:
    """Held for as long as the daemon lives."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / "daemon.lock"
        self._file: IO[bytes] | None = None

    def acquire(self) -> None:
        """Raises `DataDirLocked` when another daemon has it."""
        file = self._path.open("ab")
        try:
            _lock(file)
        except OSError as refused:
            file.close()
            raise DataDirLocked(teaching.data_dir_locked(str(self._path.parent.parent))) from refused
        self._file = file

    def is_held(self) -> bool:
        """Whether a daemon has it now."""
        try:
            self.acquire()
        except DataDirLocked:
            return True
        self.release()
        return False

    def release(self) -> None:
        """Idempotent."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


class DaemonNote:
    """`run/daemon.json`: how the command line finds a daemon on an ephemeral port; readable by its owner alone."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / "daemon.json"

    def url(self) -> str:
        """Where it says that a daemon listens; empty where it says nothing."""
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ""
        return str(said.get("url", "")) if isinstance(said, dict) else ""

    def write(self, url: str, pid: int, start_time: str) -> None:
        """Replace it in one step; a reader sees the old note or the new one."""
        text = json.dumps({"url": url, "pid": pid, "start_time": start_time})
        temporary = self._path.with_suffix(".tmp")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        temporary.replace(self._path)

    def remove(self) -> None:
        """Idempotent."""
        self._path.unlink(missing_ok=True)
