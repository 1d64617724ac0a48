"""Kept files in memory."""

import io
from collections.abc import Collection

from blazar.application.ports.kept_files import Intake, KeptFiles, Reading
from blazar.domain.errors import StoreTrouble


class MemoryKeptFiles(KeptFiles):
    """`full` makes the disk refuse every write."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.parts: list[MemoryIntake] = []
        self.full = False

    def begin(self, expected: int = 0) -> "MemoryIntake":
        self.check()
        intake = MemoryIntake(self)
        self.parts.append(intake)
        return intake

    def open(self, id_: str) -> Reading | None:
        return io.BytesIO(self.files[id_]) if id_ in self.files else None

    def remove(self, id_: str) -> None:
        self.files.pop(id_, None)

    def sweep(self, known: Collection[str]) -> None:
        self.parts.clear()
        self.files = {id_: data for id_, data in self.files.items() if id_ in known}

    def check(self) -> None:
        """Raise where the test says that the disk is full."""
        if self.full:
            raise StoreTrouble("the disk is full")


class MemoryIntake(Intake):
    """One file on its way in."""

    def __init__(self, home: MemoryKeptFiles) -> None:
        self._home, self._data = home, bytearray()
        self.writes: list[int] = []
        self.size = 0

    def write(self, data: bytes) -> None:
        self._home.check()
        self._data += data
        self.writes.append(len(data))
        self.size += len(data)

    def keep(self, id_: str) -> None:
        self._home.check()
        self._home.files[id_] = bytes(self._data)
        self._home.parts.remove(self)

    def discard(self) -> None:
        if self in self._home.parts:
            self._home.parts.remove(self)
