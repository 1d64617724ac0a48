"""Install a fork at one commit: a lane of the registry, or one that a person names. Never a branch, and never instead of mainstream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from blazar.application.engines.build_engine import Order
from blazar.application.engines.install_engine import InstallEngine, Origin
from blazar.application.engines.install_release import Told
from blazar.application.ports.capability import CapabilityRegistry
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.sources import Sources
from blazar.domain import teaching
from blazar.domain.building import Backend
from blazar.domain.capability import Fork, ForkLane, LaneAsset, LaneList, asset_for, fork_tag
from blazar.domain.errors import BlazarError, Conflict, Malformed, NotFound
from blazar.domain.harmless import harmless
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.venv_lanes import Site


class BuildFork(Protocol):
    """Builds a source archive and enters what comes of it (`BuildEngine`)."""

    def __call__(
        self, order: Order, told: Callable[[int, int], None], *, origin: Origin | None = None, tag: str = ""
    ) -> Engine: ...

    def check_machine(self, backend: Backend) -> object:
        """Raises for what is missing on this machine: tools, room."""
        ...


class Wish(NamedTuple):
    """What a person may say beside which fork it is: the digest of its archive, a name for the build, what it computes with."""

    sha256: str = ""
    tag: str | None = None
    backend: Backend | None = None


class Offered(NamedTuple):
    """A lane of the registry, the tag of its build where it is installed, and whether this machine can have it."""

    lane: ForkLane
    installed: str
    possible: bool


class Offers(NamedTuple):
    """What the registry offers; `notes` are lanes that were left out, and why an older list is shown."""

    lanes: tuple[Offered, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListLanes:
    """Asks the registry; where it does not answer, what it said the last time is better than nothing."""

    engines: EngineCatalog
    registry: CapabilityRegistry
    site: Callable[[], Site]

    def __call__(self) -> Offers:
        """Raises `NotFound` where none is configured, and what the registry raised where nothing is kept of it."""
        if not self.registry.configured:
            raise NotFound(teaching.registry_off())
        notes: tuple[str, ...] = ()
        try:
            found = self.registry.fetch()
        except BlazarError as trouble:
            found = self.registry.kept()
            if not found.lanes:
                raise
            notes = (teaching.registry_not_asked(str(trouble)),)
        return Offers(self._offered(found), (*notes, *found.troubles))

    def _offered(self, found: LaneList) -> tuple[Offered, ...]:
        forks = (row for row in self.engines.list_engines() if row.provenance is Provenance.FORK)
        tags = {(row.release, row.source): row.tag for row in forks}
        site = self.site()
        return tuple(
            Offered(
                lane, tags.get((lane.name, lane.source), ""), bool(lane.build) or asset_for(lane, *site[:2]) is not None
            )
            for lane in found.lanes
        )


class _Recipe(NamedTuple):
    """What is built: a repository at a commit, the digest of its archive where it is known, and what it becomes."""

    repo: str
    commit: str
    sha256: str
    tag: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class InstallLane:
    """Raises `NotFound`, `Malformed`, `Conflict`, `RegistryTrouble` and what building raises."""

    engines: EngineCatalog
    registry: CapabilityRegistry
    sources: Sources
    install: InstallEngine
    build: BuildFork
    site: Callable[[], Site]

    def lane(self, name: str, told: Told, backend: Backend | None = None) -> Engine:
        """A curated lane: its published build for this machine, else its source. It retires when mainstream has caught up."""
        lane = self._found(name)
        self._check_free(lane.tag)
        origin = Origin(Provenance.FORK, lane.name, lane.source, pinned=False, architectures=lane.architectures)
        site = self.site()
        if (asset := asset_for(lane, site.system, site.machine)) is not None:
            return self._published(lane, asset, origin, told)
        if not lane.build:
            raise Malformed(teaching.lane_not_for_this_machine(lane.name, site.system, site.machine), "lane")
        if lane.kind is not EngineKind.LLAMACPP:
            raise Malformed(teaching.lane_build_unknown(lane.name, lane.kind), "lane")
        return self._built(_Recipe(lane.repo, lane.commit, lane.source_sha256, lane.tag, origin), told, backend)

    def fork(self, fork: Fork, known: tuple[str, ...], wish: Wish, told: Told) -> Engine:
        """A person's own: pinned from the start, so that nothing but a person takes it away."""
        tag = wish.tag or fork_tag(fork)
        self._check_free(tag)
        origin = Origin(Provenance.FORK, source=f"{fork.repo}@{fork.commit}", pinned=True, architectures=known)
        return self._built(_Recipe(fork.repo, fork.commit, wish.sha256, tag, origin), told, wish.backend)

    def _found(self, name: str) -> ForkLane:
        if not self.registry.configured:
            raise NotFound(teaching.registry_off())
        lanes = self.registry.fetch().lanes
        for lane in lanes:
            if lane.name == name:
                return lane
        raise NotFound(teaching.registry_lane_unknown(harmless(name)[:60], [one.name for one in lanes]))

    def _published(self, lane: ForkLane, asset: LaneAsset, origin: Origin, told: Told) -> Engine:
        path = self.sources.asset(asset.url, asset.sha256, lambda done, total: told(lane.tag, done, total))
        engine = self.install(path, asset.sha256, lane.tag, kind=lane.kind, origin=origin)
        self.sources.drop(path)
        return engine

    def _built(self, recipe: _Recipe, told: Told, backend: Backend | None) -> Engine:
        """What was fetched stays until it is installed: a build that failed is tried again without fetching it anew."""
        name = f"{recipe.repo}@{recipe.commit[:8]}"
        chosen = backend or (Backend.CUDA if self.site().nvidia else Backend.CPU)
        self.build.check_machine(chosen)
        fetched = self.sources.commit(
            recipe.repo, recipe.commit, recipe.sha256, lambda done, total: told(name, done, total)
        )
        # A fork has no release of upstream: its build number is none.
        order = Order(chosen, fetched.path, fetched.sha256, "")
        try:
            engine = self.build(
                order, lambda done, total: told(recipe.tag, done, total), origin=recipe.origin, tag=recipe.tag
            )
        except Malformed as refused:
            if refused.field == "source":  # it is none, and would be none again
                self.sources.drop(fetched.path)
            raise
        self.sources.drop(fetched.path)
        return engine

    def _check_free(self, tag: str) -> None:
        """Before anything is fetched for it."""
        if self.engines.find_engine(tag) is not None:
            raise Conflict(teaching.engine_installed_already(tag))
