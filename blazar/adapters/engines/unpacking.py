"""Taking a hostile archive apart: every member is checked before a byte of it is written, and only plain things are written.

No devices, no absolute or parent paths, no hardlinks, symbolic links only to a file beside them in the same archive, no
setuid bits, bounded in bytes and members. Links are made last, so that nothing is ever written through one. Sources may have
links to other places of theirs, which are passed over: those of llama.cpp are for Swift, and compiling follows none.
"""

import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, NamedTuple

from blazar.adapters.engines.decompressing import DAMAGED, BadArchive, tar_bytes
from blazar.domain import teaching
from blazar.domain.archive_names import folded, is_portable

MAX_BYTES = 16 * 2**30
"""Unpacked. A CUDA build with its libraries is about 2 GiB."""

MAX_MEMBERS = 20_000
LONGEST_LINK = 255
_BLOCK = 1024 * 1024

_DAMAGED = (*DAMAGED, tarfile.TarError, zipfile.BadZipFile)

ESCAPES = "leaves the archive's folder"
TWICE = "is there twice"
CLASH = "differs from another member's name in nothing that every system tells apart"
UNPORTABLE = "has a name that not every system can give a file"
STRANGE = "is neither a file, a folder nor a symbolic link"
FAR_LINK = "is a symbolic link to something that is not a file beside it"
ENCRYPTED = "is encrypted"
DAMAGED_HEADER = "a damaged header"


class Member(NamedTuple):
    """One entry. `link` is a symbolic link's target, `open` gives a file's bytes."""

    name: str
    kind: str  # file, folder, link, other
    executable: bool
    link: str
    source: "tarfile.TarInfo | zipfile.ZipInfo | None"


