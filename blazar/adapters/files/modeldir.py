"""Models on disk: what lies at a path, and hardlinks under our roof. Never copies a byte, never deletes outside.

Where hardlinks are impossible the file is referred to where it lies (D36), and stays its owner's to delete.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.files.drawings import vet_part_source, vet_source
from blazar.adapters.files.gguf import read_header, reason_of
from blazar.adapters.files.gguf_facts import vet_adapter
from blazar.adapters.files.gguf_shape import (
    projector_of_file,
    projector_of_source,
    shape_of_files,
    shape_of_sources,
)
from blazar.adapters.files.inspection import inspect, metadata_of, shape_of
from blazar.adapters.files.kept import try_writing
from blazar.adapters.files.shards import models_in
from blazar.application.ports.weights import FileFacts, Source, WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, BadShape, BlazarError, Conflict, NotFound, StoreTrouble
from blazar.domain.names import file_stem
from blazar.domain.weight_names import SUFFIX, is_projector, projector_rank, same_model, shard_name

if TYPE_CHECKING:
    from blazar.domain.fit.shape import ModelShape, Projector

# The first four are D36; the last two are how file systems without any hardlinks answer through FUSE.
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS}

_NOT_EMPTY = {errno.ENOTEMPTY, errno.EEXIST}

_BLOCK = 1 << 20

_ORDER = {True: 0, None: 1, False: 2}
MOST_PROJECTORS = 8
"""Encoders of one folder that are looked into for the one that belongs to a model."""


class DiskWeightFiles(WeightFiles):
    """Weight files anywhere on this machine, and the models folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def inspect(self, path: str, parts: Sequence[tuple[str, str]] = ()) -> FileFacts:
        return inspect(path, parts)

    def metadata(self, path: str) -> dict[str, Any]:
        return metadata_of(path)

    def shape(self, files: tuple[str, ...]) -> "ModelShape":
        return shape_of(files)

    def shape_elsewhere(self, sources: Iterable[Source]) -> "ModelShape":
        return shape_of_sources(sources)

    def projector(self, files: tuple[str, ...]) -> "Projector | None":
        found = self._projector(files)
        return found and found[1]

    def projector_file(self, files: tuple[str, ...]) -> str:
        found = self._projector(files)
        return found[0] if found else ""

    def _projector(self, files: tuple[str, ...]) -> "tuple[str, Projector] | None":
        folder = Path(files[0]).parent
        if not files[0].lower().endswith(SUFFIX):
            return None  # engines of other weights find what belongs to them by themselves
        if folder == self.folder:  # every model's links lie there: only an encoder's name says whose it is
            ours = _companion(Path(files[0]))
            return (str(ours), projector_of_file(str(ours))) if ours.exists() else None
        try:
            found = [one.name for one in folder.iterdir() if is_projector(one.name)]
        except OSError:
            return None
        if not found:
            return None
        return _belonging(folder, found, Path(files[0]).name, shape_of_files(files))

    def projector_in(self, path: str) -> "Projector":
        return projector_of_file(path)

    def projector_facts(self, path: str) -> dict[str, Any]:
        header = read_header(path)
        return {**header.metadata, "general.parameter_count": sum(row.elements for row in header.tensors)}

    def adapter_bytes(self, path: str) -> int:
        return sum(row.size for row in read_header(path).tensors)

    def vet_adapter(self, path: str, arch: str) -> None:
        vet_adapter(path, read_header(path), arch)

    def projector_elsewhere(self, source: Source) -> "Projector":
        return projector_of_source(source)

    def vet_elsewhere(self, source: Source, roles: Sequence[str]) -> None:
        vet_source(source, roles)

    def vet_part_elsewhere(self, source: Source, role: str) -> None:
        vet_part_source(source, role)

    def link(self, name: str, files: tuple[str, ...], names: tuple[str, ...] = ()) -> tuple[tuple[str, ...], bool]:
        targets = self._inside(name, names) if names else self._targets(name, files)
        real = [os.path.realpath(file) for file in files]
        # Somebody put the file into the models folder by hand: it is theirs, and `rm` must not take the only copy.
        if real == [os.path.realpath(target) for target in targets]:
            return files, False
        if names:
            self._check_alone(self.folder / file_stem(name), targets)
        try:
            self._link_all(real, targets, str(self.folder / file_stem(name)) if names else "")
        except OSError as error:
            if isinstance(error, FileNotFoundError) and (gone := self.missing(files)):
                raise NotFound(teaching.no_such_file(gone)) from None
            if error.errno in _NO_LINK:
                return files, False
            raise StoreTrouble(teaching.disk_trouble(f"linking into {self.folder}", reason_of(error))) from None
        if names:
            return targets, True
        # A model serves without the encoder that lies beside it, so that nothing about that one ends an import.
        with suppress(OSError, BlazarError):
            if beside := self.projector_file(files):
                _link_one(os.path.realpath(beside), str(_companion(Path(targets[0]))))
        return targets, True

    def take(self, name: str, files: tuple[str, ...], names: tuple[str, ...] = ()) -> tuple[str, ...]:
        links, owned = self.link(name, files, names)
        if owned:
            return links
        targets = self._inside(name, names) if names else self._targets(name, files)
        moves = [(Path(file), Path(target)) for file, target in zip(files, targets, strict=True)]
        with suppress(BlazarError):
            if not names and (beside := self.projector_file(files)):
                moves.append((Path(beside), _companion(Path(targets[0]))))
        try:
            _move_all(moves)
        except OSError as error:
            raise StoreTrouble(teaching.disk_trouble(f"moving into {self.folder}", reason_of(error))) from None
        return targets

    def check_writable(self) -> None:
        try:
            try_writing(self.folder)
        except OSError as error:
            raise StoreTrouble(teaching.disk_trouble(f"linking into {self.folder}", reason_of(error))) from None

    def unlink(self, files: tuple[str, ...], folder: str = "") -> None:
        own = Path(folder) if folder and Path(folder).parent == self.folder else None
        for file in files:
            path = Path(file).absolute()
            below = own is not None and path.is_relative_to(own) and ".." not in path.parts
            if path.parent != self.folder and not below:
                continue
            try:
                path.unlink(missing_ok=True)
                if below:
                    self._leave(path.parent)
                else:
                    _companion(path).unlink(missing_ok=True)
            except OSError as error:
                raise StoreTrouble(teaching.disk_trouble(f"deleting {path}", reason_of(error))) from None

    def _leave(self, folder: Path) -> None:
        """The folders of a model go with its last link; what else lies in one keeps it."""
        while folder != self.folder:
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno in _NOT_EMPTY:
                    return
                raise
            folder = folder.parent

    def missing(self, files: tuple[str, ...]) -> str | None:
        return next((file for file in files if not Path(file).exists()), None)

    def stamp(self, path: str) -> str:
        with suppress(OSError):
            found = Path(path).stat()
            return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
        return ""

    def same(self, files: tuple[str, ...], others: tuple[str, ...]) -> bool:
        if len(files) != len(others):
            return False
        pairs = list(zip(files, others, strict=True))
        try:
            # Sizes first: a set of shards whose last one differs must not be read for minutes.
            if any(Path(file).stat().st_size != Path(other).stat().st_size for file, other in pairs):
                return False
            return all(_same_bytes(file, other) for file, other in pairs)
        except FileNotFoundError as gone:
            raise NotFound(teaching.no_such_file(str(gone.filename))) from None
        except OSError as error:
            raise BadModelFile(str(error.filename or others[0]), reason_of(error)) from None

    def _link_all(self, sources: list[str], targets: tuple[str, ...], folder: str) -> None:
        """All of them or none: whatever ends it in between takes the links made so far along."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as undo:
            for source, target in zip(sources, targets, strict=True):
                if (parent := Path(target).parent) != self.folder and not parent.is_dir():
                    undo.callback(self._leave, parent)
                    parent.mkdir(parents=True, exist_ok=True)
                if _link_one(source, target):
                    undo.callback(self.unlink, (target,), folder)
            undo.pop_all()

    def _inside(self, name: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """In a folder of the model's own."""
        return tuple(str(self.folder / file_stem(name) / one) for one in names)

    def _check_alone(self, folder: Path, targets: tuple[str, ...]) -> None:
        """Engines read all that lies in a model's folder, so that nothing of anybody else may."""
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise Conflict(teaching.link_in_the_way(str(folder)))
        known = {Path(target) for target in targets}
        strange = (one for one in folder.rglob("*") if one not in known and (one.is_symlink() or not one.is_dir()))
        if (first := next(strange, None)) is not None:
            raise Conflict(teaching.link_in_the_way(str(first)))

    def _targets(self, name: str, files: tuple[str, ...]) -> tuple[str, ...]:
        """Shards keep their suffix: engines find the siblings by it."""
        stem, total = file_stem(name), len(files)
        if total == 1:
            return (str(self.folder / f"{stem}{SUFFIX}"),)
        return tuple(str(self.folder / shard_name(stem, number, total)) for number in range(1, total + 1))


