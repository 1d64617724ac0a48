"""Unpacked engine builds under `engines/<tag>/`: nothing is visible there until all of it is, and removal is a rename first."""

import hashlib
import os
import re
import shutil
from collections.abc import Collection
from io import BufferedReader
from pathlib import Path

from blazar.adapters.engines.unpacking import BadArchive, unpack
from blazar.application.ports.engines import EngineBuilds
from blazar.application.ports.processes import Processes
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Malformed, NotFound

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAKEN = re.compile(r"local|embedded(-.*)?")
_BUILD = re.compile(r"(?:^|[^A-Za-z0-9])(b\d{3,})(?=$|[^A-Za-z0-9])")
_STAGING, _ASIDE = ".staging-", ".aside-"
_LEFTOVER = re.compile(r"\.(staging|aside)-(\d+)-(.+)")


def is_tag(tag: str) -> bool:
    """Whether a folder may be called so."""
    return _TAG.fullmatch(tag) is not None


def tag_in(name: str) -> str | None:
    """The build that a file or folder name speaks of: `llama-b11434-bin-linux-x64.tar.gz` is b11434."""
    match = _BUILD.search(name)
    return match[1] if match else None


class ArchiveBuilds(EngineBuilds):
    """Release archives in `engines_dir`. `server` is the program to look for in one."""

    def __init__(self, engines_dir: Path, processes: Processes, server: str = "llama-server") -> None:
        self._dir, self._processes = engines_dir, processes
        self._servers = (server, server + ".exe")
        self._pid = os.getpid()

    def unpack(self, archive: str, tag: str | None, sha256: str) -> tuple[str, str]:
        path = Path(archive)
        if not path.exists():
            raise NotFound(teaching.no_such_file(archive))
        if not path.is_file():
            raise Malformed(teaching.bad_archive(archive, teaching.no_plain_file()), "file")
        if not sha256:
            raise Malformed(teaching.sha256_needed(archive), "sha256")
        if tag is not None and (not is_tag(tag) or _TAKEN.fullmatch(tag)):
            raise Malformed(teaching.bad_tag(tag), "tag")
        staging = self._dir / f"{_STAGING}{self._pid}-{path.name[:64]}"
        self._dir.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("rb") as file:
                _verify(file, archive, sha256)
                staging.mkdir()
                unpack(file, staging)
            return self._publish(staging, archive, tag)
        except BadArchive as bad:
            raise Malformed(teaching.bad_archive(archive, str(bad)), "file") from bad
        except OSError as error:
            why = error.strerror or str(error)
            raise Malformed(teaching.bad_archive(archive, why), "file") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _publish(self, staging: Path, archive: str, tag: str | None) -> tuple[str, str]:
        """Find out what it is, then make it visible by one rename."""
        entries = list(staging.iterdir())
        top = entries[0] if len(entries) == 1 and entries[0].is_dir() else staging
        server = self._server_in(top)
        named = tag or tag_in(Path(archive).name) or (tag_in(top.name) if top is not staging else None)
        if named is None:
            raise BadArchive(teaching.archive_without_tag())
        final = self._dir / named
        if final.exists():
            raise Conflict(teaching.engine_installed_already(named))
        (top / server).chmod(0o755)  # archives made on Windows know no such bit
        top.rename(final)
        return named, str(final.absolute() / server)

    def _server_in(self, top: Path) -> Path:
        found = [path for name in self._servers for path in top.rglob(name) if path.is_file() and not path.is_symlink()]
        if not found:
            raise BadArchive(teaching.archive_without_server(self._servers[0]))
        return min(found, key=lambda path: (len(path.parts), path)).relative_to(top)

    def _aside(self, tag: str) -> Path:
        return self._dir / f"{_ASIDE}{self._pid}-{tag}"

    def set_aside(self, tag: str) -> bool:
        folder = self._dir / tag
        if not is_tag(tag) or not folder.is_dir():
            return False
        shutil.rmtree(self._aside(tag), ignore_errors=True)
        folder.rename(self._aside(tag))
        return True

    def restore(self, tag: str) -> None:
        if self._aside(tag).is_dir():
            self._aside(tag).rename(self._dir / tag)

    def discard(self, tag: str) -> None:
        shutil.rmtree(self._aside(tag), ignore_errors=True)

    def sweep(self, known: Collection[str]) -> None:
        if not self._dir.is_dir():
            return
        for path in sorted(self._dir.iterdir()):
            left = _LEFTOVER.fullmatch(path.name)
            if left is None:
                continue
            owner = int(left[2])
            if owner != self._pid and self._processes.start_time(owner):
                continue  # another process may still be at it; our own pid is a predecessor's, as in a container
            kind, tag = left[1], left[3]
            if kind == "aside" and tag in known and not (self._dir / tag).exists():
                path.rename(self._dir / tag)
            else:
                shutil.rmtree(path, ignore_errors=True)


def _verify(file: BufferedReader, archive: str, expected: str) -> None:
    """Compare with the promised digest; the file stays open, so what was checked is what is unpacked."""
    actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected.strip().lower().removeprefix("sha256:"):
        raise Malformed(teaching.sha256_differs(archive, expected, actual), "sha256")
    file.seek(0)
