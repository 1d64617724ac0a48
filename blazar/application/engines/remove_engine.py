"""Delete one engine build because somebody says so."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from blazar.application.engines.removal import InUse, Unused, remove_engine_row_and_tree
from blazar.application.ports.children import Children
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine, Model
from blazar.domain.routing import route_format
from blazar.domain.versions import newest_first

# What is not installed by us is not deleted from here; the sentence says how it goes instead.
STAYS: dict[Provenance, Callable[[], str]] = {
    Provenance.LOCAL: teaching.local_engine_stays,
    Provenance.EMBEDDED: teaching.embedded_engine_stays,
}


class Removed(NamedTuple):
    """What follows: the build of the kind that is active in its place ("": it was not, or none is left), models that nothing serves now.

    Of those, `insisting` are the ones whose override names the kind: others might serve them.
    """

    kind: str = ""
    now: str = ""
    unserved: tuple[str, ...] = ()
    insisting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveEngine:
    """Pinned builds too: the pin holds off what nobody asked for. `named` are builds and the models whose overrides insist on them."""

    engines: EngineCatalog
    builds: EngineBuilds
    children: Children
    in_use: InUse
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    models: Callable[[], Sequence[Model]] = tuple
    drop_begun: Callable[[str], bool] = lambda _: False

    def __call__(self, tag: str) -> Removed:
        """Raises `EngineNotFound`, or `Conflict` where it must stay."""
        row = self.engines.find_engine(tag)
        if row is None:
            self._remove_leftover(tag)
            return Removed()
        if row.provenance in STAYS:
            raise Conflict(teaching.engine_is_not_removable(row.tag, STAYS[row.provenance]()))
        if self.named.get(tag):
            raise Conflict(teaching.engine_named(tag, self.named[tag]))
        unused = Unused(self.children, self.in_use)
        unused(tag)
        there = self.builds.holds(row)  # once it is put aside, nobody can say
        judge = partial(_check_others, row, there=there)
        judge(self.engines.list_engines())
        remove_engine_row_and_tree(self.engines, self.builds, unused, tag, judge)
        return self._after(row)

    def _remove_leftover(self, tag: str) -> None:
        """A folder without a row, left by a crash between unpacking and its row, or a build that was only begun."""
        begun = self.drop_begun(tag)
        if not self.builds.set_aside(tag):
            if begun:
                return
            raise EngineNotFound(tag, newest_first(row.tag for row in self.engines.list_engines()))
        self.builds.discard(tag)

    def _after(self, gone: Engine) -> Removed:
        rows = self.engines.list_engines()
        heir = next((row.tag for row in rows if gone.active and row.active and row.kind is gone.kind), "")
        kinds = {row.kind for row in rows}
        if gone.kind in kinds:
            return Removed(gone.kind, heir)
        pins = {model: pin for pin, models in self.named.items() for model in models}
        tags = {row.tag for row in rows}
        there = {model.name: model for model in self.models()}
        insist = {name for name in there if pins.get(name) == gone.kind and gone.kind not in tags}
        lost = {name for name, model in there.items() if name not in pins and _needs(model, gone.kind, kinds)}
        return Removed(gone.kind, heir, tuple(sorted(lost | insist)), tuple(sorted(insist)))


def _check_others(row: Engine, rows: Sequence[Engine], *, there: bool) -> None:
    """llama.cpp keeps its last build: nearly every model is served by it. A row whose build is not `there` keeps nothing."""
    if row.kind is not EngineKind.LLAMACPP:
        return
    others = [other for other in rows if other.kind is row.kind and other.tag != row.tag]
    if not others and there:
        raise Conflict(teaching.last_engine(row.tag, row.kind))


def _needs(model: Model, gone: EngineKind, left: Collection[EngineKind]) -> bool:
    """Whether a kind served these weights, and none that is left does."""
    able = route_format(model.weights).kinds
    return gone in able and not {*able} & {*left}
