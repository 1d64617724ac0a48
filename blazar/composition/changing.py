"""How models are removed, copied, imported and created, by a verb and in the daemon: for whoever does it the name is theirs alone meanwhile."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.copy_over import CopyOver
from blazar.application.models.create_model import CreateModel, settled
from blazar.application.models.import_model import ImportModel
from blazar.application.models.name_turns import AwaitedTurns, LoopTurns, NameTurns
from blazar.application.models.remove_model import RemoveModel

if TYPE_CHECKING:
    from blazar.adapters.files.folders import Folders
    from blazar.adapters.files.landing import DiskLanding
    from blazar.application.ports.blobs import Blobs
    from blazar.application.ports.clock import Clock
    from blazar.application.supervise.views import Supervising
    from blazar.composition.local import Local
    from blazar.composition.pulling import Shelf


def name_turns(folders: "Folders") -> NameTurns:
    """The locks are where those of pulls are: each keeps the others out."""

    def landing() -> "DiskLanding":
        from blazar.adapters.files.landing import DiskLanding, landing_root

        return DiskLanding(landing_root(folders.downloads, folders.ensure().models))

    return NameTurns(landing)


def loop_turns(folders: "Folders", clock: "Clock") -> AwaitedTurns:
    """The same locks for who works on an event loop: one of these a process, for its own wait for each other by it."""
    return LoopTurns(name_turns(folders), clock)


def creating(
    shelf: "Shelf",
    turns: AwaitedTurns,
    supervising: "Supervising | None" = None,
    blobs: "Blobs | None" = None,
    reload: Callable[[], Awaitable[None]] = settled,
) -> CreateModel:
    """What it is made of claims no turns of its own: it has them for all of it."""
    parts = (shelf.catalog, shelf.weights, shelf.clock)
    remove = RemoveModel(shelf.catalog, shelf.weights, supervising, shelf.overlays)
    return CreateModel(CopyModel(*parts), remove, ImportModel(*parts), shelf.overlays, blobs, reload, turns)


def copying(shelf: "Shelf", turns: AwaitedTurns, supervising: "Supervising | None" = None) -> CopyOver:
    """For a client of the API. What it is made of claims no turns of its own."""
    copy = CopyModel(shelf.catalog, shelf.weights, shelf.clock, shelf.overlays)
    return CopyOver(copy, RemoveModel(shelf.catalog, shelf.weights, supervising, shelf.overlays), turns)


def remover(local: "Local") -> RemoveModel:
    """For a verb, as all of these: no daemon runs."""
    turns = loop_turns(local.folders, local.clock)
    return RemoveModel(local.catalog, local.weights, None, local.overlays, turns)


def copier(local: "Local") -> CopyModel:
    """With what lies over the model."""
    return CopyModel(local.catalog, local.weights, local.clock, local.overlays, name_turns(local.folders))


def importer(local: "Local") -> ImportModel:
    """Of a path on this machine."""
    return ImportModel(local.catalog, local.weights, local.clock, name_turns(local.folders))


def creator(local: "Local") -> CreateModel:
    """Of a model that is there: blobs come with a daemon."""
    from blazar.composition.pulling import Shelf

    shelf = Shelf(local.catalog, local.weights, local.overlays, local.clock)
    return creating(shelf, loop_turns(local.folders, local.clock))
