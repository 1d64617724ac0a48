"""A file while it is incomplete: `NAME.part` with the bytes, `NAME.part.json` with what of it is there. Asks no host.

The note is written after the bytes that it speaks of have reached the disk, so that a crash costs some bytes and never a hole.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Conflict

_flock: Callable[[int, int], object] | None
try:
    import fcntl

    _flock, _ALONE = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
except ImportError:  # Windows: there, a file that is open cannot be replaced by another process anyway
    _flock, _ALONE = None, 0

PART, NOTE = ".part", ".part.json"
SAVE_EVERY = 16 << 20
"""Bytes between two notes: what a crash may cost, for a sync that takes a moment."""
SAVE_SECS = 1.0
"""And seconds: on a slow line those bytes are minutes, and a signal that ends the process asks nobody."""
_BLOCK = 1 << 20


class Span:
    """A stretch of the file, and how far it has come. One thread at a time writes to it."""

    __slots__ = ("at", "end", "start")

    def __init__(self, start: int, end: int, at: int) -> None:
        self.start, self.end, self.at = start, end, at

    @property
    def left(self) -> int:
        return self.end - self.at


class Partial:
    """Open while it is worked on, and locked: a second process is refused, and no cleaner takes it away."""

    def __init__(self, path: Path, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._part, self._note = path.with_name(path.name + PART), path.with_name(path.name + NOTE)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        with ExitStack() as undo:
            undo.callback(os.close, self._file)
            lock(self._file, name)
            undo.pop_all()
        self._lock = Lock()
        self._unsaved = 0
        self._now, self._saved_at = now, now()
        self.size, self.etag, self.spans = 0, "", list[Span]()

    def resume(self, size: int, identity: str) -> bool:
        """Take up what is there of this very file; False, and nothing is there, where it is another or none."""
        note = self._read_note()
        same = note.get("identity") == identity and note.get("size", 0) == (size or note.get("size", 0))
        spans = _spans(note) if same else []
        told = max((span.at for span in spans if span.at > span.start), default=0)
        if not spans or os.fstat(self._file).st_size < told:
            self.forget()
            return False
        self.size, self.etag, self.spans = int(note["size"]), str(note.get("etag", "")), spans
        return True

    def plan(self, size: int, count: int, etag: str) -> None:
        """Begin anew: `count` spans of about the same size; of an unknown size one that has no end."""
        self.size, self.etag = size, etag
        step = -(-size // count) if size else 0
        self.spans = [Span(at, min(at + step, size), at) for at in range(0, size, step)] if size else [Span(0, 0, 0)]
        os.ftruncate(self._file, 0)

    def write(self, span: Span, data: bytes, identity: str) -> None:
        """Bytes that come next in a span."""
        view = memoryview(data)
        while view:
            with self._lock if not hasattr(os, "pwrite") else _NOTHING:
                done = _write_at(self._file, view, span.at)
            span.at += done
            view = view[done:]
        with self._lock:
            self._unsaved += len(data)
            if self._unsaved >= SAVE_EVERY or self._now() - self._saved_at >= SAVE_SECS:
                self._save(identity)

    @property
    def done(self) -> int:
        """Bytes that are there."""
        return sum(span.at - span.start for span in self.spans)

    def save(self, identity: str) -> None:
        """Have the disk know it."""
        with self._lock:
            self._save(identity)

    def _save(self, identity: str) -> None:
        spans = [[span.start, span.end, span.at] for span in self.spans]  # before the sync: what is said must be there
        os.fsync(self._file)
        self._unsaved, self._saved_at = 0, self._now()
        fresh = self._note.with_name(self._note.name + ".new")
        told = {"identity": identity, "size": self.size, "etag": self.etag, "spans": spans}
        fresh.write_text(json.dumps(told))
        fresh.replace(self._note)

    def digest(self) -> str:
        """SHA-256 of all of it, in hexadecimal."""
        seen = hashlib.sha256()
        for block in self._blocks():
            seen.update(block)
        return seen.hexdigest()

    def _blocks(self) -> Iterator[bytes]:
        os.lseek(self._file, 0, os.SEEK_SET)
        while block := os.read(self._file, _BLOCK):
            yield block

    def publish(self) -> None:
        """One rename makes it the file itself; the folder is synced, else a power cut could bring the old name back."""
        os.fsync(self._file)
        self._part.replace(self._path)
        self._note.unlink(missing_ok=True)
        sync_folder(self._path.parent)

    def forget(self) -> None:
        """Keep nothing of what is there."""
        self._note.unlink(missing_ok=True)
        os.ftruncate(self._file, 0)
        self.size, self.etag, self.spans = 0, "", []

    def close(self) -> None:
        """Unlock; an empty one leaves no trace."""
        empty = os.fstat(self._file).st_size == 0 and not self._note.exists()
        if empty and self._part.exists() and os.path.samestat(os.fstat(self._file), self._part.stat()):
            self._part.unlink(missing_ok=True)
        os.close(self._file)

    def _read_note(self) -> dict[str, Any]:
        try:
            note = json.loads(self._note.read_text())
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


_NOTHING = _Nothing()


def _write_at(file: int, view: memoryview, at: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, view, at)
    os.lseek(file, at, os.SEEK_SET)
    return os.write(file, view)


def _spans(note: dict[str, Any]) -> list[Span]:
    """What a note says is there; nothing where it contradicts itself."""
    try:
        spans = [Span(*map(int, row)) for row in note["spans"]]
        size = int(note["size"])
    except (KeyError, TypeError, ValueError):
        return []
    edges = [0, *(span.end for span in spans)]
    whole = edges[-1] == size and [span.start for span in spans] == edges[:-1]
    return spans if size > 0 and whole and all(span.start <= span.at <= span.end for span in spans) else []


def lock(file: int, name: str) -> None:
    """For as long as the file is open; raises `Conflict` where another has it."""
    if _flock is None:
        return
    try:
        _flock(file, _ALONE)
    except OSError:
        raise Conflict(teaching.download_under_way(name)) from None


def sync_folder(folder: Path) -> None:
    """Names in it reach the disk. Systems that cannot open folders sync them by themselves."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def discard(path: Path) -> None:
    """Delete a file that is complete, and the note that a crash right after its rename left beside it."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + NOTE).unlink(missing_ok=True)


def sweep(folder: Path, older_than: float) -> None:
    """Delete partials that nobody has touched since a moment and nobody works on."""
    for part in folder.glob(f"*{PART}") if folder.is_dir() else ():
        with suppress(OSError, Conflict):
            if part.stat().st_mtime >= older_than:
                continue
            handle = os.open(part, os.O_RDWR)
            try:
                lock(handle, part.name)
                part.unlink()
                part.with_name(part.name.removesuffix(PART) + NOTE).unlink(missing_ok=True)
            finally:
                os.close(handle)
