"""Go back to the build that served before, without knowing its tag."""

from collections.abc import Sequence
from dataclasses import dataclass

from blazar.application.engines.use_engine import UseEngine, outranking
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, NotFound
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine
from blazar.domain.versions import tag_key


@dataclass(frozen=True, slots=True)
class RollbackEngine:
    """The one that was chosen last before the active one; where none was ever chosen, the next older one."""

    engines: EngineCatalog
    builds: EngineBuilds
    use: UseEngine

    def __call__(self, kind: EngineKind) -> Engine:
        """The build, now active. Raises `NotFound` where the kind has no build, `Conflict` where it has no other."""
        rows = [row for row in self.engines.list_engines() if row.kind is kind]
        active = next((row for row in rows if row.active), None)
        if active is None:
            raise NotFound(teaching.kind_not_installed(kind, sorted(row.tag for row in self.engines.list_engines())))
        before = self._before(active, rows)
        if before is None:
            raise Conflict(teaching.nothing_to_roll_back_to(active.tag, kind))
        return self.use(before.tag)

    def _before(self, active: Engine, rows: Sequence[Engine]) -> Engine | None:
        others = [row for row in rows if not row.active and not outranking(row, rows) and self.builds.holds(row)]
        used = served_before(others)
        if used is not None:
            return used
        older = (
            row for row in others if tag_key(row.tag) < tag_key(active.tag) or row.installed_at < active.installed_at
        )
        return max(older, key=lambda row: (row.installed_at, tag_key(row.tag)), default=None)


def served_before(others: Sequence[Engine]) -> Engine | None:
    """Of the builds beside the active one the one that was chosen last, or gave way to it; None where none ever was."""
    return max((row for row in others if row.used_at), key=lambda row: row.used_at, default=None)
