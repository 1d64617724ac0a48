"""Install one engine build: verified and unpacked out of sight, tried there, made visible by one rename, then named in the catalog."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import Archive, EngineBuilds, EngineCatalog, EngineTrial, Program, Staged
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Malformed
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine


class Origin(NamedTuple):
    """Where a build comes from, as its row tells it (`records.Engine`)."""

    provenance: Provenance = Provenance.ARCHIVE
    release: str = ""
    source: str = ""
    pinned: bool = False
    architectures: tuple[str, ...] = ()


BY_FILE = Origin()
"""An archive that somebody named."""


@dataclass(frozen=True, slots=True)
class InstallEngine:
    """A build that does not run here, or that the catalog does not take, leaves nothing behind, and no build that was there before goes."""

    engines: EngineCatalog
    builds: EngineBuilds
    trial: EngineTrial
    clock: Clock
    programs: Mapping[EngineKind, Program]

    def __call__(
        self,
        archive: str,
        sha256: str,
        tag: str | None = None,
        *,
        kind: EngineKind = EngineKind.LLAMACPP,
        origin: Origin = BY_FILE,
        beside: Sequence[Archive] = (),
    ) -> Engine:
        """The installed build; `beside` are archives of libraries that belong to its program.

        Raises `Malformed`, `NotFound` or `Conflict`.
        """
        if tag is not None:
            self._check_free(tag)
        self._sweep()
        staged = self.builds.stage((Archive(archive, sha256), *beside), tag, self.programs[kind].name)
        return self._enter(staged, kind, origin, sha256.strip().lower().removeprefix("sha256:"))

    def adopt(
        self, folder: str, tag: str, *, kind: EngineKind = EngineKind.LLAMACPP, origin: Origin = BY_FILE
    ) -> Engine:
        """The same for a build that was made here; its folder goes."""
        self._check_free(tag)
        self._sweep()
        return self._enter(self.builds.adopt(folder, tag, self.programs[kind].name), kind, origin, "")

    def _enter(self, staged: Staged, kind: EngineKind, origin: Origin, digest: str) -> Engine:
        with ExitStack() as undo:
            undo.callback(self.builds.unstage, staged)  # Ctrl-C while it is tried included
            self._check_free(staged.tag)
            try:
                version = self.trial.try_out((staged.server,), kind)
            except Malformed as refused:
                # Where it lay is nothing that anybody could look at.
                why = str(refused).replace(staged.server, self.programs[kind].name)
                raise Malformed(teaching.engine_not_installed(staged.tag, why), "engine") from refused
            server = self.builds.publish(staged)
            undo.callback(self._drop, staged.tag)
            row = Engine(
                tag=staged.tag,
                kind=kind,
                provenance=origin.provenance,
                server_path=server,
                version=version,
                active=False,
                installed_at=self.clock.wall(),
                command=(server, *words) if (words := self.programs[kind].words) else (),
                release=origin.release or staged.release,
                source=origin.source,
                digest=digest,
                pinned=origin.pinned,
                architectures=origin.architectures,
            )
            self.engines.add_engine(row)
            undo.pop_all()
        self.builds.settle(staged.tag)
        return self.engines.find_engine(staged.tag) or row

    def _check_free(self, tag: str) -> None:
        """A row whose build is gone may be filled again: it could not be removed otherwise, being the last one of its kind."""
        row = self.engines.find_engine(tag)
        if row is not None and self.builds.holds(row):
            raise Conflict(teaching.engine_installed_already(tag))

    def _sweep(self) -> None:
        self.builds.sweep([row.tag for row in self.engines.list_engines()])

    def _drop(self, tag: str) -> None:
        if self.builds.set_aside(tag):
            self.builds.discard(tag)
