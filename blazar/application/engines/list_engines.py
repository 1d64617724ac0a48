"""Which engine builds there are."""

from dataclasses import dataclass
from typing import Any

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


def engine_row(engine: Engine) -> dict[str, Any]:
    """One build as JSON: what `/api/engines` answers and `engine list --json` prints."""
    return {
        "tag": engine.tag,
        "kind": engine.kind.value,
        "provenance": engine.provenance.value,
        "version": engine.version,
        "active": engine.active,
        "server_path": engine.server_path,
        "installed_at": engine.installed_at,
        "release": engine.release,
        "source": engine.source,
        "digest": engine.digest,
        "pinned": engine.pinned,
        "architectures": list(engine.architectures),
        "used_at": engine.used_at,
        "superseded_at": engine.superseded_at,
    }
