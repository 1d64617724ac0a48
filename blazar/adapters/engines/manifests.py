"""Manifests on disk: one JSON file per build, so that a start does not run `--help` again. Asks no build itself.

A build is its bytes, not its path: what a file is called by is a digest of everything that its help may depend on. A file that is damaged,
or not ours, counts as absent; a folder that cannot be written only costs the next start its time.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from blazar.adapters.engines.finder import EMBEDDED_MODULE, WHEEL
from blazar.domain import help_text, manifest
from blazar.domain.manifest import Manifest, Option, ValueKind
from blazar.domain.records import Engine

SCHEMA = 1
KEPT = 64
"""Manifests that stay: more builds than anybody tries, and 64 times 60 kB are no burden."""
LARGEST = 8 * 2**20
"""Bytes of a file that is read: what the longest help that is read can come to has half of it."""

_NAME = re.compile(r"[0-9a-f]{64}\.json")
_PROGRAMS = "programs.json"
_LIBRARY = re.compile(r".+\.(so|dylib|dll)(\.[\d.]+)?", re.IGNORECASE)
# A parser that reads more than an earlier one finds that one's manifests under no name of its own.
_PARSER = tuple(Path(module.__file__ or "") for module in (help_text, manifest))
_LANE = tuple(Path(__file__).with_name("llamacpp") / name for name in ("embedded.py", "options.py"))


File = tuple[str, int, int, int]  # path, size, time of change, inode


class Build(NamedTuple):
    """What tells one build from another: cheap to find out, and equal as long as nothing was replaced.

    `files` are read once each, `marks` are facts about what lies beside them.
    """

    words: tuple[str, ...]
    files: tuple[File, ...]
    marks: tuple[str, ...]


def build_of(engine: Engine) -> Build | None:
    """None where its program is not there."""
    lane = EMBEDDED_MODULE in engine.words
    paths = (engine.server_path, engine.words[0], *(_LANE if lane else ()), *_PARSER)
    files = [_facts(path) for path in dict.fromkeys(map(str, paths))]
    if files[0] is None:
        return None
    marks = (_wheel(files[0]),) if lane else tuple(_marks(Path(engine.words[0])))
    return Build(engine.words[1:], tuple(filter(None, files)), marks)


def _facts(path: str) -> File | None:
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None  # a pipe or a device may be read for ever
    return path, facts.st_size, facts.st_mtime_ns, facts.st_ino


@lru_cache(maxsize=4)
def _wheel(_: File) -> str:
    """The version that goes with this file of it; looking it up takes longer than all the rest."""
    try:
        return metadata.version(WHEEL)
    except metadata.PackageNotFoundError:
        return ""


def _marks(program: Path) -> Iterator[str]:
    """What a help may come from without standing in the program: its libraries, or the modules that a Python runs."""
    beside = (path for path in _listed(program.parent) if _LIBRARY.fullmatch(path.name))
    packages = sorted(program.parent.parent.glob("lib*/python*/*-packages"))  # a Python's, or a script's of one
    for path in (*beside, *packages):
        with suppress(OSError):
            facts = path.stat()
            yield f"{path.name} {facts.st_size} {facts.st_mtime_ns}"


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


class ManifestStore:
    """Manifests in `folder`, which is made when the first one is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def digest(self, build: Build, env: Mapping[str, str]) -> str:
        """The name of a build in the environment that configuration gives it. Raises OSError for a file that is gone."""
        parts = {
            "files": self._hashes(build),
            "words": build.words,
            "marks": build.marks,
            "env": sorted(env.items()),
        }
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def load(self, digest: str) -> Manifest | None:
        """What was kept, marked as in use."""
        path = self._folder / f"{digest}.json"
        told = _read(path)
        # A file under the name of another build would take its flags away.
        found = decode(told) if isinstance(told, dict) and told.get("build") == digest else None
        if found is not None:
            with suppress(OSError):
                os.utime(path)
        return found

    def save(self, digest: str, found: Manifest) -> None:
        """Keep it, in one step; a reader sees all of it or nothing."""
        self._write(f"{digest}.json", {"build": digest, **encode(found)})
        self._tidy()

    def _hashes(self, build: Build) -> list[str]:
        """Of every file; those that have not changed are not read again, by this process or a later one."""
        told = _read(self._folder / _PROGRAMS)
        known: dict[str, Any] = told if isinstance(told, dict) else {}
        hashes, fresh = [], {}
        for path, *facts in build.files:
            memo = known.get(path)
            if isinstance(memo, list) and memo[:-1] == facts and isinstance(memo[-1], str):
                hashes.append(memo[-1])
                continue
            with Path(path).open("rb") as file:
                hashes.append(hashlib.file_digest(file, "sha256").hexdigest())
            fresh[path] = [*facts, hashes[-1]]
        if fresh:
            rows = {path: row for path, row in known.items() if path not in fresh} | fresh
            self._write(_PROGRAMS, dict(list(rows.items())[-KEPT:]))
        return hashes

    def _write(self, name: str, data: Mapping[str, Any]) -> None:
        draft = self._folder / f".{name}.{os.getpid()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
            draft.replace(self._folder / name)
        except OSError:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Drop what was not used for longest, and drafts of processes that were ended while they wrote."""
        rows: list[tuple[float, Path]] = []
        for path in _listed(self._folder):
            with suppress(OSError):
                if path.name.startswith(".") and not path.name.endswith(f".{os.getpid()}"):
                    path.unlink()
                elif _NAME.fullmatch(path.name):
                    rows.append((path.stat().st_mtime, path))
        for _, path in sorted(rows)[:-KEPT]:
            with suppress(OSError):
                path.unlink()


def _read(path: Path) -> object:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


_DEFAULTS = Option(())._asdict()


def encode(found: Manifest) -> dict[str, Any]:
    """As it is kept: fields that say nothing are left out."""
    rows = [
        {name: value for name, value in option._asdict().items() if value != _DEFAULTS[name]}
        for option in found.options
    ]
    return {"schema": SCHEMA, "options": rows}


def decode(data: object) -> Manifest | None:
    """None for anything that `encode` did not make."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("options"), list):
        return None
    options = [_option(row) for row in data["options"]]
    known = [option for option in options if option is not None]
    return Manifest(known) if known and len(known) == len(options) else None


def _option(row: object) -> Option | None:
    if not isinstance(row, dict) or not row.get("names") or not row.keys() <= _DEFAULTS.keys():
        return None
    fields = _DEFAULTS | row
    texts = all(isinstance(fields[name], str) for name in ("kind", "value", "default", "env"))
    if not texts or fields["kind"] not in list(ValueKind) or not isinstance(fields["gone"], bool):
        return None
    for name in ("names", "negative", "choices"):
        words = fields[name]
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            return None
        fields[name] = tuple(words)
    return Option(**fields | {"kind": ValueKind(fields["kind"])})
