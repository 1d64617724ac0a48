"""How models are pulled, by a verb and in the daemon. Nothing of HTTP is imported before a pull is made, which may be in a thread."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.files.folders import Folders
from blazar.adapters.files.landing import BESIDE_MODELS, DiskLanding, landing_root
from blazar.adapters.files.placements import DiskPlacements, unlisted
from blazar.application.models.abreast import Abreast
from blazar.application.models.laid_adapters import adapters_of
from blazar.application.models.mending import MendPlacements
from blazar.application.models.slots import UNLIMITED, Slot
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching

if TYPE_CHECKING:
    from blazar.adapters.net.downloads import HttpDownloads
    from blazar.adapters.net.throttle import Throttle
    from blazar.application.config.model import Config
    from blazar.application.models.pull_model import PullModel
    from blazar.application.ports.disk import DiskSpace
    from blazar.composition.local import Local

ADAPTERS = "adapters"
"""The folder of LoRAs, in that of the models."""
KEPT_SECS = 7 * 86400.0
"""How long what came of a pull is kept that nobody came back for."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where models are entered."""

    catalog: ModelCatalog
    weights: WeightFiles
    overlays: Overlays
    clock: Clock


@dataclass(slots=True)
class Pulling:
    """Makes pulls by the configuration as it is then; `throttle` is that of the process, for whatever it downloads."""

    folders: Folders
    env: Mapping[str, str]
    config: Callable[[], "Config"]
    shelf: Shelf
    throttle: "Throttle"
    _abreast: Abreast = field(default_factory=Abreast, init=False)

    def __call__(self, slot: Slot = UNLIMITED) -> "PullModel":
        """One pull. What was left long ago goes first."""
        from blazar.adapters.files.modeldir import DiskWeightFiles
        from blazar.adapters.hardware.disk import SystemDisk
        from blazar.application.models.placing import PlaceModel
        from blazar.application.models.placing_adapter import PlaceAdapter
        from blazar.application.models.pull_model import PullModel, Transport
        from blazar.composition.registries import open_registry, own_hub, registry_hosts

        folders, shelf, disk = self.folders.ensure(), self.shelf, SystemDisk()
        landing = DiskLanding(landing_root(folders.downloads, folders.models))
        for root in (folders.downloads, folders.models / BESIDE_MODELS):  # either may have been the one before
            DiskLanding(root).sweep(time.time() - KEPT_SECS)
        placements = self._placements()
        mend = MendPlacements(shelf.catalog, shelf.weights, shelf.overlays, placements)
        mend.all(landing)
        adapters = folders.models / ADAPTERS

        def hosts() -> tuple[str, ...]:
            return registry_hosts(self.config())

        return PullModel(
            Transport(
                lambda ref: open_registry(self.env, ref, hosts()),
                hosts,
                self._downloads(disk),
                disk,
                landing,
                own_hub(self.env),
            ),
            PlaceModel(shelf.catalog, shelf.weights, shelf.overlays, shelf.clock, placements),
            PlaceAdapter(DiskWeightFiles(adapters), landing, shelf.clock, str(adapters)),
            mend,
            self._abreast,
            slot,
        )

    def _downloads(self, disk: "DiskSpace") -> "HttpDownloads":
        from blazar.adapters.net.downloads import HttpDownloads
        from blazar.composition.registries import named_places, registry_hosts

        loads = HttpDownloads(
            disk, self.throttle, lambda: self.config().download_connections, gone=teaching.pull_file_gone
        )
        loads.ours = lambda: named_places(self.env, registry_hosts(self.config()))
        return loads

    def mended(self) -> bool:
        """Puts right what a process left that died while it entered a model; whether there was anything."""
        placements, shelf = self._placements(), self.shelf
        if not placements.names():
            return False
        landing = DiskLanding(landing_root(self.folders.downloads, self.folders.models))
        MendPlacements(shelf.catalog, shelf.weights, shelf.overlays, placements).all(landing)
        return True

    def _placements(self) -> DiskPlacements:
        return DiskPlacements(self.folders.placing, self.folders.models)


def unlisted_in(models: Path, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Weight files of the models folder that no row names, and no overlay of one; LoRAs that were pulled by themselves have none."""
    return unlisted(models, known, (ADAPTERS,))


def left_in(folders: Folders) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """What pulls have brought that were stopped, wherever they arrived."""
    for root in (folders.downloads, folders.models / BESIDE_MODELS):
        yield from DiskLanding(root).left()


def strays_in(folders: Folders, overlays: Overlays) -> dict[str, Any]:
    """How a doctor finds what takes room and serves nobody."""
    return {
        "unlisted": partial(unlisted_in, folders.models),
        "laid": partial(adapters_of, overlays),
        "left": partial(left_in, folders),
    }


def pull_here(local: "Local") -> "PullModel":
    """For a verb: one pull in its own process."""
    shelf = Shelf(local.catalog, local.weights, local.overlays, local.clock)
    config = local.settings().loaded.rooted()
    return Pulling(local.folders, local.env, lambda: config, shelf, local.throttle)()
