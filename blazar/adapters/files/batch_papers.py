"""A batch's requests and journal on disk, a folder each. A line is written whole, by one write, or it never was."""

import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import BinaryIO, Final

from blazar.adapters.files.kept import DiskKeptFiles, sync_folder, translated
from blazar.application.ports.batch_papers import BatchPapers, Handful
from blazar.domain import teaching
from blazar.domain.errors import NotFound

HANDFUL: Final = 2**20
"""Bytes after which no further line is taken."""
LONGEST_LINE: Final = 50 * 2**20
"""Bytes of one request: what its endpoint takes (D12)."""
_SHOWN: Final = 1024  # of a line beyond that: it is refused, whatever it says


class DiskBatchPapers(BatchPapers):
    """Beside the kept files, so that a file becomes a batch's requests without being copied."""

    def __init__(self, folder: Path, kept: DiskKeptFiles) -> None:
        self._folder, self._kept = folder / ".batches", kept

    def take(self, batch: str, file: str) -> bool:
        source = self._kept.path(file)
        if source is None:
            return False
        with translated(self._folder):
            target = self._made(batch) / "requests"
            try:
                os.link(source, target)
            except FileNotFoundError:
                return False
            except OSError:  # a file system without links
                if not source.exists():
                    return False
                shutil.copyfile(source, target)
            sync_folder(target.parent)
            return True

    def write(self, batch: str, lines: Iterable[bytes]) -> None:
        with translated(self._folder):
            target = self._made(batch) / "requests"
            with target.open("xb") as file:
                file.writelines(line + b"\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(target.parent)

    def requests(self, batch: str, start: int = 0) -> Handful:
        path = self._of(batch) / "requests"
        with translated(self._folder):
            if not path.exists():
                raise NotFound(teaching.batch_papers_gone())
            with path.open("rb") as file:
                file.seek(start)
                return _handful(file)

    def results(self, batch: str, start: int = 0) -> Handful:
        path = self._of(batch) / "results"
        with translated(self._folder):
            if not path.exists():
                return Handful((), start)
            with path.open("r+b") as file:
                file.seek(start)
                lines, size = [], 0
                while size < HANDFUL and (raw := file.readline()):
                    if not raw.endswith(b"\n"):
                        file.truncate(start + size)  # else the next line would be joined to it
                        break
                    lines.append(raw[:-1])
                    size += len(raw)
                return Handful(tuple(lines), start + size)

    def append(self, batch: str, lines: Iterable[bytes], *, durable: bool) -> None:
        with translated(self._folder), (self._of(batch) / "results").open("ab", buffering=0) as file:
            if told := b"".join(line + b"\n" for line in lines):
                before = file.seek(0, os.SEEK_END)
                if file.write(told) != len(told):
                    file.truncate(before)
                    raise OSError(28, os.strerror(28))
            if durable:
                os.fsync(file.fileno())

    def publish(self, batch: str, marks: str, id_: str) -> int:
        wanted = marks.encode()
        intake = self._kept.begin()
        try:
            with translated(self._folder), (self._of(batch) / "results").open("rb") as file:
                for line in file:
                    if line[:1] in wanted:
                        intake.write(line[1:])
            size = intake.size
            if size:
                intake.keep(id_)
            return size
        finally:
            intake.discard()

    def discard(self, batch: str) -> None:
        with translated(self._folder):
            shutil.rmtree(self._of(batch), ignore_errors=True)

    def sweep(self, known: Collection[str]) -> None:
        with translated(self._folder):
            for folder in [*self._folder.glob("*")]:
                if folder.name not in known:
                    shutil.rmtree(folder, ignore_errors=True)

    def _of(self, batch: str) -> Path:
        assert self._kept.path(batch) is not None, batch
        return self._folder / batch

    def _made(self, batch: str) -> Path:
        folder = self._of(batch)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def _handful(file: BinaryIO) -> Handful:
    """From where the file stands."""
    lines = []
    size, start = 0, file.tell()
    while size < HANDFUL and (raw := file.readline(LONGEST_LINE + 2)):
        whole = len(raw)
        if whole > LONGEST_LINE + 1:
            raw, whole = raw[:_SHOWN], whole + _skip(file)
        lines.append(raw.rstrip(b"\r\n"))
        size += whole
    return Handful(tuple(lines), start + size)


def _skip(file: BinaryIO) -> int:
    """To the end of the line; the bytes left out."""
    skipped = 0
    while raw := file.readline(HANDFUL):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped
