"""Choose which build of a kind serves from now on. Running children are not touched."""

from collections.abc import Sequence
from dataclasses import dataclass

from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import RANK, Provenance
from blazar.domain.records import Engine
from blazar.domain.versions import newest_first


@dataclass(frozen=True, slots=True)
class UseEngine:
    """Activate one build by its tag."""

    engines: EngineCatalog
    builds: EngineBuilds
    clock: Clock

    def __call__(self, tag: str) -> Engine:
        """The build, now active. Raises `EngineNotFound`, or `Conflict` where it may not, or cannot, serve (D20)."""
        rows = self.engines.list_engines()
        row = next((row for row in rows if row.tag == tag), None)
        if row is None:
            raise EngineNotFound(tag, newest_first(other.tag for other in rows))
        better = outranking(row, rows)
        if better and row.provenance is Provenance.FORK:
            raise Conflict(teaching.fork_outranked(tag, better))
        if better:
            raise Conflict(teaching.engine_outranked(tag, better))
        if not self.builds.holds(row):
            raise Conflict(teaching.engine_gone(tag, row.server_path))
        if flaw := self.builds.flaw(row):
            raise Conflict(teaching.engine_broken(tag, row.kind, flaw))
        self.engines.set_active(row.kind, tag, self.clock.wall())
        return self.engines.find_engine(tag) or row


def outranking(row: Engine, rows: Sequence[Engine]) -> list[str]:
    """Builds of its kind beside which it may not be active, from the newest down."""
    return newest_first(o.tag for o in rows if o.kind is row.kind and RANK[o.provenance] < RANK[row.provenance])
