"""LoRA adapters that came with a model: a link for each beside the weights, which its overlay names. Writes no overlay itself."""

from collections.abc import Iterable
from typing import Final

from blazar.application.models.arrivals import KEY, Shipment
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Role
from blazar.domain.weight_names import came_along

_MADE: Final = "@lora-"
"""After a name: no model's name holds `@`."""


def link_adapters(weights: WeightFiles, name: str, main: Shipment, arch: str) -> tuple[str, ...]:
    """Their paths, in order; empty where none came. Raises `BadModelFile` for one that models of `arch` cannot take."""
    came = main.of(Role.ADAPTER)
    for one in came:
        weights.vet_adapter(one.at, arch)
    return tuple(
        link for one in came for link in weights.take(f"{name}{_MADE}{one.mark.rpartition(':')[2][:KEY]}", (one.at,))
    )


def adapters_of(overlays: Overlays | None, name: str) -> tuple[str, ...]:
    """What lies over that model."""
    return ((overlays.find(name) if overlays is not None else None) or Overlay()).adapters


def ours_alone(adapters: Iterable[str], name: str, catalog: ModelCatalog, overlays: Overlays | None) -> tuple[str, ...]:
    """Those of `adapters` that `link_adapters` made and that lie over no other model; a person's own file is none of them."""
    others = {path for row in catalog.list_models() if row.name != name for path in adapters_of(overlays, row.name)}
    return tuple(path for path in adapters if came_along(path) and path not in others)


def are_there(weights: WeightFiles, overlays: Overlays, name: str, main: Shipment) -> bool:
    """Whether as many lie over the model as come with it, and are on the disk; and none that came with it once."""
    laid, came = adapters_of(overlays, name), main.of(Role.ADAPTER)
    if not came:
        return not any(map(came_along, laid))
    return len(laid) >= len(came) and not weights.missing(laid)
