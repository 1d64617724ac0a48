"""Forks whose time is over: stamped when mainstream covers them, deleted after some days of that. Pinned ones and a person's own stay."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from blazar.application.engines.removal import Unused, remove_engine_row_and_tree
from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.capability import is_curated, is_due, stamped
from blazar.domain.errors import Conflict
from blazar.domain.records import Engine


class Retired(NamedTuple):
    """Tags that were stamped now, tags that went, and why others stay although they are due."""

    stamped: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    postponed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetireLanes:
    """One look. `days` are `fork_retire_days`: 0 stamps and deletes nothing. What models insist on (`named`) stays as a pinned one does."""

    engines: EngineCatalog
    builds: EngineBuilds
    unused: Unused
    clock: Clock
    named: Callable[[], Collection[str]] = tuple

    def __call__(self, days: int) -> Retired:
        """A build that is in use is postponed: the next look takes it."""
        fresh, removed, postponed = [], [], []
        now, named = self.clock.wall(), self.named()
        for row in self._stamp(now):
            if row.superseded_at == now:
                fresh.append(row.tag)
            if row.tag in named or not is_due(row, days, now):
                continue
            try:
                judge = partial(_check_due, row.tag, days, now)
                remove_engine_row_and_tree(self.engines, self.builds, self.unused, row.tag, judge)
                removed.append(row.tag)
            except (Conflict, OSError) as reason:
                postponed.append(str(reason))
        return Retired(tuple(fresh), tuple(removed), tuple(postponed))

    def _stamp(self, now: float) -> list[Engine]:
        """The curated forks, with what their rows say from now on."""
        rows = self.engines.list_engines()
        found = []
        for row in rows:
            if not is_curated(row):
                continue
            at = stamped(row, rows, now)
            same = at == row.superseded_at
            found.append(row if same else self.engines.amend_engine(row.tag, partial(_superseded, at)))
        return found


def _check_due(tag: str, days: int, now: float, rows: Sequence[Engine]) -> None:
    """Whoever pinned it meanwhile, or went back to a build that does not serve all that it does, keeps it."""
    due = (row for row in rows if row.tag == tag and stamped(row, rows, now) and is_due(row, days, now))
    if next(due, None) is None:
        raise Conflict(teaching.engine_needed_meanwhile(tag))


def _superseded(at: float, row: Engine) -> Engine:
    return replace(row, superseded_at=at)
