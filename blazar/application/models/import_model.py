"""Taking a file on this machine into the catalog, without copying a byte."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from blazar.application.models.enrol import enrol
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.weights import FileFacts, WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import Conflict
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

    def __call__(self, path: str, name: str | None = None) -> Imported:
        if name is not None:
            check_name(name)  # before a header is read: a wrong name is told at once
        facts = self.weights.inspect(path)
        name = name if name is not None else check_name(name_from_file(_stem(facts.files[0])))
        present = self.catalog.find_model(name)
        if present is not None:
            if present.digest != facts.digest:
                raise Conflict(teaching.name_taken(name))
            if not self.weights.missing(present.files):
                if not self.weights.same(present.files, facts.files):
                    raise Conflict(teaching.name_taken(name))
                return Imported(present, already=True)
            self._forget(present)
        files, owned = self.weights.link(name, facts.files)
        model = self._model(name, facts, files, owned=owned)
        row = enrol(self.catalog, self.weights, model)
        return Imported(row, already=row is not model)

    def _forget(self, broken: Model) -> None:
        """A row whose files went away is replaced by the same model found elsewhere."""
        if broken.owned:
            self.weights.unlink(broken.files)
        self.catalog.remove_model(broken.name)

    def _model(self, name: str, facts: FileFacts, files: tuple[str, ...], *, owned: bool) -> Model:
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
            imported_at=self.clock.wall(),
        )


def _stem(file: str) -> str:
    """The file's name without `.gguf`; any other dot belongs to the name (`Q4_K_M` follows one)."""
    name = PurePath(file).name
    return name[:-5] if name.lower().endswith(".gguf") else name
