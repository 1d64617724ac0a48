"""Engine builds on disk, under `engines/<tag>/`: nothing is visible there until all of it is, and removal is a rename first.

A build that is visible and has no row yet carries a mark: whoever finds it after a crash knows that nobody uses it. Folders
without the mark are never deleted by a sweep.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from blazar.adapters.engines.decompressing import BadArchive
from blazar.adapters.engines.flaws import flaw_of
from blazar.adapters.engines.tags import is_tag, is_taken, tag_in
from blazar.adapters.engines.unpacking import TWICE, unpack
from blazar.application.ports.engines import Archive, EngineBuilds, Staged
from blazar.application.ports.processes import Processes
from blazar.domain import teaching
from blazar.domain.archive_names import folded
from blazar.domain.errors import Conflict, Malformed, NotFound, StoreTrouble
from blazar.domain.records import Engine
from blazar.domain.releases import checked_sha256

_SERVERS = {"llama-server": "llamacpp", "sd-server": "sdcpp", "mistralrs": "mistralrs"}
"""Programs that archives hold, with the kind that each is: an archive of another kind is told by its program."""
_STAGING, _ASIDE = ".staging-", ".aside-"
_LEFTOVER = re.compile(r"\.(staging|aside)-(\d+)-(.+)")
MANY = 1000
"""Files from which all of the system's are brought to the disk at once: ten thousand of a Python environment, one by one, take 45 s."""
_UNLISTED = ".unlisted"
"""The mark. It names the process that installs."""


