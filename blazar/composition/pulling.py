"""How models are pulled, by a verb and in the daemon. Nothing of HTTP is imported before a pull is made, which may be in a thread."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from blazar.adapters.files.folders import Folders
from blazar.adapters.files.landing import DiskLanding
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching

if TYPE_CHECKING:
    from blazar.adapters.net.throttle import Throttle
    from blazar.application.config.model import Config
    from blazar.application.models.pull_model import PullModel
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
    """Makes pulls by the configuration as it is then; all of them together keep to one speed limit."""

    folders: Folders
    env: Mapping[str, str]
    config: Callable[[], "Config"]
    shelf: Shelf
    _lock: Lock = field(default_factory=Lock, init=False)
    _throttle: "Throttle | None" = field(default=None, init=False)

    def __call__(self) -> "PullModel":
        """One pull. What was left long ago goes first."""
        from blazar.adapters.files.modeldir import DiskWeightFiles
        from blazar.adapters.hardware.disk import SystemDisk
        from blazar.adapters.net.downloads import HttpDownloads
        from blazar.application.models.placing import PlaceModel
        from blazar.application.models.placing_adapter import PlaceAdapter
        from blazar.application.models.pull_model import PullModel, Transport
        from blazar.composition.registries import open_registry, registry_hosts

        folders, shelf, disk = self.folders.ensure(), self.shelf, SystemDisk()
        landing = DiskLanding(folders.downloads)
        landing.sweep(time.time() - KEPT_SECS)
        adapters = folders.models / ADAPTERS

        def hosts() -> tuple[str, ...]:
            return registry_hosts(self.config())

        return PullModel(
            Transport(
                lambda ref: open_registry(self.env, ref, hosts()),
                hosts,
                HttpDownloads(
                    disk,
                    self._shared(),
                    lambda: self.config().download_connections,
                    gone=teaching.pull_file_gone,
                ),
                disk,
                landing,
            ),
            PlaceModel(shelf.catalog, shelf.weights, shelf.overlays, shelf.clock),
            PlaceAdapter(DiskWeightFiles(adapters), landing, shelf.clock, str(adapters)),
        )

    def _shared(self) -> "Throttle":
        from blazar.adapters.net.throttle import Throttle

        with self._lock:
            if self._throttle is None:
                self._throttle = Throttle(lambda: self.config().download_speed_limit_mb, time.monotonic)
            return self._throttle


def pull_here(local: "Local") -> "PullModel":
    """For a verb: one pull in its own process."""
    shelf = Shelf(local.catalog, local.weights, local.overlays, local.clock)
    config = local.settings().loaded.rooted()
    return Pulling(local.folders, local.env, lambda: config, shelf)()
