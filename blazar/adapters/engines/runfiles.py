"""The files of one child in the run folder: pid, key, log. Secrets are for the owner alone and die with the child (contract)."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.names import file_stem
from blazar.domain.socket_paths import SUFFIX, socket_name
from blazar.domain.tails import last_lines, tail

TAIL_BYTES = 64 * 1024
"""How much of a log's end is read for its last lines."""

LOG_CAP = 32 * 2**20
"""Bytes after which a running child's log is cut down to its tail: engines talk about every request."""


NO_KEY = "-"
"""In the place of a secret: this child never had one. No secret looks like it."""


class PidRecord(NamedTuple):
    """What a pidfile says."""

    pid: int
    start: str
    tag: str
    key: str


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Where the files of instance `key` lie."""

    folder: Path
    key: str

    def _named(self, suffix: str) -> Path:
        return self.folder / (file_stem(self.key) + suffix)

    @property
    def pid_file(self) -> Path:
        return self._named(".pid")

    @property
    def key_file(self) -> Path:
        return self._named(".apikey")

    @property
    def log(self) -> Path:
        return self._named(".log")

    @property
    def old_log(self) -> Path:
        return self._named(".log.1")

    @property
    def socket(self) -> Path:
        """Where it listens, if it does on a file."""
        return self.folder / socket_name(self.key)

    def guard_socket(self) -> None:
        """For the owner alone, as the key is. Nothing happens where it is gone again: the next question says so."""
        with suppress(OSError):
            self.socket.chmod(0o600)

    def make_folder(self) -> None:
        """A run folder that a clean-up deleted under a live daemon is made anew."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write_key(self, secret: str) -> None:
        """Never readable by others, not even for a moment: created exclusively, with its final mode."""
        self.make_folder()
        self.key_file.unlink(missing_ok=True)
        handle = os.open(self.key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secret + "\n")

    def write_pid(self, record: PidRecord) -> None:
        """Whole or not at all: a half-written pidfile would hide an orphan."""
        draft = self._named(".pid.new")
        draft.write_text(json.dumps(record._asdict()), encoding="utf-8")
        draft.replace(self.pid_file)

    def open_log(self) -> int:
        """A fresh log for a child's output; the previous one is kept beside it. The caller closes the handle.

        O_APPEND: the log can be cut while the child writes, and what it writes next lands at the new end.
        """
        if self.log.exists():
            self.log.replace(self.old_log)
        return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log_size(self) -> int:
        try:
            return self.log.stat().st_size
        except OSError:
            return 0

    def tail(self) -> str:
        """The end of the log as text."""
        try:
            with self.log.open("rb") as file:
                return tail(file, TAIL_BYTES)
        except OSError:
            return ""

    def head(self, start: int, most: int) -> str:
        """At most that many bytes of the log from `start` on, as text of one character a byte."""
        try:
            with self.log.open("rb") as file:
                file.seek(start)
                return file.read(most).decode("latin-1")
        except OSError:
            return ""

    def last_lines(self, count: int) -> list[str]:
        """The newest lines that say something, oldest first, each cut to a length that fits an error message.

        Where the log has no room, what the child said last is lost, and that stands in its place.
        """
        told = [*last_lines(self.tail(), count), *([teaching.log_no_room(str(self.folder))] if self._is_full() else [])]
        return told[-count:] if count > 0 else []

    def _is_full(self) -> bool:
        """Not a byte; what is kept for the system's own does not count."""
        try:
            return shutil.disk_usage(self.folder).free == 0
        except OSError:
            return False

    def trim_log(self) -> int:
        """Cut a log that has grown too large; its tail becomes the old log. Bytes cut away."""
        size = self.log_size()
        if size <= LOG_CAP:
            return 0
        self.old_log.write_text(self.tail(), encoding="utf-8")
        os.truncate(self.log, 0)
        return size

    def remove(self, pid: int, secret: str) -> None:
        """Delete pid, key and socket file if they are still this child's: a successor may have made its own by now."""
        record = read_pid_file(self.pid_file)
        if record is not None and record.pid == pid:
            self.socket.unlink(missing_ok=True)
            self.pid_file.unlink(missing_ok=True)
        try:
            held = self.key_file.read_text(encoding="ascii").strip()
        except OSError:
            return
        if not secret or held == secret:
            self.key_file.unlink(missing_ok=True)


def read_pid_file(path: Path) -> PidRecord | None:
    """None for a file that is gone or not one of ours."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return PidRecord(int(told["pid"]), str(told["start"]), str(told["tag"]), str(told["key"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sweep_sockets(folder: Path) -> None:
    """Remove sockets that no pidfile speaks of: whoever listened there is gone. One that has a pidfile goes with it."""
    for path in folder.glob(f"*{SUFFIX}"):
        if not path.with_name(path.name.removesuffix(SUFFIX) + ".pid").exists():
            path.unlink(missing_ok=True)


def pid_records(folder: Path) -> Iterator[PidRecord]:
    """What the pidfiles of a run folder say; foreign files are passed over."""
    for path in sorted(folder.glob("*.pid")):
        record = read_pid_file(path)
        if record is not None:
            yield record
