"""Delete one engine build: aside, row, discard; put it back if the row stays (contract). Never under a running child."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from blazar.application.ports.children import Children
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import Provenance
from blazar.domain.records import Engine
from blazar.domain.versions import newest_first

# What is not an unpacked archive is not deleted from here; the sentence says how it goes instead.
STAYS: dict[Provenance, Callable[[], str]] = {
    Provenance.LOCAL: teaching.local_engine_stays,
    Provenance.EMBEDDED: teaching.embedded_engine_stays,
}


@dataclass(frozen=True, slots=True)
class RemoveEngine:
    """`in_use` tells which models a build serves right now: the supervisor's views, or what a running daemon answers."""

    engines: EngineCatalog
    builds: EngineBuilds
    children: Children
    in_use: Callable[[str], Sequence[str]]

    def __call__(self, tag: str) -> None:
        """Raises `EngineNotFound`, or `Conflict` where it must stay."""
        row = self.engines.find_engine(tag)
        if row is None:
            self._remove_leftover(tag)
            return
        self._check(row)
        aside = self.builds.set_aside(tag)
        with ExitStack() as undo:
            if aside:  # whatever goes wrong, a row must never point at a folder that is gone
                undo.callback(self.builds.restore, tag)
            # A daemon may have started a child since; from here on it can start no other, for the program is gone.
            self._check_unused(tag)
            self.engines.remove_engine(tag)
            undo.pop_all()
        if aside:
            self.builds.discard(tag)

    def _remove_leftover(self, tag: str) -> None:
        """A folder without a row, left by a crash between unpacking and its row."""
        if not self.builds.set_aside(tag):
            raise EngineNotFound(tag, newest_first(row.tag for row in self.engines.list_engines()))
        self.builds.discard(tag)

    def _check(self, row: Engine) -> None:
        if row.provenance in STAYS:
            raise Conflict(teaching.engine_is_not_removable(row.tag, STAYS[row.provenance]()))
        self._check_unused(row.tag)
        if not any(other.kind is row.kind for other in self.engines.list_engines() if other.tag != row.tag):
            raise Conflict(teaching.last_engine(row.tag, row.kind))

    def _check_unused(self, tag: str) -> None:
        models = self.in_use(tag)
        if models:
            raise Conflict(teaching.engine_in_use(tag, models))
        for orphan in self.children.orphans():
            if orphan.tag == tag:
                raise Conflict(teaching.engine_orphaned(tag, orphan.pid))
