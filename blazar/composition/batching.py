"""Kept files and batches, put together: where they lie, who answers their requests, what runs beside. Decides no rule."""

from functools import cached_property

from blazar.adapters.files.batch_papers import DiskBatchPapers
from blazar.adapters.files.kept import DiskKeptFiles
from blazar.adapters.hardware.disk import SystemDisk
from blazar.adapters.http.lane.asking import LaneAsking
from blazar.adapters.http.lane.core import Lane
from blazar.adapters.http.lane.rows import HOT_PATHS
from blazar.application.batches.ledger import Ledger
from blazar.application.batches.manage import ManageBatches
from blazar.application.batches.runner import BatchRunner
from blazar.application.batches.tend import TendKept
from blazar.application.batches.work import BatchWork
from blazar.application.files.shelf import FileShelf
from blazar.application.kept.read_files import ReadFiles
from blazar.application.ports.saved import SavedStore
from blazar.composition.foundation import Foundation
from blazar.composition.lifespan import Lifecycle
from blazar.composition.tasks import BackgroundTask, guarded
from blazar.domain.wire.openai_batches import ENDPOINTS


def kept_files(foundation: Foundation) -> DiskKeptFiles:
    """Where files of clients lie."""
    return DiskKeptFiles(foundation.folders.files, SystemDisk(), foundation.entropy)


def read_files_in(foundation: Foundation, saved: SavedStore) -> ReadFiles:
    """For requests that name files. It comes before the lane, which batches need: so it has a shelf of its own over the same files."""
    return ReadFiles(FileShelf(saved, kept_files(foundation), foundation.clock, foundation.entropy))


class Batching:
    """One per daemon."""

    def __init__(self, foundation: Foundation, saved: SavedStore, lane: Lane) -> None:
        self._ground, self._lane = foundation, lane
        folder = foundation.folders.files
        kept = kept_files(foundation)
        self.papers = DiskBatchPapers(folder, kept)
        self.shelf = FileShelf(saved, kept, foundation.clock, foundation.entropy)

    @cached_property
    def asking(self) -> LaneAsking:
        """By the lane, in the owner's name; keys and accounts as they are then."""
        ground = self._ground
        boot, tab_of = ground.entropy.token(4), ground.accounts.tab_of
        return LaneAsking(self._lane, ground.clock, ground.meter, lambda: ground.keys, boot, guarded, tab_of=tab_of)

    @cached_property
    def runner(self) -> BatchRunner:
        """Asks one request after the other."""
        ledger = Ledger(self.shelf.store, self._ground.clock)
        return BatchRunner(BatchWork(ledger, self.papers, self.asking, self.shelf), guarded)

    @cached_property
    def manage(self) -> ManageBatches:
        """What clients may do."""
        endpoints = tuple(path for path in ENDPOINTS if path in HOT_PATHS)
        return ManageBatches(self.shelf, self.papers, self.runner, self._ground.entropy, endpoints)

    @cached_property
    def _parts(self) -> list[Lifecycle]:
        tend = TendKept(self.shelf, self.papers)
        return [tend, BackgroundTask("kept files", tend.run), BackgroundTask("batches", self.runner.run)]

    async def start(self) -> None:
        """Sweep first, before anything is sent or worked on."""
        for part in self._parts:
            await part.start()

    async def aclose(self) -> None:
        """The request under way is given up, and asked again by the next daemon."""
        for part in reversed(self._parts):
            await part.aclose()
