"""Folders below `data/downloads` in which pulls arrive, one an artefact, locked while somebody works in them. Downloads nothing."""

import errno
import glob
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from blazar.adapters.files.kept import translated
from blazar.application.ports.landing import Landing
from blazar.domain import teaching

_flock: Callable[[int, int], object] | None
try:
    import fcntl

    _flock, _ALONE = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
except ImportError:  # Windows: two processes that pull the same publish the same file one after the other
    _flock, _ALONE = None, 0

LOCK = ".lock"
PART, NOTE = ".part", ".part.json"
"""What downloads call a file that is incomplete, and what they know of it."""
POLL_SECS = 0.2
_OURS = re.compile(r"[0-9a-f]{12}")
"""How such folders are called: the downloads of engines lie beside them."""
_READ = 4 << 20
"""Bytes that are read at once: between two of them a stop is noticed."""
_BLOCK = 512
"""Bytes of a unit of `st_blocks` (POSIX)."""


BESIDE_MODELS = ".downloads"
"""Where pulls arrive, in the models folder, when the usual folder is on another file system: nothing hidden there is taken for a model."""


def landing_root(usual: Path, models: Path) -> Path:
    """A folder from which files get into `models` by a link or a rename. Bind mounts of one disk are two file systems to both: it is tried."""
    probe, target = usual / f".{os.getpid()}.{time.monotonic_ns()}.probe", models / f".{os.getpid()}.probe"
    with suppress(OSError):  # whoever needs the folder finds the same trouble, and tells it
        usual.mkdir(parents=True, exist_ok=True)
        probe.touch()
        try:
            if not _passes(probe, target):
                return models / BESIDE_MODELS
        finally:
            probe.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
    return usual


def _passes(source: Path, target: Path) -> bool:
    for way in (os.link, os.replace):
        try:
            way(source, target)
        except OSError as trouble:
            if trouble.errno == errno.EXDEV:
                return False
        else:
            return True
    return True


class DiskLanding(Landing):
    """`root` is made when the first folder is claimed."""

    def __init__(self, root: Path, sleep: Callable[[float], None] = time.sleep) -> None:
        self._root, self._sleep = root, sleep

    def folder(self, key: str) -> str:
        return str(self._root / key)

    @contextmanager
    def claim(self, keys: Collection[str], waiting: Callable[[], None]) -> Iterator[None]:
        with ExitStack() as held:
            for key in sorted(set(keys)):  # in one order, or two pulls could wait for each other
                with translated(self._root, teaching.landing_trouble):
                    while not self._taken(key, held):
                        waiting()
                        self._sleep(POLL_SECS)
                held.callback(_leave, self._root / key)  # before its lock is let go
            yield

    def _taken(self, key: str, held: ExitStack) -> bool:
        """Whether the folder is ours alone now, until `held` ends."""
        path = self._root / key / LOCK
        path.parent.mkdir(parents=True, exist_ok=True)
        if _flock is None:
            return True
        with ExitStack() as ours:
            try:
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                ours.callback(os.close, file)
                _flock(file, _ALONE)
                # Whoever had it may have cleared the folder: a lock on a file that has no name keeps nobody out.
                if not os.path.samestat(os.fstat(file), path.stat()):
                    return False
            except (BlockingIOError, FileNotFoundError):
                return False
            held.push(ours.pop_all())
        return True

    def size(self, path: str) -> int:
        with suppress(OSError):
            at = Path(path)
            return at.stat().st_size if at.is_file() else -1
        return -1

    def held(self, path: str) -> int:
        total, at = 0, Path(path)
        for partial in at.parent.glob(f"{glob.escape(at.name)}.*"):
            with suppress(OSError):
                total += _room(partial)
        return total

    def digest(self, path: str, check: Callable[[], None]) -> str:
        digest, buffer = hashlib.sha256(), memoryview(bytearray(_READ))
        with suppress(OSError), Path(path).open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                digest.update(buffer[:count])
                check()
            return digest.hexdigest()
        return ""

    def drop(self, path: str) -> None:
        with translated(Path(path), teaching.landing_trouble):
            Path(path).unlink(missing_ok=True)

    def adopt(self, source: str, target: str) -> bool:
        at = Path(target)
        with suppress(OSError):
            at.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.link(os.path.realpath(source), at)
                return True
            return at.samefile(source)
        return False

    def clear(self, folder: str) -> None:
        at = Path(folder)
        with translated(at, teaching.landing_trouble), suppress(FileNotFoundError):
            for lies in at.iterdir():
                if lies.is_dir() and not lies.is_symlink():
                    shutil.rmtree(lies)
                elif lies.name != LOCK:
                    lies.unlink(missing_ok=True)
        _leave(at)

    def note_at(self, path: str) -> str:
        return str(_note(path))

    def note_of(self, path: str) -> str:
        with suppress(OSError, ValueError):
            return _note(path).read_text("utf-8")
        return ""

    def keep_note(self, path: str, text: str) -> None:
        note = _note(path)
        with translated(note, teaching.landing_trouble):
            note.parent.mkdir(parents=True, exist_ok=True)
            fresh = note.with_name(f"{note.name}.{os.getpid()}.tmp")
            fresh.write_text(text, "utf-8")
            fresh.replace(note)

    def sweep(self, older_than: float) -> None:
        """Delete folders that nobody has touched since that moment (Unix time) and nobody works in."""
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if not _OURS.fullmatch(folder.name) or not folder.is_dir():
                continue
            with suppress(OSError), ExitStack() as held:
                if _touched(folder) < older_than and self._taken(folder.name, held):
                    shutil.rmtree(folder)

    def left(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """Folders with something in them that nobody works in: path, names of the files, bytes that they take. Changes nothing."""
        for folder in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            if not _OURS.fullmatch(folder.name) or not folder.is_dir() or _is_worked_in(folder):
                continue
            with suppress(OSError):  # it goes meanwhile
                files = [path for path in sorted(folder.rglob("*")) if _is_content(path)]
                if files:
                    names = tuple(dict.fromkeys(path.name.removesuffix(PART) for path in files))
                    yield str(folder), names, sum(_room(path) for path in files)


def _is_content(path: Path) -> bool:
    """No lock, and no note of a download."""
    return path.is_file() and not path.name.startswith(".") and not path.name.endswith((LOCK, NOTE))


def _is_worked_in(folder: Path) -> bool:
    if _flock is None:
        return False
    with suppress(FileNotFoundError), (folder / LOCK).open("rb") as lock:
        try:
            _flock(lock.fileno(), _ALONE)
        except BlockingIOError:
            return True
    return False


def _room(path: Path) -> int:
    """A partial file may be as long as the whole from the beginning: only its blocks take room."""
    found = path.lstat()
    return int(getattr(found, "st_blocks", -(-found.st_size // _BLOCK))) * _BLOCK


def _leave(folder: Path) -> None:
    """Take it away if nothing is in it but its lock, whose owner is who calls. Whoever waits for that makes the folder anew."""
    with suppress(OSError):
        if {path.name for path in folder.iterdir()} <= {LOCK}:
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()  # fails where somebody was faster, whose it is then


def _note(path: str) -> Path:
    """Beside what it is about; a leading dot keeps it out of what people list."""
    at = Path(path)
    return at.with_name(f".{at.name}.json")


def _touched(folder: Path) -> float:
    """When anything in it last changed; the lock tells only that somebody looked."""
    times = [path.stat().st_mtime for path in folder.rglob("*") if path.name != LOCK]
    return max(times, default=folder.stat().st_mtime)
