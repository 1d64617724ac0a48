"""Hold a build as it is: no update replaces it, no pruning and no retirement deletes it."""

from dataclasses import dataclass, replace

from blazar.application.engines.remove_engine import STAYS
from blazar.application.ports.engines import EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.records import Engine
from blazar.domain.versions import newest_first


def is_pinnable(engine: Engine) -> bool:
    """Whether a pin would hold anything off that it is not pinned against yet."""
    return not engine.pinned and engine.provenance not in STAYS


@dataclass(frozen=True, slots=True)
class PinEngine:
    """Pin, or let go."""

    engines: EngineCatalog

    def __call__(self, tag: str, *, pinned: bool = True) -> Engine:
        """The build. Raises `EngineNotFound`, or `Conflict` for one that none of these would touch anyway."""
        rows = self.engines.list_engines()
        row = next((row for row in rows if row.tag == tag), None)
        if row is None:
            raise EngineNotFound(tag, newest_first(other.tag for other in rows))
        if row.provenance in STAYS:
            raise Conflict(teaching.engine_is_not_pinnable(tag))
        return self.engines.amend_engine(tag, lambda row: replace(row, pinned=pinned))