def _companion(model: Path) -> Path:
    """The link of a model's encoder. No model's own: `@` is in no name."""
    return model.with_name(f"{model.name.removesuffix(SUFFIX)}@mmproj{SUFFIX}")


def _link_one(source: str, target: str) -> bool:
    """Whether a link was made; false when it is there already, left by an import that did not end."""
    try:
        os.link(source, target)
    except FileExistsError:
        if Path(source).samefile(target):
            return False
        raise Conflict(teaching.link_in_the_way(target)) from None
    return True


def _move_all(moves: Sequence[tuple[Path, Path]]) -> None:
    """All of them or none, and never onto a file that is there."""
    with ExitStack() as undo:
        for source, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                raise Conflict(teaching.link_in_the_way(str(target)))
            source.replace(target)
            undo.callback(target.replace, source)
        undo.pop_all()


def _same_bytes(file: str, other: str) -> bool:
    if Path(file).samefile(other):
        return True
    with Path(file).open("rb") as ours, Path(other).open("rb") as theirs:
        while (block := ours.read(_BLOCK)) == theirs.read(_BLOCK):
            if not block:
                return True
    return False


def _belonging(folder: Path, found: Sequence[str], model: str, shape: "ModelShape") -> "tuple[str, Projector] | None":
    """The encoder of this model among those of its folder: the widths must agree, and the names where the file tells no width.

    Beside several models one that is named for nobody may be anyone's: its width has to be told. One that is named for another of
    them is that one's.

    Raises why the first could not be read where none of the others belongs.
    """
    from blazar.domain.fit.preview import belongs

    models = models_in(one.name for one in folder.iterdir())
    # Named for it, named for nobody, named for another.
    alike = {name: same_model(name, model) for name in found}
    found = [name for name in found if alike[name] is not False or not any(same_model(name, one) for one in models)]
    unusable: BlazarError | None = None
    for name in sorted(found, key=lambda name: (_ORDER[alike[name]], projector_rank(name)))[:MOST_PROJECTORS]:
        try:
            projector = projector_of_file(str(folder / name))
        except (BadModelFile, BadShape, NotFound) as why:
            unusable = unusable or why
            continue
        named = alike[name] or (alike[name] is None and len(models) == 1)
        compared = projector.widths and (shape.embedding or len(models) == 1)
        if belongs(projector, shape) and (named or compared):
            return str(folder / name), projector
    if unusable is not None:
        raise unusable
    return None
