"""One model with what its file says about itself."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from blazar.application.models.find import get_model
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.weights import WeightFiles
from blazar.domain.records import Model


class Shown(NamedTuple):
    """`metadata` are the header's key-value pairs without vocabulary."""

    model: Model
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShowModel:
    """Read a model's row and header; a file that is gone is said so."""

    catalog: ModelCatalog
    weights: WeightFiles

    def __call__(self, name: str) -> Shown:
        model = get_model(self.catalog, name, self.weights)
        return Shown(model, self.weights.metadata(model.files[0]))
