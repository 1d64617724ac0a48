"""Keep the rows of engines that are not installed by us true: the wheel of the `embedded` extra, and the user's own binary."""

from dataclasses import dataclass, replace

from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineCatalog, EngineFinder, EngineTrial, FoundEngine
from blazar.domain import teaching
from blazar.domain.errors import Malformed, Refusal
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine

LOCAL = "local"
EMBEDDED = "embedded-"


@dataclass(frozen=True, slots=True)
class EnrolEngines:
    """Run at daemon start and before a listing. Rows of archives are never touched."""

    engines: EngineCatalog
    finder: EngineFinder
    trial: EngineTrial
    clock: Clock

    def __call__(self, *, prune: bool = True) -> Refusal | None:
        """Why the engine that the user named cannot be used; None when it can, or none was named.

        A caller that would serve must refuse then: falling back to another engine would hide a mistyped path.
        `prune=False` only adds: a shell without BLAZAR_ENGINE_PATH must not take that engine from a daemon that has it.
        """
        found, trouble = self._embedded(), None
        try:
            found |= self._local()
        except Refusal as refused:
            trouble = refused
        before = {row.tag: row for row in self.engines.list_engines()}
        for tag, row in found.items():
            self._enrol(row, before.get(tag))
        if prune and trouble is None:  # after adding, so that an active row that goes hands over to one that stays
            for tag, row in before.items():
                if row.provenance in (Provenance.LOCAL, Provenance.EMBEDDED) and tag not in found:
                    self.engines.remove_engine(tag)
        return trouble

    def check(self) -> None:
        """Raise what `__call__` would return; no row is touched."""
        self._local()

    def _embedded(self) -> dict[str, Engine]:
        found = self.finder.find_embedded()
        return {} if found is None else self._row(EMBEDDED + found.version, Provenance.EMBEDDED, found)

    def _local(self) -> dict[str, Engine]:
        found = self.finder.find_local()
        if found is None:
            return {}
        try:
            version = self.trial.try_out(found.command)
        except Refusal as refused:
            raise Malformed(teaching.engine_path_refused(str(refused)), "BLAZAR_ENGINE_PATH") from refused
        return self._row(LOCAL, Provenance.LOCAL, found._replace(version=version))

    def _row(self, tag: str, provenance: Provenance, found: FoundEngine) -> dict[str, Engine]:
        kind, now = EngineKind.LLAMACPP, self.clock.wall()
        row = Engine(tag, kind, provenance, found.server_path, found.version, False, now, found.command)
        return {tag: row}

    def _enrol(self, row: Engine, before: Engine | None) -> None:
        told = (row.server_path, row.version, row.command)
        if before is not None and told == (before.server_path, before.version, before.command):
            return
        if before is not None:  # another version of the same engine: that it was chosen holds
            row = replace(row, used_at=before.used_at)
        self.engines.add_engine(row)
        if before is not None and before.active:
            self.engines.set_active(row.kind, row.tag)
        elif before is None and row.provenance is Provenance.LOCAL:
            # Naming a binary is a wish to use it. Only once: a later choice of another build stands.
            self.engines.set_active(row.kind, row.tag)
