"""Delete one engine build because somebody says so."""

from collections.abc import Callable
from dataclasses import dataclass

from blazar.application.engines.removal import InUse, Unused, remove_engine_row_and_tree
from blazar.application.ports.children import Children
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.versions import newest_first

# What is not installed by us is not deleted from here; the sentence says how it goes instead.
STAYS: dict[Provenance, Callable[[], str]] = {
    Provenance.LOCAL: teaching.local_engine_stays,
    Provenance.EMBEDDED: teaching.embedded_engine_stays,
}


@dataclass(frozen=True, slots=True)
class RemoveEngine:
    """Pinned builds too: the pin holds off what nobody asked for."""

    engines: EngineCatalog
    builds: EngineBuilds
    children: Children
    in_use: InUse

    def __call__(self, tag: str) -> None:
        """Raises `EngineNotFound`, or `Conflict` where it must stay."""
        row = self.engines.find_engine(tag)
        if row is None:
            self._remove_leftover(tag)
            return
        if row.provenance in STAYS:
            raise Conflict(teaching.engine_is_not_removable(row.tag, STAYS[row.provenance]()))
        unused = Unused(self.children, self.in_use)
        unused(tag)
        self._check_others(row)
        remove_engine_row_and_tree(self.engines, self.builds, unused, tag)

    def _remove_leftover(self, tag: str) -> None:
        """A folder without a row, left by a crash between unpacking and its row."""
        if not self.builds.set_aside(tag):
            raise EngineNotFound(tag, newest_first(row.tag for row in self.engines.list_engines()))
        self.builds.discard(tag)

    def _check_others(self, row: Engine) -> None:
        """llama.cpp keeps its last build: nearly every model is served by it. A row whose build is gone already keeps nothing."""
        if row.kind is not EngineKind.LLAMACPP:
            return
        others = [other for other in self.engines.list_engines() if other.kind is row.kind and other.tag != row.tag]
        if not others and self.builds.holds(row):
            raise Conflict(teaching.last_engine(row.tag, row.kind))
