"""The model catalog in memory, and a model to put into it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from blazar.application.ports.catalog import ModelCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict
from blazar.domain.kinds import Weights
from blazar.domain.records import Model


def a_model(name: str = "tiny", **changes: Any) -> Model:
    """A small chat model; `changes` replace fields."""
    model = Model(
        name=name,
        files=(f"/models/{name}.gguf",),
        sizes=(240_128,),
        weights=Weights.GGUF,
        arch="llama",
        quant="F16",
        parameters=110_000,
        ctx_train=512,
        embedding_length=64,
        pooling=None,
        template=True,
        owned=True,
        digest="ab" * 32,
        imported_at=1_700_000_000.0,
    )
    return replace(model, **changes)


class MemoryModelCatalog(ModelCatalog):
    """Rows in a dict; every change counts up the revision."""

    def __init__(self, models: Iterable[Model] = ()) -> None:
        self._rows = {model.name: model for model in models}
        self._revision = 0

    def find_model(self, name: str) -> Model | None:
        return self._rows.get(name)

    def list_models(self) -> list[Model]:
        return [self._rows[name] for name in sorted(self._rows)]

    def add_model(self, model: Model) -> None:
        if model.name in self._rows:
            raise Conflict(teaching.name_taken(model.name))
        self._rows[model.name] = model
        self._revision += 1

    def replace_model(self, model: Model) -> None:
        self._rows[model.name] = model
        self._revision += 1

    def remove_model(self, name: str, known: Model | None = None) -> bool:
        row = self._rows.get(name)
        if row is None or (known is not None and not row.is_entry(known)):
            return False
        del self._rows[name]
        self._revision += 1
        return True

    def revision(self) -> int:
        return self._revision