class ArchiveBuilds(EngineBuilds):
    """The builds in `engines_dir`."""

    def __init__(self, engines_dir: Path, processes: Processes) -> None:
        self._dir, self._processes = engines_dir.absolute(), processes
        self._pid = os.getpid()

    def stage(self, archives: Sequence[Archive], tag: str | None, server: str) -> Staged:
        first = archives[0].path
        if tag is not None and (not is_tag(tag) or is_taken(tag)):
            raise Malformed(teaching.bad_tag(tag), "tag")
        with ExitStack() as undo, _told(first):
            staging = self._fresh(Path(first).name)
            undo.callback(shutil.rmtree, staging, ignore_errors=True)
            tops = [_taken_apart(path, sha256, staging / str(number)) for number, (path, sha256) in enumerate(archives)]
            program = _server_in(tops[0], server)
            for top in tops[1:]:
                _lay_beside((tops[0] / program).parent, top)
            named = tag or _named(first, tops[0])
            staged = self._ready(tops[0], program, named)._replace(release=_released(first, tops[0], named))
            undo.pop_all()
        return staged

    def adopt(self, folder: str, tag: str, server: str) -> Staged:
        if not is_tag(tag) or is_taken(tag):
            raise Malformed(teaching.bad_tag(tag), "tag")
        with ExitStack() as undo, _told(folder):
            placed = Path(folder, server).is_file() and Path(server).name != server
            program = Path(server) if placed else _server_in(Path(folder), server)
            staging = self._fresh(tag)
            undo.callback(shutil.rmtree, staging, ignore_errors=True)
            top = Path(shutil.move(folder, staging / "0"))
            staged = self._ready(top, program, tag)
            undo.pop_all()
        return staged

    def publish(self, staged: Staged) -> str:
        top, final = Path(staged.folder), self._dir / staged.tag
        server = final / Path(staged.server).relative_to(top)
        there = self._called_like(staged.tag)
        if there is not None:
            if there.name != staged.tag or self._owner(there) is None or self._lives(there):
                raise Conflict(teaching.engine_installed_already(there.name))
            shutil.rmtree(there)  # a crash left it before its row
        try:
            _move(top, final)
        except StoreTrouble:
            if final.exists():  # somebody else was faster
                raise Conflict(teaching.engine_installed_already(staged.tag)) from None
            raise
        _sync_folder(self._dir)
        self.unstage(staged)
        return str(server)

    def settle(self, tag: str) -> None:
        (self._dir / tag / _UNLISTED).unlink(missing_ok=True)

    def unstage(self, staged: Staged) -> None:
        hidden = Path(staged.folder).relative_to(self._dir).parts[0]
        shutil.rmtree(self._dir / hidden, ignore_errors=True)

    def holds(self, engine: Engine) -> bool:
        return Path(engine.server_path).is_file()

    def flaw(self, engine: Engine) -> str:
        return flaw_of(engine)

    def set_aside(self, tag: str) -> bool:
        folder = self._dir / tag
        if not is_tag(tag) or not folder.is_dir():
            return False
        if self._lives(folder):  # its row comes in a moment, and must not find it gone
            raise Conflict(teaching.engine_being_installed(tag))
        shutil.rmtree(self._aside(tag), ignore_errors=True)
        try:
            _move(folder, self._aside(tag))
        except StoreTrouble:
            if folder.exists():
                raise
            return False  # another process removes it, and was faster
        return True

    def restore(self, tag: str) -> None:
        if self._aside(tag).is_dir():
            _move(self._aside(tag), self._dir / tag)

    def discard(self, tag: str) -> None:
        shutil.rmtree(self._aside(tag), ignore_errors=True)

    def sweep(self, known: Collection[str]) -> None:
        if not self._dir.is_dir():
            return
        for path in sorted(self._dir.iterdir()):
            left = _LEFTOVER.fullmatch(path.name)
            if left is not None and not self._at_work(int(left[2])):
                self._sweep(path, left[1], left[3], known)
            elif left is None and self._owner(path) is not None and not self._lives(path):
                if path.name in known:
                    self.settle(path.name)
                else:
                    shutil.rmtree(path, ignore_errors=True)

    def _sweep(self, path: Path, kind: str, tag: str, known: Collection[str]) -> None:
        if kind == "aside" and tag in known and not (self._dir / tag).exists():
            path.rename(self._dir / tag)
        else:
            shutil.rmtree(path, ignore_errors=True)

    def _fresh(self, name: str) -> Path:
        staging = self._dir / f"{_STAGING}{self._pid}-{name[:64]}"
        self._dir.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(staging, ignore_errors=True)  # of a predecessor with our pid, as in a container
        staging.mkdir()
        return staging

    def _ready(self, top: Path, program: Path, tag: str) -> Staged:
        """All of it on the disk, not only in memory: a row is written with care, and must not outlive its build."""
        if not (top / program).is_symlink():  # an environment's interpreter is the system's
            (top / program).chmod(0o755)  # archives made on Windows know no such bit
        mark = top / _UNLISTED
        mark.unlink(missing_ok=True)  # an archive's own: it may be a link
        mark.write_text(f"{self._pid}\n", encoding="ascii")
        _sync_tree(top)
        return Staged(tag, str(top), str(top / program))

    def _called_like(self, tag: str) -> Path | None:
        """The folder of that name, also as systems see it that do not tell case apart."""
        return next((path for path in self._dir.iterdir() if folded(path.name) == folded(tag)), None)

    def _aside(self, tag: str) -> Path:
        return self._dir / f"{_ASIDE}{self._pid}-{tag}"

    def _owner(self, folder: Path) -> int | None:
        """Who installs this and has not entered its row yet; None for a build that has one."""
        with suppress(OSError, ValueError):
            return int((folder / _UNLISTED).read_text(encoding="ascii"))
        return None

    def _lives(self, folder: Path) -> bool:
        owner = self._owner(folder)
        return owner is not None and self._at_work(owner)

    def _at_work(self, pid: int) -> bool:
        """Our own pid is a predecessor's, as in a container: nobody sweeps while he installs."""
        return pid != self._pid and bool(self._processes.start_time(pid))


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Why it cannot become a build, as a sentence."""
    try:
        yield
    except BadArchive as bad:
        raise Malformed(teaching.bad_archive(what, str(bad)), "file") from bad
    except OSError as error:
        raise Malformed(teaching.bad_archive(what, error.strerror or str(error)), "file") from error


def _move(folder: Path, to: Path) -> None:
    try:
        folder.rename(to)
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreTrouble(teaching.disk_trouble(f"moving {folder} to {to}", why)) from error


def _taken_apart(archive: str, sha256: str, folder: Path) -> Path:
    """Verify and unpack into `folder`; what is in it, without a folder around everything."""
    path = Path(archive)
    if not path.exists():
        raise NotFound(teaching.no_such_file(archive))
    if not path.is_file():
        raise BadArchive(teaching.no_plain_file())
    if not sha256:
        raise Malformed(teaching.sha256_needed(archive), "sha256")
    with path.open("rb") as file:
        _verify(file, archive, sha256)
        folder.mkdir()
        unpack(file, folder)
    entries = list(folder.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _verify(file: BufferedReader, archive: str, expected: str) -> None:
    """Compare with the promised digest; the file stays open, so what was checked is what is unpacked."""
    promised = checked_sha256(expected)
    actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != promised:
        raise Malformed(teaching.sha256_differs(archive, expected, actual), "sha256")
    file.seek(0)


def _named(archive: str, top: Path) -> str:
    """The build that the archive says it is (D37). Where its name and its top folder differ, somebody has to say."""
    by_file, by_folder = tag_in(Path(archive).name), tag_in(top.name)
    if by_file and by_folder and by_file != by_folder:
        raise BadArchive(teaching.archive_of_two_tags(by_file, by_folder))
    if named := by_file or by_folder:
        return named
    raise BadArchive(teaching.archive_without_tag())


def _released(archive: str, top: Path, tag: str) -> str:
    """The build that an archive is, where somebody calls it by another tag; nothing where it says two."""
    said = {tag_in(Path(archive).name), tag_in(top.name)} - {None, tag}
    return str(said.pop()) if len(said) == 1 else ""


def _server_in(top: Path, server: str) -> Path:
    """The program nearest to the top, relative to it. A link is none: it could be one to anything of this build."""
    names = (server, server + ".exe")
    found = [path for name in names for path in top.rglob(name) if path.is_file() and not path.is_symlink()]
    if not found:
        for other, kind in _SERVERS.items():
            if any(path.is_file() for name in (other, other + ".exe") for path in top.rglob(name)):
                raise BadArchive(teaching.archive_of_kind(server, other, kind))
        raise BadArchive(teaching.archive_without_server(server))
    depth = min(len(path.parts) for path in found)
    nearest = sorted(str(path.relative_to(top)) for path in found if len(path.parts) == depth)
    if len(nearest) > 1:
        raise BadArchive(teaching.archive_with_servers(nearest))
    return Path(nearest[0])


def _lay_beside(folder: Path, top: Path) -> None:
    """Libraries that a project publishes apart, where the program looks for them."""
    there = {folded(path.name) for path in folder.iterdir()}
    for path in sorted(top.iterdir()):
        if folded(path.name) in there:
            raise BadArchive(teaching.archive_member(path.name, TWICE))
        path.rename(folder / path.name)


def _sync_tree(top: Path) -> None:
    mode = (
        "r+b" if os.name == "nt" else "rb"
    )  # what is built here may have read-only files; Windows syncs no such handle
    for folder, _, names in os.walk(top):
        for path in (Path(folder, name) for name in names):
            if path.is_file() and not path.is_symlink():
                with path.open(mode) as file:
                    os.fsync(file.fileno())
        _sync_folder(Path(folder))


def _sync_folder(folder: Path) -> None:
    """Names of files are a folder's content. Windows opens no folder as a file."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
