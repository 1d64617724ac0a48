"""Which engine builds there are."""

from dataclasses import dataclass

from blazar.application.ports.engines import EngineCatalog
from blazar.domain.records import Engine
from blazar.domain.versions import tag_key


@dataclass(frozen=True, slots=True)
class ListEngines:
    """Builds for people to read."""

    engines: EngineCatalog

    def __call__(self) -> list[Engine]:
        """By kind; the active one first, then from newest to oldest."""
        newest = sorted(self.engines.list_engines(), key=lambda row: tag_key(row.tag), reverse=True)
        return sorted(newest, key=lambda row: (row.kind, not row.active))
