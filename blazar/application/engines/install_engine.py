"""Install one engine build from an archive: verify, unpack, try it, and only then name it in the catalog."""

from contextlib import ExitStack
from dataclasses import dataclass

from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineBuilds, EngineCatalog, EngineTrial
from blazar.domain import teaching
from blazar.domain.errors import Conflict
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine


@dataclass(frozen=True, slots=True)
class InstallEngine:
    """A build that does not run here, or that the catalog does not take, leaves nothing behind."""

    engines: EngineCatalog
    builds: EngineBuilds
    trial: EngineTrial
    clock: Clock

    def __call__(self, archive: str, sha256: str, tag: str | None = None) -> Engine:
        """The installed build. Raises `Malformed`, `NotFound` or `Conflict`."""
        if tag is not None and self.engines.find_engine(tag) is not None:
            raise Conflict(teaching.engine_installed_already(tag))
        named, server_path = self.builds.unpack(archive, tag, sha256)
        with ExitStack() as undo:
            undo.callback(self._drop, named)  # Ctrl-C while it is tried included
            row = Engine(
                tag=named,
                kind=EngineKind.LLAMACPP,
                provenance=Provenance.ARCHIVE,
                server_path=server_path,
                version=self.trial.try_out((server_path,)),
                active=False,
                installed_at=self.clock.wall(),
            )
            self.engines.add_engine(row)
            undo.pop_all()
        return self.engines.find_engine(named) or row

    def _drop(self, tag: str) -> None:
        if self.builds.set_aside(tag):
            self.builds.discard(tag)
