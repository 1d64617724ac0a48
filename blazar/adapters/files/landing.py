"""Folders below `data/downloads` in which pulls arrive, one an artefact, locked while somebody works in them. Downloads nothing."""

import glob
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from blazar.adapters.files.kept import translated
from blazar.application.ports.landing import Landing

_flock: Callable[[int, int], object] | None
try:
    import fcntl

    _flock, _ALONE = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
except ImportError:  # Windows: two processes that pull the same publish the same file one after the other
    _flock, _ALONE = None, 0

LOCK = ".lock"
POLL_SECS = 0.2
_OURS = re.compile(r"[0-9a-f]{12}")
"""How such folders are called: the downloads of engines lie beside them."""
_BLOCK = 512
"""Bytes of a unit of `st_blocks` (POSIX)."""


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
                with translated(self._root):
                    while not self._taken(key, held):
                        waiting()
                        self._sleep(POLL_SECS)
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
                found = partial.lstat()
                # It may be as long as the whole from the beginning: only its blocks take room.
                total += getattr(found, "st_blocks", -(-found.st_size // _BLOCK)) * _BLOCK
        return total

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
        with translated(Path(folder)), suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def note_of(self, path: str) -> str:
        with suppress(OSError, ValueError):
            return _note(path).read_text("utf-8")
        return ""

    def keep_note(self, path: str, text: str) -> None:
        note = _note(path)
        with translated(note):
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


def _note(path: str) -> Path:
    """Beside what it is about; a leading dot keeps it out of what people list."""
    at = Path(path)
    return at.with_name(f".{at.name}.json")


def _touched(folder: Path) -> float:
    """When anything in it last changed; the lock tells only that somebody looked."""
    times = [path.stat().st_mtime for path in folder.rglob("*") if path.name != LOCK]
    return max(times, default=folder.stat().st_mtime)
