"""The digest of a file while it arrives: as far as it is there without a gap, so that its end needs no second reading. Asks no host.

It reads behind those who write, from the cache of the system: pieces arrive in no order, and a thread that receives must not hash.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path
from threading import Event, Lock

from blazar.adapters.net.partials import PIECE_MOST, Span
from blazar.adapters.net.promises import Digest

_BLOCK = 1 << 20
"""Bytes at a time: a digest lets other threads run while it works on large blocks only."""
_NAP = 0.01
"""Seconds until it looks again whether more has come."""


class Rolling:
    """`spans` is what there is of the file now, in order; `digest` makes the one that is fed."""

    def __init__(
        self, path: Path, spans: Callable[[], Sequence[Span]], digest: Callable[[], Digest] = hashlib.sha256
    ) -> None:
        self._path, self._spans = path, spans
        self._lock = Lock()
        self._marks: list[tuple[int, Digest]] = [(0, digest())]
        self._at, self._state = 0, digest()

    @property
    def at(self) -> int:
        """Bytes that it has seen."""
        return self._at

    def follow(self, size: Callable[[], int], ended: Event) -> str:
        """In hexadecimal, once all `size()` bytes are there (0: nobody knows yet how many); "" where it was ended."""
        buffer = memoryview(bytearray(_BLOCK))
        with self._path.open("rb", buffering=0) as file:
            while not ended.is_set():
                if self._at == size() > 0:
                    return self._state.hexdigest()
                if not self._step(file, buffer):
                    ended.wait(_NAP)
        return ""

    def rewind(self, to: int) -> None:
        """Bytes from there on are others now."""
        with self._lock:
            while self._marks[-1][0] > to:
                self._marks.pop()
            at, state = self._marks[-1]
            self._at, self._state = at, state.copy()

    def _step(self, file: FileIO, buffer: memoryview) -> bool:
        """One block, if one is there."""
        with self._lock:
            spans = self._spans()
            number = bisect_right(spans, self._at, key=_start) - 1
            if number < 0:
                return False
            span = spans[number]
            there = min(span.at - self._at, len(buffer))
            if there <= 0:
                return False
            file.seek(self._at)
            if not (count := file.readinto(buffer[:there])):
                return False
            self._state.update(buffer[:count])
            self._at += count
            if self._at == span.end or self._at - self._marks[-1][0] >= PIECE_MOST:
                self._marks.append((self._at, self._state.copy()))
            return True


def _start(span: Span) -> int:
    return span.start
