"""Files that clients sent and batches made, on disk: written beside, synced, renamed. Ids are names of ours, never a client's."""

import errno
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.kept_files import Intake, KeptFiles, Reading
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble, TooLarge

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
SPARE: Final = 256 * 2**20
"""Bytes that an upload must leave free: catalog, logs and sessions are on the same disk."""


class DiskKeptFiles(KeptFiles):
    """Everything lies flat in `folder`; what is on its way lies in `.parts` below it."""

    def __init__(self, folder: Path, disk: DiskSpace, entropy: Entropy) -> None:
        self._folder, self._disk, self._entropy = folder, disk, entropy
        self._parts = folder / ".parts"

    def begin(self, expected: int = 0) -> "DiskIntake":
        with translated(self._folder):
            free = self._disk.free(str(self._folder))
            if free < expected + SPARE:
                raise TooLarge(teaching.upload_no_room(expected, max(0, free - SPARE)))
            self._parts.mkdir(mode=0o700, parents=True, exist_ok=True)
            return DiskIntake(self, self._parts / self._entropy.token(16))

    def open(self, id_: str) -> Reading | None:
        path = self.path(id_)
        with translated(self._folder):
            try:
                return path.open("rb", buffering=0) if path is not None else None
            except FileNotFoundError:
                return None

    def remove(self, id_: str) -> None:
        if (path := self.path(id_)) is not None:
            with translated(self._folder):
                path.unlink(missing_ok=True)

    def sweep(self, known: Collection[str]) -> None:
        with translated(self._folder):
            for part in [*self._parts.glob("*")]:
                part.unlink(missing_ok=True)
            for path in [*self._folder.glob("*")]:
                if not path.name.startswith(".") and path.is_file() and path.name not in known:
                    path.unlink(missing_ok=True)

    def path(self, id_: str) -> Path | None:
        """Where it lies; None for what is no id (case J6)."""
        return self._folder / id_ if _ID.fullmatch(id_) else None


class DiskIntake(Intake):
    """One file on its way in."""

    def __init__(self, home: DiskKeptFiles, part: Path) -> None:
        self._home, self._part = home, part
        self._file: BinaryIO | None = os.fdopen(os.open(part, _NEW, 0o600), "wb")
        self.size = 0

    def write(self, data: bytes) -> None:
        assert self._file is not None
        with translated(self._part):
            self._file.write(data)
        self.size += len(data)

    def keep(self, id_: str) -> None:
        path = self._home.path(id_)
        assert path is not None, id_
        assert self._file is not None, id_
        with translated(path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._close()
            self._part.replace(path)
            sync_folder(path.parent)

    def discard(self) -> None:
        self._close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            # On a full disk closing tries, and fails, to write what is still held back.
            with suppress(OSError):
                file.close()


def sync_folder(folder: Path) -> None:
    """Make a rename outlive a power failure. Windows opens no folders."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def try_writing(folder: Path) -> None:
    """Raises the `OSError` of a folder, or of the one that it is to be made in, that may not be written to. A full disk is none."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    probe = folder / f".{os.getpid()}-{threading.get_ident()}.probe"
    try:
        probe.touch()
    except OSError as trouble:
        if trouble.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
    with suppress(OSError):
        probe.unlink()


@contextmanager
def translated(path: Path, told: Callable[[str, str], str] = teaching.files_trouble) -> Iterator[None]:
    """What the disk says, in our words."""
    try:
        yield
    except OSError as error:
        raise StoreTrouble(told(str(path), error.strerror or str(error))) from error