def _inside(name: str) -> tuple[str, ...]:
    """The path's components; raises for anything that could land elsewhere, on any system."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    strange = any(c in name for c in "\\\0:") or any(part == ".." for part in parts)
    if name.startswith("/") or strange:
        raise BadArchive(teaching.archive_member(name, ESCAPES))
    if not all(is_portable(part) for part in parts):
        raise BadArchive(teaching.archive_member(name, UNPORTABLE))
    return parts


class _Tar:
    def __init__(self, file: IO[bytes]) -> None:
        self._plain = tar_bytes(file)
        try:
            self._tar = tarfile.open(fileobj=self._plain, mode="r:")  # noqa: SIM115 - closed by unpack
        except tarfile.ReadError as error:
            raise BadArchive(teaching.not_an_archive()) from error

    def members(self) -> Iterator[Member]:
        for info in self._tar:
            plain = info.isreg() and not info.sparse
            kind = "file" if plain else "folder" if info.isdir() else "link" if info.issym() else "other"
            yield Member(info.name, kind, bool(info.mode & 0o100), info.linkname, info)
        self._plain.seek(self._tar.offset)
        if self._plain.read(tarfile.BLOCKSIZE).strip(b"\0"):  # the reader takes a damaged header for the end
            raise BadArchive(teaching.archive_unreadable(DAMAGED_HEADER))

    def open(self, member: Member) -> AbstractContextManager[IO[bytes]]:
        assert isinstance(member.source, tarfile.TarInfo)
        file = self._tar.extractfile(member.source)
        assert file is not None  # only asked of regular files
        return file

    def close(self) -> None:
        self._tar.close()


class _Zip:
    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file)

    def members(self) -> Iterator[Member]:
        for info in self._zip.infolist():
            if info.flag_bits & 1:
                raise BadArchive(teaching.archive_member(info.filename, ENCRYPTED))
            mode = info.external_attr >> 16
            if stat.S_ISLNK(mode):
                if info.file_size > LONGEST_LINK:
                    raise BadArchive(teaching.archive_member(info.filename, FAR_LINK))
                yield Member(info.filename, "link", False, self._zip.read(info).decode("utf-8", "replace"), info)
            elif info.is_dir():
                yield Member(info.filename, "folder", True, "", info)
            else:
                plain = stat.S_IFMT(mode) in (0, stat.S_IFREG)
                yield Member(info.filename, "file" if plain else "other", bool(mode & 0o100), "", info)

    def open(self, member: Member) -> AbstractContextManager[IO[bytes]]:
        assert isinstance(member.source, zipfile.ZipInfo)
        return self._zip.open(member.source)

    def close(self) -> None:
        self._zip.close()


class _Unpacking:
    """One archive into one empty folder."""

    def __init__(self, archive: _Tar | _Zip, folder: Path, *, sources: bool) -> None:
        self._archive, self._folder, self._sources = archive, folder, sources
        self._left = MAX_BYTES
        self._links: list[tuple[Path, Member]] = []
        self._spelled: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._seen: set[tuple[str, ...]] = set()

    def run(self) -> None:
        for count, member in enumerate(self._archive.members(), 1):
            if count > MAX_MEMBERS:
                raise BadArchive(teaching.archive_too_large(f"{MAX_MEMBERS} files"))
            self._take(member)
        for path, member in self._links:
            self._link(path, member)

    def _take(self, member: Member) -> None:
        parts = _inside(member.name)
        self._tell_apart(parts, member)
        path = self._folder.joinpath(*parts)
        if member.kind == "folder":
            self._make_folder(path, member)
            return
        if member.kind == "other" or not parts:
            raise BadArchive(teaching.archive_member(member.name, STRANGE))
        if parts in self._seen or path.exists():
            raise BadArchive(teaching.archive_member(member.name, TWICE))
        self._seen.add(parts)
        self._make_folder(path.parent, member)
        if member.kind == "link":
            self._links.append((path, member))
        else:
            self._write(path, member)

    def _tell_apart(self, parts: tuple[str, ...], member: Member) -> None:
        """Where case or the spelling of an accent does not count, one of two such files would overwrite the other."""
        for end in range(1, len(parts) + 1):
            path = parts[:end]
            if self._spelled.setdefault(tuple(folded(part) for part in path), path) != path:
                raise BadArchive(teaching.archive_member(member.name, CLASH))

    def _make_folder(self, path: Path, member: Member) -> None:
        try:
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise BadArchive(teaching.archive_member(member.name, TWICE)) from None

    def _write(self, path: Path, member: Member) -> None:
        mode = 0o755 if member.executable else 0o644
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(handle, "wb") as target, self._archive.open(member) as source:
            while block := source.read(_BLOCK):
                self._left -= len(block)  # counted as written: what a header promises is not evidence
                if self._left < 0:
                    raise BadArchive(teaching.archive_too_large(f"{MAX_BYTES // 2**30} GiB"))
                target.write(block)

    def _link(self, path: Path, member: Member) -> None:
        """A link may name a link beside it, as versioned libraries do, if a file stands at the end."""
        beside = {link.name: other.link for link, other in self._links if link.parent == path.parent}
        name, hops = member.link, 0
        while name in beside and hops <= len(beside):
            name, hops = beside[name], hops + 1
        plain = name not in ("", ".", "..") and "/" not in member.link and "/" not in name and "\\" not in name
        target = path.parent / name
        if not plain or "\0" in name or not target.is_file() or target.is_symlink():
            if self._sources and _stays(path.parent.relative_to(self._folder), member.link):
                return
            raise BadArchive(teaching.archive_member(member.name, FAR_LINK))
        try:
            path.symlink_to(member.link)
        except FileExistsError:  # a later member made a folder of its name
            raise BadArchive(teaching.archive_member(member.name, TWICE)) from None


def _stays(at: Path, link: str) -> bool:
    """Whether a link in that folder, by what it says, leads to somewhere in the archive."""
    steps, depth = link.split("/"), len(at.parts)
    if not link or link.startswith("/") or set(link) & set("\\\0:"):
        return False
    for step in steps:
        depth += -1 if step == ".." else 0 if step in ("", ".") else 1
        if depth < 0:
            return False
    return True


def unpack(file: IO[bytes], folder: Path, *, sources: bool = False) -> None:
    """All of the archive into `folder`, but for links between places of `sources`; raises `BadArchive`, or OSError when the disk cannot take it."""
    try:
        zipped = file.read(2) == b"PK"
        file.seek(0)
        archive = _Zip(file) if zipped else _Tar(file)
        try:
            _Unpacking(archive, folder, sources=sources).run()
        finally:
            archive.close()
    except _DAMAGED as error:
        raise BadArchive(teaching.archive_unreadable(str(error) or type(error).__name__)) from error
