"""One model with what its file says about itself, and its projector's."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from blazar.application.models.find import get_model
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.domain.errors import BlazarError
from blazar.domain.overlay import Overlay
from blazar.domain.records import Model


class Beside(NamedTuple):
    """The projector that a request with pictures would be served with: its file, and what its header tells. Empty: none."""

    file: str = ""
    metadata: Mapping[str, Any] = {}


NOTHING = Beside()
PLAIN = Overlay()


class Shown(NamedTuple):
    """`metadata` are the header's key-value pairs without vocabulary; `overlay` is what was said on top when it was created."""

    model: Model
    metadata: dict[str, Any]
    projector: Beside = NOTHING
    overlay: Overlay = PLAIN


def no_projector(_: Model) -> str:
    """Where nobody knows what children are given."""
    return ""


@dataclass(frozen=True, slots=True)
class ShowModel:
    """Read a model's row and header; a file that is gone is said so. `projector_of` names the file of its projector, if any."""

    catalog: ModelCatalog
    weights: WeightFiles
    projector_of: Callable[[Model], str] = no_projector
    overlays: Overlays | None = None

    def __call__(self, name: str) -> Shown:
        model = get_model(self.catalog, name, self.weights)
        overlay = self.overlays.find(model.name) if self.overlays is not None else None
        return Shown(model, self.weights.metadata(model.files[0]), self._beside(model), overlay or PLAIN)

    def _beside(self, model: Model) -> Beside:
        file = self.projector_of(model)
        with suppress(BlazarError):  # what cannot be read is the load's to complain about: it serves text without
            return Beside(file, self.weights.projector_facts(file)) if file else NOTHING
        return NOTHING
