"""A file replaced by what an edit makes of it: one writer at a time, the old bytes kept, the new ones whole or not at all.

Knows nothing of what is in the file. Everything that goes wrong is an `OSError`, and the file is then as it was.
"""

import contextlib
import errno
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from blazar.adapters.files.configsource import LARGEST
from blazar.adapters.files.kept import try_writing
from blazar.domain import teaching

KEPT = 10
"""Backups of one file; the oldest go."""

LOCK_SECS = 60.0
"""How long another writer is waited for: twenty at once on a slow disk need a few seconds."""

Edit = Callable[[bytes], bytes]

_LOOK_AGAIN = 0.01  # seconds; a rewriting takes some milliseconds
_ATTEMPTS = 5  # programs that do not know our lock write too; one that never stops must not keep us
_THREADS = threading.Lock()  # the kernel's lock tells processes apart, and threads only where it is flock
_UNLOCKABLE = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})


def rewrite(path: Path, edit: Edit, *, private: bool = False) -> bool:
    """Replace the file by what `edit` makes of its bytes (none where there is no file); whether there was anything to do.

    `edit` is called with the lock held, and again if the file was changed meanwhile. What it raises ends the rewriting.
    With `private`, the file is for its owner alone afterwards; otherwise its mode stays.
    """
    file = Path(os.path.realpath(path))  # a link, as dotfile managers make them, must stay one
    file.parent.mkdir(parents=True, exist_ok=True)
    with _alone_with(file):
        _forget_drafts(file)
        for _ in range(_ATTEMPTS):
            before = _writable_bytes(file)
            after = edit(before)
            if after == before:
                return False
            if _replace(file, before, after, private=private):
                return True
    raise BlockingIOError(errno.EAGAIN, teaching.config_keeps_changing())


def check_rewritable(path: Path) -> None:
    """Raises what `rewrite` would of a file, or its folder, that may not be written."""
    file = Path(os.path.realpath(path))
    try_writing(file.parent)
    _writable_bytes(file)


@contextlib.contextmanager
def _alone_with(file: Path) -> Iterator[None]:
    """Hold a lock beside `file`, and leave nothing of it behind."""
    path = file.with_name(f".{file.name}.lock")
    with _THREADS:
        number = _held(path)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows keeps a file that is open; it is found and taken again
                path.unlink()
            os.close(number)


def _held(path: Path) -> int:
    """An open file that is locked and still the one at `path`: who held it before has removed it."""
    while True:
        with contextlib.ExitStack() as undo:
            number = _opened(path)
            undo.callback(os.close, number)
            wait_for_lock(number)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(number), path.stat()):
                    undo.pop_all()
                    return number


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except PermissionError as refused:
        if not path.exists():
            raise  # it is the folder that nobody may write into
        raise PermissionError(errno.EACCES, teaching.config_lock_of_another(path.name)) from refused


def wait_for_lock(number: int) -> None:
    """Until this process has the file alone. Where a file system has no locks, that is not what keeps a person from editing."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_LOCK, 1)
        else:
            _wait_in_turn(number)
    except OSError as refused:
        if refused.errno not in _UNLOCKABLE:
            raise


def _wait_in_turn(number: int) -> None:
    """Ask again and again: what waits in the kernel waits for ever for a writer that is stopped, and a daemon's start with it."""
    import fcntl

    end = time.monotonic() + LOCK_SECS
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            if time.monotonic() >= end:
                raise BlockingIOError(errno.EAGAIN, teaching.config_held(LOCK_SECS)) from taken
            time.sleep(_LOOK_AGAIN)
        else:
            return


def _writable_bytes(file: Path) -> bytes:
    """What is in the file; nothing where there is none. A file that its owner made read-only is meant to stay as it is."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return b""
    kind = facts.st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        # A pipe would never end, and root can put a file in the place of /dev/null.
        raise OSError(errno.EINVAL, teaching.config_no_regular_file())
    if not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, teaching.config_read_only())
    if facts.st_size > LARGEST:
        raise OSError(errno.EFBIG, teaching.config_too_large(LARGEST))
    return file.read_bytes()


def _replace(file: Path, before: bytes, after: bytes, *, private: bool) -> bool:
    """In one step and on the disk: a reader, or a crash, sees the old file or the new one. False: it is not `before` any more."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    backup = file.with_name(f"{file.name}.{stamp}.bak")
    temporary = file.with_name(f".{file.name}.{stamp}.tmp")
    made: list[Path] = []
    with contextlib.ExitStack() as undo:
        undo.callback(_discard, made)
        if before:
            _write(backup, before, made)
        _write(temporary, after, made)
        if not private:
            _take_after(file, temporary)
        if _writable_bytes(file) != before:
            return False
        temporary.replace(file)
        undo.pop_all()
    _forget_old_backups(file)
    with contextlib.suppress(OSError):  # the name is safe only with its folder; not every file system can say so
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return True


def _write(file: Path, data: bytes, made: list[Path]) -> None:
    """For its owner alone: it may hold secrets, and a backup has nobody else to read it."""
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    made.append(file)
    with os.fdopen(number, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _take_after(file: Path, temporary: Path) -> None:
    """Mode and owner of the file that is replaced."""
    if not file.exists():
        return
    old, new = file.stat(), temporary.stat()
    if sys.platform != "win32" and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):  # only root may give a file away
            os.chown(temporary, old.st_uid, old.st_gid)
    temporary.chmod(stat.S_IMODE(old.st_mode))


def _discard(made: list[Path]) -> None:
    for file in made:
        with contextlib.suppress(OSError):
            file.unlink()


def _forget_drafts(file: Path) -> None:
    """Of writers that were killed: whoever holds the lock is the only one who has any."""
    _discard(_ours(file, f".{file.name}.", ".tmp"))


def _forget_old_backups(file: Path) -> None:
    _discard(_ours(file, f"{file.name}.", ".bak")[:-KEPT])


def _ours(file: Path, before: str, behind: str) -> list[Path]:
    """Files beside it that are called as we call them, the oldest first; others' are not ours to delete."""
    form = re.compile(re.escape(before) + r"\d{8}T\d{6}\.\d{6}Z" + re.escape(behind))
    try:
        return sorted(path for path in file.parent.iterdir() if form.fullmatch(path.name))
    except OSError:
        return []
