"""Everything that a pull is made of, with a registry and a host in memory and a data folder on disk."""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.files.landing import DiskLanding
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.adapters.files.placements import DiskPlacements
from blazar.application.models.mending import MendPlacements
from blazar.application.models.placing import PlaceModel
from blazar.application.models.placing_adapter import PlaceAdapter
from blazar.application.models.pull_model import PullModel, Transport
from blazar.application.models.pulling import Pulled, Step, Wish
from blazar.application.ports.remote import Parcel, Part, RemoteFile
from blazar.domain.parcels import Role, Words
from blazar.domain.references import RemoteRef, pull_reference
from tests.fakes.catalog import MemoryModelCatalog
from tests.fakes.clock import FakeClock
from tests.fakes.disk import FakeDisk
from tests.fakes.downloads import FakeDownloads
from tests.fakes.overlays import MemoryOverlays
from tests.fakes.remote import MemoryRegistry

if TYPE_CHECKING:
    from blazar.application.ports.overlays import Overlays

HOST = "https://registry.example/"


class PullRig:
    """`pull` makes a new `PullModel` for each wish, as the composition does."""

    def __init__(self, data: Path, hosts: Collection[str] = ()) -> None:
        self.data, self.hosts = data, hosts
        self.catalog = MemoryModelCatalog()
        self.overlays: Overlays = MemoryOverlays()
        self.weights = DiskWeightFiles(data / "models")
        self.disk = FakeDisk()
        self.registry = MemoryRegistry()
        self.downloads = FakeDownloads({})
        self.landing = DiskLanding(data / "downloads", sleep=lambda _: None)
        self.steps: list[Step] = []

    def offers(
        self,
        reference: str,
        files: Sequence[tuple[Role, str, bytes]],
        words: Words = Words(),  # noqa: B008 - immutable
        notes: tuple[str, ...] = (),
    ) -> Parcel:
        """From now on `reference` is these files. A folder's are called by their path."""
        parts = []
        for role, name, data in files:
            digest = hashlib.sha256(data).hexdigest()
            at = f"{HOST}{digest}/{name}"
            self.downloads.content[at] = data
            file = RemoteFile(name.rpartition("/")[2], len(data), at, digest, digest)
            parts.append(Part(role, file, name if role is Role.FOLDER else ""))
        ref = pull_reference(reference, self.hosts)
        self.registry.parcels[str(ref)] = found = Parcel(ref, tuple(parts), words, notes)
        return found

    def make(self) -> PullModel:
        adapters = self.data / "models" / "adapters"
        placements = DiskPlacements(self.data / "placing", self.data / "models")
        place = PlaceModel(self.catalog, self.weights, self.overlays, FakeClock(), placements)
        mend = MendPlacements(self.catalog, self.weights, self.overlays, placements)
        place_adapter = PlaceAdapter(DiskWeightFiles(adapters), self.landing, FakeClock(), str(adapters))
        transport = Transport(self._open, lambda: self.hosts, self.downloads, self.disk, self.landing)
        return PullModel(transport, place, place_adapter, mend)

    def pull(self, wish: Wish | str) -> Pulled:
        """Steps of this pull alone are kept."""
        self.steps.clear()
        self.downloads.fetched.clear()
        return self.make()(Wish(wish) if isinstance(wish, str) else wish, self.steps.append)

    def _open(self, _: RemoteRef) -> MemoryRegistry:
        return self.registry

    @property
    def fetched(self) -> list[str]:
        """Names of the files that were asked for."""
        return [address.rpartition("/")[2] for address in self.downloads.fetched]

    def lying(self, folder: str) -> set[str]:
        """Files below a folder of the data folder, by path."""
        root = self.data / folder
        return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
