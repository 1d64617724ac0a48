"""A registry, sources and Python environments that say what a test told them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from blazar.application.ports.capability import ArchitectureSource, CapabilityRegistry
from blazar.application.ports.downloads import Told
from blazar.application.ports.sources import Fetched, Sources
from blazar.application.ports.venvs import Made, Say, Venvs
from blazar.domain.capability import LaneList
from blazar.domain.kinds import EngineKind

if TYPE_CHECKING:
    from blazar.domain.errors import BlazarError


class FakeCapabilityRegistry(CapabilityRegistry):
    """Set `now` to what it sends, `trouble` to what is raised instead, `address` to "" for none at all."""

    def __init__(self, now: LaneList | None = None, kept: LaneList | None = None) -> None:
        self.now, self.before = now or LaneList(), kept or LaneList()
        self.trouble: BlazarError | None = None
        self.address = "https://lists.example/lanes.json"
        self.asked = 0

    @property
    def configured(self) -> bool:
        return bool(self.address)

    def fetch(self) -> LaneList:
        if not self.address:
            return LaneList()
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble
        self.before = self.now
        return self.now

    def kept(self) -> LaneList:
        return self.before if self.address else LaneList()


class FakeArchitectureSource(ArchitectureSource):
    """`known` by release; `asked` are the releases in order."""

    def __init__(self, **known: tuple[str, ...]) -> None:
        self.known, self.asked = known, list[str]()

    def architectures(self, release: str) -> tuple[str, ...]:
        self.asked.append(release)
        return self.known.get(release, ())


class FakeSources(Sources):
    """Every archive is there at once; `refused` is raised for all of them."""

    def __init__(self) -> None:
        self.refused: BlazarError | None = None
        self.fetched: list[tuple[str, str]] = []
        self.dropped: list[str] = []

    def commit(self, repo: str, commit: str, sha256: str, told: Told) -> Fetched:
        self._fetch(f"{repo}@{commit}", sha256, told)
        return Fetched(f"/downloads/{commit}.tar.gz", sha256 or "a" * 64)

    def release(self, repo: str, tag: str, sha256: str, told: Told) -> Fetched:
        self._fetch(f"{repo}@{tag}", sha256, told)
        return Fetched(f"/downloads/{tag}.tar.gz", sha256 or "a" * 64)

    def asset(self, url: str, sha256: str, told: Told) -> str:
        self._fetch(url, sha256, told)
        return f"/downloads/{url.rsplit('/', 1)[-1]}"

    def drop(self, path: str) -> None:
        self.dropped.append(path)

    def _fetch(self, what: str, sha256: str, told: Told) -> None:
        if self.refused is not None:
            raise self.refused
        self.fetched.append((what, sha256))
        told(10, 10)


class FakeVenvs(Venvs):
    """An index whose newest version is `version`; `trouble` is raised by the step that it is entered for."""

    def __init__(self, version: str = "0.32.2", pins: Sequence[str] = ("mlx-lm==0.32.2",)) -> None:
        self.version, self.pins = version, tuple(pins)
        self.trouble: dict[str, BlazarError] = {}
        self.asked: list[str] = []
        self.made: list[tuple[str, tuple[str, ...]]] = []
        self.companions: tuple[str, ...] = ()
        self.tried: list[tuple[str, ...]] = []
        self.dropped: list[str] = []

    def newest(self, requirement: str) -> str:
        self._step("newest")
        self.asked.append(requirement)
        return self.version

    def make(
        self, tag: str, requirements: Sequence[str], more: Callable[[tuple[str, ...]], Sequence[str]], say: Say
    ) -> Made:
        self._step("make")
        say(f"Collecting {requirements[0]}")
        self.made.append((tag, tuple(requirements)))
        self.companions = tuple(more(self.pins))
        return Made(f"/engines/.staging-{tag}", "bin/python", self.pins)

    def try_out(self, made: Made, kind: EngineKind, words: Sequence[str], knows: str) -> None:
        self.tried.append((*words, knows))
        self._step("try_out")

    def drop(self, made: Made) -> None:
        self.dropped.append(made.folder)

    def _step(self, name: str) -> None:
        if name in self.trouble:
            raise self.trouble[name]
