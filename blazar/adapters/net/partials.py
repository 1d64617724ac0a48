"""A file while it is incomplete: `NAME.part` with the bytes, `NAME.part.json` with what of it is there. Asks no host.

The note is written after the bytes that it speaks of have reached the disk, so that a crash costs some bytes and never a hole.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from threading import Condition, Event, Lock
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
"""Most bytes between two notes. A note is due after a 256th of the file: a crash may cost two of these, and what is in the lines."""
SAVE_LEAST = 512 << 10
SAVE_SECS = 1.0
"""And seconds: on a slow line those bytes are minutes, and a signal that ends the process asks nobody."""
_LOOK_SECS = 0.1
PIECE_LEAST, PIECE_MOST = 8 << 20, 64 << 20
"""A piece is what one request asks for: large enough to be worth a round trip, small enough that a slow connection holds nobody up."""


class Span:
    """A stretch of the file, and how far it has come. One thread at a time writes to it.

    `doubtful` are bytes of an earlier run or of a connection that broke: those are looked at first where the digest differs.
    """

    __slots__ = ("at", "doubtful", "end", "start")

    def __init__(self, start: int, end: int, at: int, *, doubtful: bool = False) -> None:
        self.start, self.end, self.at, self.doubtful = start, end, at, doubtful

    @property
    def left(self) -> int:
        return self.end - self.at


class Partial:
    """Open while it is worked on, and locked: a second process is refused, and no cleaner takes it away."""

    def __init__(self, path: Path, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self.part, self._note = path.with_name(path.name + PART), path.with_name(path.name + NOTE)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _open_locked(self.part, name)
        self._place = Lock()
        self._saving = Lock()
        self._turn = Condition()
        self._unsaved, self._kept = 0, False
        self._now, self._saved_at = now, now()
        self.size, self.etag, self.identity, self.spans = 0, "", "", list[Span]()

    def resume(self, size: int, identity: str, *, vouched: bool = True) -> bool:
        """Take up what is there of this very file; False, and nothing is there, where it is another or none.

        Without a digest (`vouched`) its host's strong tag must tell, by which it is asked whether it has that version still.
        """
        note = _read_note(self._note)
        same = note.get("identity") == identity and note.get("size", 0) == (size or note.get("size", 0))
        spans = _spans(note) if same and (vouched or note.get("etag")) else []
        told = max((span.at for span in spans if span.at > span.start), default=0)
        if not spans or os.fstat(self._file).st_size < told:
            self.forget()
            return False
        self.size, self.etag, self.spans = int(note["size"]), str(note.get("etag", "")), spans
        self.identity = identity
        return True

    def plan(self, size: int, connections: int, etag: str, identity: str) -> None:
        """Begin anew: pieces for so many connections, or one for a single one; of an unknown size one that has no end."""
        self.size, self.etag, self.identity = size, etag, identity
        step = piece_of(size, connections)
        self.spans = [Span(at, min(at + step, size), at) for at in range(0, size, step)] if size else [Span(0, 0, 0)]
        os.ftruncate(self._file, 0)

    def cut(self, span: Span, at: int) -> Span:
        """Give the rest of a span, from `at`, to somebody else: its new owner's span."""
        rest = Span(at, span.end, at)
        with self._turn:  # a note between the two would have a gap
            span.end = at
            self.spans = sorted([*self.spans, rest], key=lambda one: one.start)
        return rest

    def write(self, span: Span, data: bytes | memoryview) -> None:
        """Bytes that come next in a span. Waits for the disk where it falls behind: what no note knows of is what a crash costs."""
        self.overwrite(data, span.at)
        span.at += len(data)
        with self._turn:
            self._unsaved += len(data)
            if self._unsaved >= self._every:
                self._turn.notify_all()
            while self._kept and self._unsaved >= 2 * self._every:
                self._turn.wait(_LOOK_SECS)

    def overwrite(self, data: bytes | memoryview, at: int) -> None:
        """The same at any place, without a note."""
        view = memoryview(data)
        while view:
            with nullcontext() if hasattr(os, "pwrite") else self._place:
                done = _write_at(self._file, view, at)
            at += done
            view = view[done:]

    def read(self, at: int, count: int) -> bytes:
        """What is there."""
        with nullcontext() if hasattr(os, "pread") else self._place:
            return _read_at(self._file, at, count)

    @property
    def _every(self) -> int:
        return max(SAVE_LEAST, min(SAVE_EVERY, self.size // 256)) if self.size else SAVE_EVERY

    @property
    def done(self) -> int:
        """Bytes that are there."""
        return sum(span.at - span.start for span in self.spans)

    def keep(self, ended: Event) -> None:
        """Write notes as they are due, until the event; a thread of its own does so, since a disk may take its time."""
        with self._turn:
            self._kept = True
        try:
            while not ended.is_set():
                with self._turn:
                    self._turn.wait_for(lambda: ended.is_set() or self._unsaved >= self._every, _LOOK_SECS)
                self.save_if_due()
        finally:
            with self._turn:
                self._kept = False
                self._turn.notify_all()

    def wake(self) -> None:
        """Whoever waits for a note, or for its turn to write one, looks again."""
        with self._turn:
            self._turn.notify_all()

    def save_if_due(self) -> None:
        waited = self._now() - self._saved_at >= SAVE_SECS
        if self._unsaved >= self._every or (self._unsaved and waited):
            self.save()

    def save(self) -> None:
        """Have the disk know it."""
        with self._saving:
            with self._turn:
                unsaved = self._unsaved
                spans = [
                    [span.start, span.end, span.at] for span in self.spans
                ]  # before the sync: all of it must be there
            os.fsync(self._file)
            told = {"identity": self.identity, "size": self.size, "etag": self.etag, "spans": spans}
            fresh = self._note.with_name(self._note.name + ".new")
            try:
                _write_private(fresh, json.dumps(told))
                fresh.replace(self._note)
            except OSError:  # a full disk: the note before it is still there, and still true
                fresh.unlink(missing_ok=True)
                raise
            with self._turn:
                self._unsaved, self._saved_at = self._unsaved - unsaved, self._now()
                self._turn.notify_all()

    def publish(self) -> None:
        """One rename makes it the file itself; the folder is synced, else a power cut could bring the old name back."""
        os.fsync(self._file)
        self.part.replace(self._path)
        self._note.unlink(missing_ok=True)
        sync_folder(self._path.parent)

    def forget(self) -> None:
        """Keep nothing of what is there."""
        self._note.unlink(missing_ok=True)
        os.ftruncate(self._file, 0)
        self.size, self.etag, self.spans, self._unsaved = 0, "", [], 0

    def close(self) -> None:
        """Unlock; an empty one leaves no trace."""
        empty = os.fstat(self._file).st_size == 0 and not self._note.exists()
        if empty and _is_still(self._file, self.part):
            self.part.unlink(missing_ok=True)
        os.close(self._file)


def piece_of(size: int, connections: int) -> int:
    """Bytes of one piece. Eight for each connection keep all of them busy to the end."""
    if connections <= 1 or not size:
        return max(size, 1)
    return min(-(-size // connections), max(PIECE_LEAST, min(PIECE_MOST, size // (8 * connections))))


def told_of(path: Path) -> tuple[int, int]:
    """How far whoever works on that file has come, as its note says: bytes there, bytes of the whole."""
    note = _read_note(path.with_name(path.name + NOTE))
    spans = _spans(note)
    return sum(span.at - span.start for span in spans), int(note["size"]) if spans else 0


def _open_locked(part: Path, name: str) -> int:
    """The partial of that name, locked. Who held it before may have published or deleted the file that was opened meanwhile."""
    while True:
        file = os.open(part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        with ExitStack() as undo:
            undo.callback(os.close, file)
            lock(file, name)
            if _is_still(file, part):
                undo.pop_all()
                return file


def _write_private(path: Path, text: str) -> None:
    """For its owner alone: what identifies the file may be an address that lets anybody have it."""
    path.unlink(missing_ok=True)  # of a process that died over it, whatever its mode
    path.touch(0o600)
    path.write_text(text)


def _is_still(file: int, path: Path) -> bool:
    """Whether the open file is the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _read_note(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _write_at(file: int, view: memoryview, at: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, view, at)
    os.lseek(file, at, os.SEEK_SET)
    return os.write(file, view)


def _read_at(file: int, at: int, count: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, count, at)
    os.lseek(file, at, os.SEEK_SET)
    return os.read(file, count)


def _spans(note: dict[str, Any]) -> list[Span]:
    """What a note says is there; nothing where it contradicts itself."""
    try:
        spans = [Span(*map(int, row)) for row in note["spans"]]
        size = int(note["size"])
    except (KeyError, TypeError, ValueError):
        return []
    for span in spans:
        span.doubtful = span.at > span.start
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
                if _is_still(handle, part):
                    part.unlink()
                    part.with_name(part.name.removesuffix(PART) + NOTE).unlink(missing_ok=True)
            finally:
                os.close(handle)
