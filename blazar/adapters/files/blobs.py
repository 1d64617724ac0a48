"""Blobs on disk: written beside, checked, renamed; a blob that is no model after a day goes. The weights stay plain files (D12).

Decides no name that a client may choose: those of laid out files are checked here and live in a folder of their own.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from blazar.adapters.files.kept import DiskIntake, DiskKeptFiles, translated
from blazar.application.ports.blobs import Blobs
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.kept_files import Intake
from blazar.domain import teaching
from blazar.domain.errors import Malformed, NotFound

_DIGEST: Final = re.compile(r"sha256[:-]([0-9a-f]{64})")
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +=@()-]{0,199}")
KEPT_SECS: Final = 86_400.0
"""How long a blob waits for its model. Whoever sends one creates the model next; a day outlasts every retry."""


class DiskBlobs(Blobs):
    """In `folder`. `now` is Unix time, `held` the files that overlays name."""

    def __init__(
        self,
        folder: Path,
        disk: DiskSpace,
        entropy: Entropy,
        now: Callable[[], float],
        held: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._folder, self._entropy, self._now, self._held = folder, entropy, now, held
        self._kept = DiskKeptFiles(folder, disk, entropy)

    def has(self, digest: str) -> bool:
        return self._path(digest).is_file()

    def begin(self, digest: str, expected: int = 0) -> Intake:
        name = self._path(digest).name
        with translated(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
        return _Checked(self._kept.begin(expected), name)

    def path_of(self, digest: str) -> str:
        path = self._path(digest)
        if not path.is_file():
            raise NotFound(teaching.blob_not_here(digest))
        return str(path)

    @contextmanager
    def laid_out(self, files: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        found: dict[str, Path] = {}
        for name, digest in files.items():
            if not _FILE.fullmatch(name):
                raise Malformed(teaching.blob_file_name(name), "files")
            found[name] = Path(self.path_of(digest))
        place = self._folder / ".laid" / self._entropy.token(16)
        try:
            with translated(place):
                place.mkdir(mode=0o700, parents=True)
                for name, blob in found.items():
                    os.link(blob, place / name)
            yield {name: str(place / name) for name in found}
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _path(self, digest: str) -> Path:
        match = _DIGEST.fullmatch(digest)
        if match is None:
            raise Malformed(teaching.field_must("digest", "digest"), "digest")
        return self._folder / f"sha256-{match[1]}"

    def _sweep(self) -> None:
        """Blobs that only we have a link to, and what a crash left."""
        old, held = self._now() - KEPT_SECS, set(self._held())
        for path in [*self._folder.glob("sha256-*"), *(self._folder / ".parts").glob("*")]:
            with suppress(OSError):
                facts = path.stat()
                if facts.st_nlink == 1 and facts.st_mtime < old and str(path) not in held:
                    path.unlink()
        for place in [*(self._folder / ".laid").glob("*")]:
            with suppress(OSError):
                if place.stat().st_mtime < old:
                    shutil.rmtree(place, ignore_errors=True)


class _Checked(Intake):
    """Kept only when its bytes are what its name says."""

    def __init__(self, intake: DiskIntake, name: str) -> None:
        self._intake, self._name = intake, name
        self._seen = hashlib.sha256()

    @property
    def size(self) -> int:  # type: ignore[override] # the port's is a variable, and the intake behind counts
        return self._intake.size

    def write(self, data: bytes) -> None:
        self._seen.update(data)
        self._intake.write(data)

    def keep(self, id_: str) -> None:
        """Under the name that it began with, which is what `id_` says, too."""
        del id_
        if f"sha256-{self._seen.hexdigest()}" != self._name:
            raise Malformed(teaching.blob_digest_differs(self._seen.hexdigest()), "digest")
        self._intake.keep(self._name)

    def discard(self) -> None:
        self._intake.discard()
