"""Notes of models that are being entered, a small file each, and the links that such a one left. Deletes nothing but its notes.

A link is known by the file that it leads to: a name alone may be a person's choice, but for those that only we make.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from blazar.adapters.files.kept import sync_folder, translated, try_writing
from blazar.application.ports.placements import Placement, Placements
from blazar.domain import teaching
from blazar.domain.names import file_stem
from blazar.domain.overlay import Overlay
from blazar.domain.weight_names import SUFFIX

_OURS: Final = r"(?:[0-9a-f]{12}|lora-[0-9a-f]{12}|draft-[a-z0-9]+-[0-9a-f]{0,12})"
"""What follows a name and `@` in names of a newer version, of a LoRA, and of a draft; no model's name holds `@`."""
_AT: Final = "%40"
_ENDS: Final = rf"(?:@mmproj)?(?:-\d{{5}}-of-\d{{5}})?(?:@mmproj)?(?:{re.escape(SUFFIX)})?"

_Stamp = tuple[int, int, int]


class DiskPlacements(Placements):
    """`folder` is there only while something is being entered."""

    def __init__(self, folder: Path, models: Path) -> None:
        self._folder, self._models = folder, models.absolute()

    def begin(self, placement: Placement, files: Collection[str]) -> None:
        stamps = [stamp for stamp in map(_stamp, files) if stamp is not None]
        overlay = None if placement.overlay is None else placement.overlay._asdict()
        told = {"name": placement.name, "artefact": placement.artefact, "overlay": overlay, "stamps": stamps}
        path = self._path(placement.name)
        with translated(path, teaching.placing_trouble):
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.tmp")
            with draft.open("wb") as file:
                file.write(json.dumps(told).encode())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            sync_folder(path.parent)

    def check_writable(self) -> None:
        with translated(self._folder, teaching.placing_trouble):
            try_writing(self._folder)

    def find(self, name: str) -> Placement | None:
        found = _read(self._path(name))
        return found[0] if found is not None else None

    def names(self) -> tuple[str, ...]:
        found = map(_read, sorted(self._folder.glob("*.json")))
        return tuple(note[0].name for note in found if note is not None)

    def left(self, name: str) -> tuple[tuple[str, str], ...]:
        found = _read(self._path(name))
        stamps = found[1] if found is not None else set[_Stamp]()
        stem = re.escape(file_stem(name))
        made, ours = (re.compile(rf"{stem}(?:{_AT}{_OURS})?{_ENDS}"), re.compile(rf"{stem}{_AT}{_OURS}{_ENDS}"))
        links = list[tuple[str, str]]()
        for entry in _entries(self._models):
            if not made.fullmatch(entry.name):
                continue
            folder = str(entry) if entry.is_dir() and not entry.is_symlink() else ""
            for file in _entries_below(entry) if folder else (entry,):
                if ours.fullmatch(entry.name) or _stamp(str(file)) in stamps:
                    links.append((str(file), folder))
        return tuple(links)

    def end(self, name: str) -> None:
        path = self._path(name)
        with translated(path, teaching.placing_trouble):
            path.unlink(missing_ok=True)
            for draft in self._folder.glob(f"{path.stem}.*.tmp"):  # of a process that died over it
                draft.unlink(missing_ok=True)
        with suppress(OSError):  # others are being entered
            self._folder.rmdir()

    def _path(self, name: str) -> Path:
        """A name may hold slashes and be longer than a file's may be."""
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.json"


def unlisted(models: Path, known: Collection[str], skipped: Collection[str] = ()) -> Iterator[tuple[str, int]]:
    """Weight files in the models folder that are not among `known`, with their bytes: what rows name, and LoRAs that lie over their models.

    Hidden ones, and those `skipped`, are others' business.
    """
    for entry in _entries(models.absolute()):
        if entry.name.startswith(".") or entry.name in skipped:
            continue
        for file in _entries_below(entry) if entry.is_dir() and not entry.is_symlink() else (entry,):
            beside = str(file).replace(f"@mmproj{SUFFIX}", SUFFIX)
            if file.suffix.lower() in (SUFFIX, ".safetensors") and not {str(file), beside} & set(known):
                with suppress(OSError):
                    yield str(file), file.stat().st_size


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _entries_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _stamp(path: str) -> _Stamp | None:
    """Tells a file from every other, under whatever name: links share it, and so does what was moved."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> tuple[Placement, set[_Stamp]] | None:
    """None where there is none, or what is there cannot be read: then nothing was begun, the note is replaced whole."""
    try:
        note = json.loads(path.read_bytes())
        overlay = note["overlay"] and _overlay(note["overlay"])
        stamps = {(int(inode), int(size), int(changed)) for inode, size, changed in note["stamps"]}
        return Placement(str(note["name"]), str(note["artefact"]), overlay), stamps
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _overlay(said: dict[str, Any]) -> Overlay:
    said |= {"messages": tuple((role, text) for role, text in said["messages"])}
    said |= {field: tuple(said[field]) for field in ("license", "adapters")}
    return Overlay(**said)
