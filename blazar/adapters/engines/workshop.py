"""Where builds are made: `engines/.building/<tag>/`, kept until a build is done, so that an interrupted one goes on."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from blazar.adapters.engines.decompressing import BadArchive
from blazar.adapters.engines.tags import is_tag, is_taken
from blazar.adapters.engines.unpacking import unpack
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.toolchain import BuildFailed, Work, Workshop
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Malformed, NotFound
from blazar.domain.releases import checked_sha256

_flock: Callable[[int, int], object] | None
try:
    import fcntl

    _flock, _ALONE = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
except ImportError:  # Windows: a second build of the same name is the user's own doing there
    _flock, _ALONE = None, 0

PLACE = ".building"
_PROJECT = re.compile(r"""^\s*project\s*\(\s*["']?llama\.cpp["']?""", re.MULTILINE | re.IGNORECASE)
_LIBRARY = re.compile(r".+\.(?:so(?:\.\d+)*|dylib|dll|metal|metallib)")
_DEEPEST = 3
"""Folders above the sources: an archive's own, and that of a package that holds them."""
_MARK = "source.sha256"
_LONGEST_LISTS = 1 << 20
"""Bytes of a CMakeLists.txt that are looked at: llama.cpp's has 12000, and an archive may hold one of 16 GiB."""


class DiskWorkshop(Workshop):
    """`engines_dir` is where builds are; they are made on the same file system."""

    def __init__(self, engines_dir: Path, disk: DiskSpace) -> None:
        self._dir, self._disk = engines_dir.absolute(), disk
        self._claims: dict[str, IO[str]] = {}

    def open(self, tag: str, source: str, sha256: str) -> Work:
        if not is_tag(tag) or is_taken(tag):
            raise Malformed(teaching.bad_tag(tag), "tag")
        path, place = Path(source).absolute(), self._dir / PLACE / tag
        if not path.exists():
            raise NotFound(teaching.no_such_file(source))
        place.parent.mkdir(parents=True, exist_ok=True)
        self._claim(tag)
        with ExitStack() as undo:
            undo.callback(self.leave, tag)
            place.mkdir(exist_ok=True)  # not before: who had the claim until now removed it
            at = _sources_in(path, 0) if path.is_dir() else self._unpacked(path, source, sha256, place)
            if at is None:
                raise Malformed(teaching.build_source_wrong(source), "source")
            self._fit(place, at)
            undo.pop_all()
        return Work(str(at), str(place / "build"), str(place / "build.log"))

    def _unpacked(self, path: Path, source: str, sha256: str, place: Path) -> Path | None:
        """The sources of this archive; what was unpacked of it before is used again, and compiled no second time."""
        if not path.is_file():  # a pipe would be read without end
            raise Malformed(teaching.bad_archive(source, teaching.no_plain_file()), "source")
        if not sha256:
            raise Malformed(teaching.sha256_needed(source), "sha256")
        wanted, mark = checked_sha256(sha256), place / _MARK
        kept = place / "source"
        try:
            with path.open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
                if actual != wanted:
                    raise Malformed(teaching.sha256_differs(source, sha256, actual), "sha256")
                if kept.is_dir() and mark.is_file() and mark.read_bytes().strip() == actual.encode():
                    return _sources_in(kept, _DEEPEST)
                file.seek(0)
                shutil.rmtree(place)
                kept.mkdir(parents=True)
                with ExitStack() as undo:  # half of an archive, or all of another, may be many GiB
                    undo.callback(shutil.rmtree, kept, ignore_errors=True)
                    unpack(file, kept, sources=True)
                    if (at := _sources_in(kept, _DEEPEST)) is not None:
                        mark.write_text(f"{actual}\n", encoding="ascii")
                        undo.pop_all()
                    return at
        except BadArchive as bad:
            raise Malformed(teaching.bad_archive(source, str(bad)), "source") from bad
        except OSError as error:
            raise Malformed(teaching.bad_archive(source, error.strerror or str(error)), "source") from error

    def _fit(self, place: Path, at: Path) -> None:
        """Of cmake, which refuses a folder that it has configured for other sources, or that was moved since."""
        cache = place / "build" / "CMakeCache.txt"
        if cache.is_file() and f"CMAKE_HOME_DIRECTORY:INTERNAL={at}\n" not in cache.read_text(
            encoding="utf-8", errors="surrogateescape"
        ):
            shutil.rmtree(place / "build")

    def free(self) -> int:
        return self._disk.free(str(self._dir))

    def collect(self, work: Work, programs: Sequence[str]) -> str:
        built = Path(work.folder, "bin")
        built = built / "Release" if (built / "Release").is_dir() else built
        ready = Path(work.folder).with_name("ready")
        shutil.rmtree(ready, ignore_errors=True)
        ready.mkdir()
        for program in programs:
            found = next((path for name in (program, program + ".exe") if (path := built / name).is_file()), None)
            if found is None:
                raise BuildFailed(teaching.build_without(program))
            shutil.copy2(found, ready / found.name)
        for path in sorted(built.iterdir()):
            if _LIBRARY.fullmatch(path.name):
                shutil.copy2(path, ready / path.name, follow_symlinks=False)
        return str(ready)

    def close(self, tag: str) -> None:
        shutil.rmtree(self._dir / PLACE / tag, ignore_errors=True)
        self._claim_file(tag).unlink(missing_ok=True)

    def drop(self, tag: str) -> bool:
        if not is_tag(tag) or is_taken(tag) or not (self._dir / PLACE / tag).is_dir():
            return False
        self._claim(tag)
        try:
            self.close(tag)
        finally:
            self.leave(tag)
        return True

    def begun(self) -> Mapping[str, int]:
        try:
            places = sorted(path for path in (self._dir / PLACE).iterdir() if path.is_dir() and not path.is_symlink())
        except OSError:
            return {}
        return {place.name: _size(place) for place in places}

    def leave(self, tag: str) -> None:
        self._claims.pop(tag).close()

    def _claim(self, tag: str) -> None:
        """Two compilers in one folder spoil each other's objects. The kernel's lock is gone with its process, however that ends."""
        while True:
            with ExitStack() as undo:
                file = undo.enter_context(self._claim_file(tag).open("a", encoding="ascii"))
                try:
                    if _flock is not None:
                        _flock(file.fileno(), _ALONE)
                except OSError as error:
                    raise Conflict(teaching.build_under_way(tag)) from error
                if self._is_named(tag, file):
                    self._claims[tag] = file
                    undo.pop_all()
                    return

    def _is_named(self, tag: str, file: IO[str]) -> bool:
        """Whether it still is the file of that name: who was done with it removed it, and others lock another one by now."""
        try:
            return os.path.samestat(self._claim_file(tag).stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False

    def _claim_file(self, tag: str) -> Path:
        return self._dir / PLACE / f"{tag}.lock"


def _size(place: Path) -> int:
    """A compiler may be at work there: what goes meanwhile counts nothing."""
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            with suppress(OSError):
                total += Path(folder, name).lstat().st_size
    return total


def _sources_in(top: Path, deepest: int) -> Path | None:
    """The folder nearest to the top whose project is llama.cpp."""
    level = [top]
    for _ in range(deepest + 1):
        for folder in level:
            lists = folder / "CMakeLists.txt"
            if lists.is_file() and _PROJECT.search(_beginning(lists)):
                return folder
        level = sorted(path for folder in level for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return None


def _beginning(lists: Path) -> str:
    with lists.open("rb") as file:
        return file.read(_LONGEST_LISTS).decode("utf-8", "replace")
