"""The use cases of releases over fakes: a feed with builds in it, an installer that knows their archives."""

from dataclasses import dataclass, field

from blazar.application.engines.install_engine import InstallEngine
from blazar.application.engines.install_release import InstallRelease
from blazar.application.engines.pick_release import PickRelease, Sources
from blazar.application.engines.update_engine import Gate, UpdateEngine
from blazar.application.engines.use_engine import UseEngine
from blazar.application.ports.engines import Program
from blazar.domain.kinds import EngineKind
from blazar.domain.releases import REPOSITORIES, Asset, Release
from tests.fakes.builds import FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.disk import FakeDisk
from tests.fakes.engines import MemoryEngineCatalog
from tests.fakes.hardware import FakeCensus
from tests.fakes.releases import MemoryDownloads, MemoryReleases

LLAMACPP = REPOSITORIES[EngineKind.LLAMACPP]
FOLDER = "/downloads"
PROGRAMS = {kind: Program(kind.value) for kind in EngineKind}


def digest_of(number: int) -> str:
    """One that is told apart in its first digits."""
    return f"{number:012d}" + "a" * 52


def build(number: int, *, day: int = 0, digest: str | None = None, flavor: str = "") -> Release:
    """A prerelease with one archive for Linux on x64."""
    name = f"llama-b{number}-bin-ubuntu{flavor}-x64.tar.gz"
    asset = Asset(name, f"http://host/{name}", 1000, digest_of(number) if digest is None else digest)
    return Release(f"b{number}", True, f"2026-11-{day or number % 28 + 1:02d}", (asset,))


def stable(tag: str, number: int, *, day: int = 28) -> Release:
    """A stable release that stamps a build and has nothing to install."""
    marker = Asset("nightly-tag.txt", "http://host/nightly-tag.txt", 7)
    return Release(tag, False, f"2026-11-{day:02d}", (marker,), f"b{number}")


@dataclass
class Rig:
    """Everything in memory. `told` are progress calls, `forgotten` downloads that were deleted."""

    releases: list[Release]
    channel: str = "latest"
    asset: str = "auto"
    catalog: MemoryEngineCatalog = field(default_factory=MemoryEngineCatalog)
    gate: Gate | None = None
    told: list[tuple[str, int, int]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.feed = MemoryReleases({LLAMACPP: self.releases})
        self.downloads, self.trial, self.disk = MemoryDownloads(), FakeEngineTrial(), FakeDisk()
        self.builds, self.clock, self.census = MemoryEngineBuilds(), FakeClock(), FakeCensus()
        for release in self.releases:
            for asset in release.assets:
                self.knows(asset, release.tag)

    def knows(self, asset: Asset, tag: str) -> None:
        """The archive that a download of this becomes."""
        self.builds.archives[f"{FOLDER}/{asset.sha256[:12]}-{asset.name}"] = (tag, asset.sha256)

    @property
    def pick(self) -> PickRelease:
        return PickRelease(self.feed, self.census, "Linux", "x86_64", Sources(self.channel, self.asset))

    @property
    def install(self) -> InstallRelease:
        installer = InstallEngine(self.catalog, self.builds, self.trial, self.clock, PROGRAMS)
        return InstallRelease(self.pick, self.downloads, installer, self.disk, FOLDER, self.forgotten.append)

    @property
    def update(self) -> UpdateEngine:
        return UpdateEngine(self.install, UseEngine(self.catalog, self.builds, self.clock), self.gate)

    def tell(self, name: str, done: int, total: int) -> None:
        self.told.append((name, done, total))
