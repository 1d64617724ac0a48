"""Blobs in memory. Laid out files have paths below /laid and are remembered, so that a test sees that they were taken away."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from blazar.application.ports.blobs import Blobs
from blazar.application.ports.kept_files import Intake
from blazar.domain import teaching
from blazar.domain.errors import Malformed, NotFound


class MemoryIntake(Intake):
    """What came so far."""

    def __init__(self, home: "MemoryBlobs", digest: str) -> None:
        self._home, self._digest = home, digest
        self._data = b""
        self.size = 0

    def write(self, data: bytes) -> None:
        self._data += data
        self.size += len(data)

    def keep(self, id_: str) -> None:
        found = hashlib.sha256(self._data).hexdigest()
        if f"sha256:{found}" != self._digest:
            raise Malformed(teaching.blob_digest_differs(found), "digest")
        self._home.blobs[self._digest] = self._data

    def discard(self) -> None:
        self._home.discarded += 1


class MemoryBlobs(Blobs):
    """By digest."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.discarded = 0
        self.laid: list[str] = []

    def has(self, digest: str) -> bool:
        return self._checked(digest) in self.blobs

    def begin(self, digest: str, expected: int = 0) -> Intake:
        return MemoryIntake(self, self._checked(digest))

    def path_of(self, digest: str) -> str:
        if not self.has(digest):
            raise NotFound(teaching.blob_not_here(digest))
        return f"/blobs/{digest}"

    @contextmanager
    def laid_out(self, files: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        for digest in files.values():
            self.path_of(digest)
        self.laid = [f"/laid/{name}" for name in files]
        try:
            yield {name: f"/laid/{name}" for name in files}
        finally:
            self.laid = []

    def _checked(self, digest: str) -> str:
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
            raise Malformed(teaching.field_must("digest", "digest"), "digest")
        return digest
