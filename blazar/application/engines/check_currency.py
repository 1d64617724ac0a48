"""Whether newer builds of the installed engines are out. Looks and remembers; never downloads, installs or activates (contract)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from blazar.application.engines.pick_release import PickRelease, Target
from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import BlazarError
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.releases import REPOSITORIES, STABLE, is_newer

FROM_RELEASES = frozenset({Provenance.ARCHIVE, Provenance.BUILT})
"""What upstream's releases have news about: the user's own binary, a wheel, a fork come from elsewhere."""
_ADDRESS = ("https://", "http://")


class Currency(NamedTuple):
    """What is known about one kind. `stable` is upstream's stamp of the active build, `trouble` why nothing is known.

    `back`: the channel has an older build than the active one, as the stable one may. `same`: what it has is the active one's very file.
    """

    kind: EngineKind
    active: str
    newest: str = ""
    available: bool = False
    back: bool = False
    same: bool = False
    pinned: bool = False
    stable: str = ""
    newest_stable: str = ""
    trouble: str = ""
    checked_at: float = 0.0


def compare(active: Engine, target: Target, channel: str, stable: Target | None, digest: str = "") -> Currency:
    """The active build against what its channel means now, and whether it is the one that upstream's stable release stamps.

    By content first, as an update does (case H11): `digest` is that of the file that it would take.
    """
    release = active.release or active.tag
    newest = target.release.tag
    newer = is_newer(newest, release)
    back = channel == STABLE and release != newest and not newer
    stamp = stable.stable or stable.release.tag if stable is not None and stable.release.tag == release else ""
    same = bool(digest) and digest == active.digest and newest != release
    stamp = stamp or (target.stable if newest == release else "")
    return Currency(
        active.kind,
        active.tag,
        newest,
        available=release != newest and (newer or back) and not same,
        back=back and not same,
        same=same,
        pinned=active.pinned,
        stable="" if stamp == release else stamp,
        newest_stable=target.stable,
    )


class Memory(NamedTuple):
    """What looks found, by kind, beyond the process that looked."""

    read: Callable[[], Sequence[Currency]]
    write: Callable[[Sequence[Currency]], None]


_NO_MEMORY = Memory(tuple, lambda _: None)


def still_true(rows: Sequence[Currency], engines: Sequence[Engine]) -> tuple[Currency, ...]:
    """What a look found, said of the builds that are active now: it is remembered while they are updated, pinned and removed."""
    active = {row.kind: row for row in engines if row.active}
    return tuple(_said_now(row, active[row.kind]) for row in rows if row.kind in active)


def _said_now(row: Currency, engine: Engine) -> Currency:
    if row.active == engine.tag:
        return row._replace(pinned=engine.pinned)
    release = engine.release or engine.tag
    newer = is_newer(row.newest, release)
    back = bool(row.newest_stable) and release != row.newest and not newer
    stamp = row.newest_stable if release == row.newest else ""
    return row._replace(
        active=engine.tag, available=newer or back, back=back, same=False, pinned=engine.pinned, stable=stamp
    )


@dataclass(slots=True)
class CheckCurrency:
    """Remembers the last look in `last`, and by kind in `memory`. `open_pick` opens the feed for one look; its second function closes it.

    `asked`: a person wants to know. Otherwise only builds that were downloaded from a feed are asked about: who brought a file,
    or built one here, let nobody be contacted. Not even for a person where all of a kind's builds are files (`passed_over`).
    """

    engines: EngineCatalog
    open_pick: Callable[[], tuple[PickRelease, Callable[[], None]]]
    clock: Clock
    asked: bool = False
    memory: Memory = _NO_MEMORY
    last: tuple[Currency, ...] = field(default=())

    def __call__(self) -> tuple[Currency, ...]:
        """Blocking. Asks only about kinds that are installed from releases; what went wrong is in the rows, nothing is raised."""
        found = tuple(self._look())
        self.last = found
        if found:
            self.memory.write(_merged(self.memory.read(), found))
        return found

    def known(self) -> tuple[Currency, ...]:
        """What the last looks found, whoever took them, as far as it is still true. Asks nobody."""
        return still_true(_merged(self.last, self.memory.read()), self.engines.list_engines())

    def _look(self) -> Iterator[Currency]:
        engines = self.engines.list_engines()
        aside = {row.kind for row in passed_over(engines)}
        rows = [row for row in engines if row.active and row.kind in REPOSITORIES and row.provenance in FROM_RELEASES]
        rows = [row for row in rows if (row.kind not in aside if self.asked else _is_downloaded(row))]
        if not rows:
            return
        now = self.clock.wall()
        try:
            pick, close = self.open_pick()
        except BlazarError as trouble:
            yield from (Currency(row.kind, row.tag, trouble=str(trouble), checked_at=now) for row in rows)
            return
        try:
            for row in rows:
                yield self._of(row, pick)._replace(checked_at=now)
        finally:
            close()

    def _of(self, row: Engine, pick: PickRelease) -> Currency:
        try:
            target = pick.target(row.kind)
            # Only llama.cpp stamps builds; elsewhere a release that is no prerelease is stable by itself.
            stable = pick.stable_of(row.kind) if row.kind is EngineKind.LLAMACPP else None
            return compare(row, target, pick.sources.channel, stable, _file_of(row.kind, target, pick))
        except BlazarError as trouble:
            return Currency(row.kind, row.tag, trouble=str(trouble))


def _merged(*looks: Sequence[Currency]) -> list[Currency]:
    """Of each kind the latest."""
    found: dict[EngineKind, Currency] = {}
    for row in (row for look in looks for row in look):
        if row.kind not in found or row.checked_at >= found[row.kind].checked_at:
            found[row.kind] = row
    return list(found.values())


def _file_of(kind: EngineKind, target: Target, pick: PickRelease) -> str:
    """The digest of what an update would take; "" where the release has nothing for this machine, which the update says."""
    try:
        return pick.choose(kind, target).choice.asset.sha256
    except BlazarError:
        return ""


def passed_over(engines: Sequence[Engine]) -> list[Engine]:
    """The active builds of kinds that nobody is asked about, as every build of theirs came from a file."""
    files = [row for row in engines if row.kind in REPOSITORIES and _is_file(row)]
    others = {row.kind for row in engines if row.provenance in FROM_RELEASES and not _is_file(row)}
    return [row for row in files if row.active and row.kind not in others]


def _is_file(row: Engine) -> bool:
    return row.provenance is Provenance.ARCHIVE and not _is_downloaded(row)


def _is_downloaded(row: Engine) -> bool:
    return row.provenance is Provenance.ARCHIVE and row.source.startswith(_ADDRESS)


def said_of(row: Currency) -> str:
    """What follows from a look, in a sentence."""
    kind, active = row.kind.value, teaching.stable_named(row.active, row.stable) if row.stable else row.active
    if row.trouble:
        return teaching.currency_failed(kind, row.trouble)
    if row.available and row.pinned:
        return teaching.engine_pinned_away(kind, row.newest, active, row.active)
    if row.same:
        return teaching.engine_same_file(kind, row.newest, active)
    if row.back:
        return teaching.engine_channel_behind(kind, row.newest, active)
    return (
        teaching.engine_update_available(kind, row.newest, active)
        if row.available
        else teaching.engine_current(kind, active)
    )


def currency_row(row: Currency) -> dict[str, Any]:
    """One kind as JSON: what `/api/engines` answers and `engine check --json` prints."""
    return {**row._asdict(), "kind": row.kind.value}
