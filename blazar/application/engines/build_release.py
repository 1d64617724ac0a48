"""Build a release from its own source archive: pick it, fetch it, hand it to the builder. Compiles nothing itself."""

from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.engines.build_engine import BuildEngine, Order
from blazar.application.engines.install_engine import Origin
from blazar.application.engines.install_release import Told
from blazar.application.engines.pick_release import PickRelease
from blazar.application.ports.sources import Sources
from blazar.domain import building, teaching
from blazar.domain.building import Backend
from blazar.domain.errors import BlazarError, Busy, Forbidden, Malformed, NotFound, RegistryTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.releases import checked_release, checked_sha256


class Wish(NamedTuple):
    """What to build, and of which release ("": what the channel means). `jobs` 0: as many as there are processors.

    `sha256` is a digest that a person has of the archive: no feed tells one.
    """

    backend: Backend
    release: str = ""
    sha256: str = ""
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class BuildRelease:
    """What is missing on this machine is said before anything is fetched; what was fetched stays until it is installed."""

    pick: PickRelease
    sources: Sources
    build: BuildEngine

    def __call__(self, wish: Wish, fetched: Told, told: Told) -> Engine:
        """Raises what picking, fetching and building raise."""
        wanted = checked_release(wish.release.removesuffix(f"-{wish.backend}")) if wish.release else ""
        sha256 = checked_sha256(wish.sha256) if wish.sha256 else ""
        self.build.check_machine(wish.backend)
        repository = self.pick.repository(EngineKind.LLAMACPP)
        try:
            release = checked_release(self._release(wanted))
            tag = building.tag_of(release, wish.backend)
            self.build.check_free(tag)
            name = f"{repository}@{release}"
            archive = self.sources.release(repository, release, sha256, lambda done, whole: fetched(name, done, whole))
        except (NotFound, Forbidden, Busy, RegistryTrouble) as trouble:
            raise _otherwise(trouble, wish.backend) from trouble
        # Hosts make source archives when they are asked for one and tell no digest: what it was is written down here.
        origin = Origin(Provenance.BUILT, release=release, source=f"{name} sha256:{archive.sha256}")
        order = Order(wish.backend, archive.path, archive.sha256, release, wish.jobs)
        try:
            engine = self.build(order, lambda done, whole: told(tag, done, whole), origin=origin)
        except Malformed as refused:
            if refused.field == "source":  # it is none, and would be none again
                self.sources.drop(archive.path)
            raise
        self.sources.drop(archive.path)
        return engine

    def _release(self, wanted: str) -> str:
        target = self.pick.named(EngineKind.LLAMACPP, wanted) if wanted else self.pick.target(EngineKind.LLAMACPP)
        return target.release.tag


def _otherwise(trouble: BlazarError, backend: Backend) -> BlazarError:
    """The same, with how to build without that host."""
    sentence = teaching.build_source_not_fetched(str(trouble), backend)
    match trouble:
        case Busy():
            return Busy(sentence, trouble.retry_after)
        case NotFound():
            return NotFound(sentence)
        case Forbidden():
            return Forbidden(sentence)
    return RegistryTrouble(sentence)
