"""What the catalog holds."""

from dataclasses import dataclass

from blazar.application.ports.catalog import ModelCatalog
from blazar.domain.records import Model


@dataclass(frozen=True, slots=True)
class ListModels:
    """All models by name, whether their files are still there or not."""

    catalog: ModelCatalog

    def __call__(self) -> list[Model]:
        return self.catalog.list_models()
