"""Taking a model on this machine into the catalog, without copying a byte: a file, a folder, a set of files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from blazar.application.models.enrol import enrol, link_beside, spelled, take_place
from blazar.application.models.name_turns import Turns, unclaimed
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.weights import FileFacts, WeightFiles
from blazar.domain import teaching
from blazar.domain.diffusion_sets import ROLES, role_of
from blazar.domain.errors import Conflict, Malformed
from blazar.domain.names import check_name, name_from_file
from blazar.domain.records import Model


class Imported(NamedTuple):
    """`already`: the very same file was there under this name, and nothing was done."""

    model: Model
    already: bool = False


@dataclass(frozen=True, slots=True)
class ImportModel:
    """Inspect, hardlink (or refer to, D36), add the row. The same file under the same name twice is one import.

    Equal fingerprints only say that two files may be the same; a name is answered with the row that has it when they are.
    """

    catalog: ModelCatalog
    weights: WeightFiles
    clock: Clock
    turns: Turns = unclaimed

    def __call__(self, path: str, name: str | None = None, parts: Sequence[tuple[str, str]] = ()) -> Imported:
        """`parts` are the other files of a diffusion set: role, as sd-server's flags have it, and path."""
        if name is not None:
            check_name(name)  # before a header is read: a wrong name is told at once
        facts = self.weights.inspect(path, _checked(parts))
        name = name if name is not None else check_name(name_from_file(facts.stem or _stem(facts.files[0])))
        name = spelled(self.catalog, name)
        with self.turns(name):
            return self._entered(name, facts)

    def over(self, path: str, present: Model, lay: Callable[[Model], None]) -> Model:
        """In the place of that model, as `CopyModel.over`; `lay` has the words laid over the new row. The turn is the caller's."""
        facts = self.weights.inspect(path)
        files, owned = link_beside(self.weights, present.name, facts.digest, facts.files, facts.names)
        row = row_of(present.name, facts, files, owned=owned, at=self.clock.wall())
        return take_place(self.catalog, self.weights, present, row, lay)

    def _entered(self, name: str, facts: FileFacts) -> Imported:
        present = self.catalog.find_model(name)
        if present is not None:
            if present.digest != facts.digest:
                raise Conflict(teaching.name_taken(name))
            if not self.weights.missing(present.files):
                if not self.weights.same(present.files, facts.files):
                    raise Conflict(teaching.name_taken(name))
                return Imported(present, already=True)
            self._forget(present, facts.files)
        files, owned = self.weights.link(name, facts.files, facts.names)
        model = row_of(name, facts, files, owned=owned, at=self.clock.wall())
        row = enrol(self.catalog, self.weights, model)
        return Imported(row, already=row is not model)

    def _forget(self, broken: Model, found: tuple[str, ...]) -> None:
        """A row whose files went away is replaced by the same model found elsewhere, or by what is left of it."""
        if broken.owned:
            self.weights.unlink(tuple(file for file in broken.files if file not in found), broken.folder)
        self.catalog.remove_model(broken.name)


def row_of(name: str, facts: FileFacts, files: tuple[str, ...], *, owned: bool, at: float) -> Model:
    """The row of what was inspected; `files` are where its files lie now."""
    return Model(
        name=name,
        files=files,
        sizes=facts.sizes,
        weights=facts.weights,
        arch=facts.arch,
        quant=facts.quant,
        parameters=facts.parameters,
        ctx_train=facts.ctx_train,
        embedding_length=facts.embedding_length,
        pooling=facts.pooling,
        template=facts.template,
        owned=owned,
        digest=facts.digest,
        imported_at=at,
        folder=folder_of(files, facts.names) if owned else facts.folder,
        components=moved(facts.components, facts.files, files),
    )


def folder_of(files: Sequence[str], names: Sequence[str]) -> str:
    """The folder that files share below which they have these names; "" without names."""
    return files[0].removesuffix(names[0]).rstrip("/\\") if names else ""


def moved(parts: Sequence[tuple[str, str]], old: Sequence[str], new: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parts by role, where their files now lie."""
    at = dict(zip(old, new, strict=True))
    return tuple((role, at[file]) for role, file in parts)


def _checked(parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Raises `Malformed` for a role that there is not, or that is there twice."""
    found: dict[str, str] = {}
    for word, path in parts:
        role = role_of(word)
        if not role:
            raise Malformed(teaching.part_role_unknown(word, ROLES), "with")
        if role in found:
            raise Malformed(teaching.part_twice(role), "with")
        found[role] = path
    return list(found.items())


def _stem(file: str) -> str:
    """The file's name without `.gguf`; any other dot belongs to the name (`Q4_K_M` follows one)."""
    name = PurePath(file).name
    return name[:-5] if name.lower().endswith(".gguf") else name
