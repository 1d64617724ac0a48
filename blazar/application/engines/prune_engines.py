"""After an install: keep the newest builds of a kind, delete the others outright (`keep_tags`)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from blazar.application.engines.removal import Unused, remove_engine_row_and_tree
from blazar.application.engines.remove_engine import STAYS
from blazar.application.engines.rollback_engine import served_before
from blazar.application.engines.use_engine import outranking
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Refusal
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.versions import tag_key


class Pruned(NamedTuple):
    """Tags that went, and why others that should have gone are still there."""

    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PruneEngines:
    """The active build, the one before it, pinned ones and those that are not ours stay on top of the newest.

    `named` are builds that models insist on (`model_overrides.*.engine`): those stay, too.
    """

    engines: EngineCatalog
    builds: EngineBuilds
    unused: Unused
    keep: int
    named: Collection[str] = ()

    def __call__(self, kind: EngineKind, fresh: str = "") -> Pruned:
        """`fresh`: what was just installed stays, too. Never raises for a build that cannot go now: the next install takes it."""
        removed, kept = [], []
        for tag in superfluous(self.engines.list_engines(), kind, self.keep):
            if tag == fresh or tag in self.named:
                continue
            try:
                judge = partial(self._check_superfluous, tag, kind)
                remove_engine_row_and_tree(self.engines, self.builds, self.unused, tag, judge)
                removed.append(tag)
            except (Refusal, OSError) as reason:
                kept.append(str(reason))
        return Pruned(tuple(removed), tuple(kept))

    def _check_superfluous(self, tag: str, kind: EngineKind, rows: Sequence[Engine]) -> None:
        if tag not in superfluous(rows, kind, self.keep):
            raise Conflict(teaching.engine_needed_meanwhile(tag))


def superfluous(rows: Iterable[Engine], kind: EngineKind, keep: int) -> list[str]:
    """Tags beyond the `keep` newest of each lane of the kind, but for those that are protected; the oldest first."""
    lanes: dict[str, list[Engine]] = {}
    rows = list(rows)
    for row in rows:
        if row.kind is kind and row.provenance not in STAYS:
            lanes.setdefault(_lane(row), []).append(row)
    beyond = [row for lane in lanes.values() for row in sorted(lane, key=_age, reverse=True)[keep:]]
    anchor = _anchor(rows, kind) if keep > 1 else None
    return [row.tag for row in sorted(beyond, key=_age) if not row.active and not row.pinned and row is not anchor]


def _anchor(rows: list[Engine], kind: EngineKind) -> Engine | None:
    """What `engine rollback` goes back to: newer builds that nobody chose must not push it out."""
    mine = [row for row in rows if row.kind is kind]
    return served_before([row for row in mine if not row.active and not outranking(row, mine)])


def _lane(row: Engine) -> str:
    """Every fork is a lane of its own: one must not push out another, nor what mainstream publishes."""
    return row.source.partition("@")[0] or row.tag if row.provenance is Provenance.FORK else ""


def _age(row: Engine) -> tuple[float, tuple[int, int, tuple[tuple[int, int, str], ...]]]:
    """By when it came or was last chosen: what served until now is the one to go back to, however old its number is."""
    return max(row.installed_at, row.used_at), tag_key(row.tag)
