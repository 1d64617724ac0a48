"""The engine builds of a data folder without a daemon, as the engine verbs use them. Parts are imported when a verb needs them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from blazar.adapters.cli.root import Engines, Lanes, Pruning
from blazar.application.ports.engines import EngineTrial
from blazar.domain.errors import BadConfig
from blazar.domain.kinds import EngineKind

if TYPE_CHECKING:
    from blazar.adapters.engines.builds import ArchiveBuilds
    from blazar.adapters.engines.devices import EngineDevices
    from blazar.adapters.engines.probe import HelpProbe
    from blazar.application.engines.build_engine import Order, Told
    from blazar.application.engines.build_release import Wish as BuildWish
    from blazar.application.engines.check_currency import Currency
    from blazar.application.engines.enrol_engines import EnrolEngines
    from blazar.application.engines.gate_regression import GateRegression
    from blazar.application.engines.install_engine import InstallEngine
    from blazar.application.engines.install_release import Installed
    from blazar.application.engines.install_release import Told as Fetched
    from blazar.application.engines.removal import Unused
    from blazar.application.engines.remove_engine import Removed
    from blazar.application.engines.update_engine import Update
    from blazar.application.engines.use_engine import UseEngine
    from blazar.application.ports.toolchain import Workshop
    from blazar.application.ports.upstream import Upstream
    from blazar.composition.local import Local
    from blazar.domain.records import Engine


class LocalEngines(Engines):
    """The engine use cases. Builds that are not installed by us are looked for first.

    They are only ever added (`prune=False`): a shell without BLAZAR_ENGINE_PATH must not take that engine from a daemon.
    """

    def __init__(self, local: "Local") -> None:
        self._local = local
        self.single = ""
        self.trouble = ""

    @property
    def builds(self) -> "ArchiveBuilds":
        from blazar.adapters.engines.builds import ArchiveBuilds

        return ArchiveBuilds(self._local.folders.engines, self._local.processes)

    @property
    def _probe(self) -> "HelpProbe":
        from blazar.adapters.engines.drivers import SCRUBBED
        from blazar.adapters.engines.manifests import ManifestStore
        from blazar.adapters.engines.probe import HelpProbe

        return HelpProbe(SCRUBBED, self._extra, ManifestStore(self._local.folders.manifests))

    @property
    def lister(self) -> "EngineDevices":
        """Asks builds which devices they see."""
        from blazar.adapters.engines.devices import EngineDevices
        from blazar.adapters.engines.drivers import SCRUBBED

        return EngineDevices(self._probe, SCRUBBED, self._extra)

    @property
    def _extra(self) -> Mapping[str, str]:
        """What configuration adds to an engine's environment."""
        try:
            return self._local.settings().loaded.config.engine_env
        except BadConfig:
            return {}  # builds can be listed and installed all the same; `config validate` and the daemon tell

    @property
    def enrol(self) -> "EnrolEngines":
        """Enters the embedded wheel and the binary of BLAZAR_ENGINE_PATH."""
        from blazar.adapters.engines.finder import SystemEngineFinder
        from blazar.application.engines.enrol_engines import EnrolEngines

        finder = SystemEngineFinder(self._local.env)
        return EnrolEngines(self._local.engine_rows, finder, _Trial(lambda: self._probe), self._local.clock)

    def list(self) -> "list[Engine]":
        from blazar.application.engines.list_engines import ListEngines

        self.trouble = str(self.enrol(prune=False) or "")
        rows = ListEngines(self._local.engine_rows)()
        self.single = self._single(rows)
        return rows

    def flaw(self, engine: "Engine") -> str:
        from blazar.adapters.engines.flaws import flaw_of

        return flaw_of(engine)

    def _single(self, rows: "Sequence[Engine]") -> str:
        """The build that serves everything, in manual mode."""
        from blazar.domain.routing import MANUAL, active_engine

        if not self._local.may_say(MANUAL):
            return ""
        try:
            manual = self._local.settings().loaded.config.engine_routing.mode == MANUAL
        except BadConfig:
            manual = False  # as `_extra`
        chosen = active_engine(rows) if manual else None
        return "" if chosen is None else chosen.tag

    @property
    def installer(self) -> "InstallEngine":
        """Enters archives and folders that are builds."""
        from blazar.adapters.engines.drivers import PROGRAMS
        from blazar.application.engines.install_engine import InstallEngine

        return InstallEngine(self._local.engine_rows, self.builds, self._probe, self._local.clock, PROGRAMS)

    @property
    def unused(self) -> "Unused":
        """Whether a running daemon, or what a dead one left, works on a build."""
        from blazar.adapters.engines.children import SubprocessChildren
        from blazar.adapters.telemetry.entropy import OsEntropy
        from blazar.application.engines.removal import Unused

        local = self._local
        # Asked for orphans only: it starts nothing here.
        children = SubprocessChildren(
            local.folders.ensure().run, local.clock, OsEntropy(), _door, {}, processes=local.processes
        )
        return Unused(children, local.served_by)

    @property
    def _use(self) -> "UseEngine":
        from blazar.application.engines.use_engine import UseEngine

        return UseEngine(self._local.engine_rows, self.builds, self._local.clock)

    def install(self, file: str, sha256: str | None, tag: str | None, kind: EngineKind) -> "Engine":
        return self.installer(file, sha256 or "", tag, kind=kind)

    def build(self, order: "Order", told: "Told") -> "Engine":
        from blazar.composition.making import builder

        return builder(self._local, self.installer)(order, told)

    def build_release(self, wish: "BuildWish", fetched: "Fetched", told: "Fetched") -> "Engine":
        from blazar.composition.making import release_builder

        build, close = release_builder(self._local, self.installer)
        try:
            return build(wish, fetched, told)
        finally:
            close()

    def release_in(self, name: str) -> str | None:
        from blazar.adapters.engines.tags import tag_in

        return tag_in(name)

    def gate(self, *, wanted: bool, say: Callable[[str], None] = lambda _: None) -> "GateRegression":
        """Holds a newer build against the active one; `wanted` is False with --no-gate."""
        from blazar.composition.making import gate

        return gate(self._local, self._extra, self._serving, wanted=wanted, say=say)

    def _serving(self) -> Sequence[str]:
        """Models that a daemon has loaded, whatever build they run on."""
        return [model for row in self._local.engine_rows.list_engines() for model in self._local.served_by(row.tag)]

    def fetch(
        self, kind: EngineKind, tag: str | None, asset: str | None, sha256: str | None, told: "Fetched"
    ) -> "Installed":
        from blazar.composition.releasing import release_installer

        install, close = release_installer(self._local, self.installer)
        try:
            return install(kind, tag, asset, sha256, told)
        finally:
            close()

    def update(self, kind: EngineKind, told: "Fetched", say: Callable[[str], None], *, gate: bool) -> "Update":
        from blazar.application.engines.update_engine import UpdateEngine
        from blazar.composition.releasing import release_installer

        judge = self.gate(wanted=gate, say=say)
        install, close = release_installer(self._local, self.installer)
        try:
            return UpdateEngine(install, self._use, judge)(kind, told)
        finally:
            close()

    def check(self) -> "tuple[Currency, ...]":
        from blazar.composition.releasing import currency_of

        self.trouble = str(self.enrol(prune=False) or "")
        return currency_of(self._local)()

    def prune(self, fresh: "Engine") -> Pruning:
        from blazar.application.engines.prune_engines import PruneEngines

        try:
            config = self._local.settings().loaded.config
        except BadConfig:
            return Pruning()  # how many are to stay is not known: none goes
        prune = PruneEngines(self._local.engine_rows, self.builds, self.unused, config.keep_tags, config.engines_named)
        return Pruning(*prune(fresh.kind, fresh.tag), config.keep_tags)

    def use(self, tag: str) -> "Engine":
        from blazar.application.engines.enrol_engines import LOCAL

        if (trouble := self.enrol(prune=False)) and tag == LOCAL:
            raise trouble
        return self._use(tag)

    def rollback(self, kind: EngineKind) -> "Engine":
        from blazar.application.engines.rollback_engine import RollbackEngine

        return RollbackEngine(self._local.engine_rows, self.builds, self._use)(kind)

    def pin(self, tag: str, *, pinned: bool) -> "Engine":
        from blazar.application.engines.pin_engine import PinEngine

        return PinEngine(self._local.engine_rows)(tag, pinned=pinned)

    @property
    def lanes(self) -> "Lanes":
        from blazar.composition.local_lanes import LocalLanes

        return LocalLanes(self._local, self)

    def remove(self, tag: str) -> "Removed":
        from blazar.application.engines.remove_engine import RemoveEngine

        try:
            named = self._local.settings().loaded.config.engines_named
        except BadConfig:
            named = {}  # a file that cannot be used names nothing; whoever says so may delete
        models = self._local.catalog.list_models
        drop = self.workshop.drop
        return RemoveEngine(self._local.engine_rows, self.builds, *self.unused, named, models, drop)(tag)

    @property
    def workshop(self) -> "Workshop":
        """Where builds are made from source."""
        from blazar.adapters.engines.workshop import DiskWorkshop
        from blazar.adapters.hardware.disk import SystemDisk

        return DiskWorkshop(self._local.folders.engines, SystemDisk())


class _Trial(EngineTrial):
    """A probe that is made when it is asked: the flags of every kind cost more to import than a listing without it."""

    def __init__(self, made: "Callable[[], EngineTrial]") -> None:
        self._made = made

    def try_out(self, words: tuple[str, ...], kind: EngineKind = EngineKind.LLAMACPP) -> str:
        return self._made().try_out(words, kind)


def _door(at: int | str, key: str, model: str) -> "Upstream":
    from blazar.adapters.engines.pool import ChildPool

    uds = at if isinstance(at, str) else None
    return ChildPool("127.0.0.1", 0 if isinstance(at, str) else at, key, model, uds)
