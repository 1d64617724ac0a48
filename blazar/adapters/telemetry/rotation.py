"""A file that is only ever appended to, and set aside when it has grown. Private to its owner: it tells who asked for what."""

import os
from pathlib import Path


class GrowingFile:
    """`path`, with one older generation beside it as `path.1`. Opened at the first write."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self._limit = path, limit
        self._descriptor = -1

    def rotate_if_full(self) -> None:
        """Set the file aside when it is at its limit; the older generation is replaced."""
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size >= self._limit:
            self.close()
            self.path.replace(self.path.with_name(self.path.name + ".1"))

    def append(self, data: bytes) -> None:
        """Write all of `data`; raises OSError, after which the next call starts with a fresh descriptor."""
        if self._descriptor < 0:
            self._open()
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            self.close()
            raise

    def _open(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_file_of(self, descriptor: int) -> bool:
        """Whether `descriptor` is this very file: a launcher may have sent stderr here already."""
        if self._descriptor < 0:
            self._open()
        return os.path.sameopenfile(self._descriptor, descriptor)

    def close(self) -> None:
        """Let go of the file; a later write opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
