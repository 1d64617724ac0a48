"""Choose which build of a kind serves from now on. Running children are not touched."""

from dataclasses import dataclass

from blazar.application.ports.engines import EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import RANK
from blazar.domain.records import Engine
from blazar.domain.versions import newest_first


@dataclass(frozen=True, slots=True)
class UseEngine:
    """Activate one build by its tag."""

    engines: EngineCatalog

    def __call__(self, tag: str) -> Engine:
        """The build, now active. Raises `EngineNotFound`, or `Conflict` for a wheel beside better builds (D20)."""
        rows = self.engines.list_engines()
        row = next((row for row in rows if row.tag == tag), None)
        if row is None:
            raise EngineNotFound(tag, newest_first(other.tag for other in rows))
        better = [o.tag for o in rows if o.kind is row.kind and RANK[o.provenance] < RANK[row.provenance]]
        if better:
            raise Conflict(teaching.engine_outranked(tag, newest_first(better)))
        self.engines.set_active(row.kind, tag)
        return self.engines.find_engine(tag) or row
