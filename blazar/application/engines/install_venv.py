"""Install an engine that is a Python package: an environment of its own with pinned packages, tried, and only then visible."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.application.ports.venvs import Made, Say, Venvs
from blazar.domain import teaching
from blazar.domain.errors import Conflict
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.venv_lanes import Order, Site, backend_for, companions, order_for, version_in, wanted_package


@dataclass(frozen=True, slots=True)
class InstallVenv:
    """What this machine cannot run is refused before the package index is asked. `site` is this machine."""

    engines: EngineCatalog
    builds: EngineBuilds
    venvs: Venvs
    clock: Clock
    site: Callable[[], Site]
    channel: str

    def __call__(self, kind: EngineKind, say: Say, tag: str | None = None, backend: str | None = None) -> Engine:
        """The newest version of the channel, or the one that `tag` names.

        Raises `Malformed`, `Conflict` or `RegistryTrouble`; nothing is left behind then.
        """
        asked, named = version_in(kind, tag) if tag is not None else ("", None)
        computes = backend_for(kind, self.site(), backend or named)
        order = order_for(kind, asked or self.venvs.newest(wanted_package(kind, self.channel)), computes)
        return self.install(order, say)

    def install(self, order: Order, say: Say) -> Engine:
        """That very environment."""
        self._check_free(order.tag)
        self.builds.sweep([row.tag for row in self.engines.list_engines()])
        kind = order.lane.kind
        made = self.venvs.make(order.tag, order.requirements, lambda pins: companions(kind, pins), say)
        with ExitStack() as undo:
            undo.callback(self.venvs.drop, made)  # Ctrl-C while it is tried included
            self.venvs.try_out(made, kind, order.lane.serves, order.lane.knows)
            return self._enter(made, order)

    def _enter(self, made: Made, order: Order) -> Engine:
        with ExitStack() as undo:
            staged = self.builds.adopt(made.folder, order.tag, made.python)
            undo.callback(self.builds.unstage, staged)
            self._check_free(order.tag)
            server = self.builds.publish(staged)
            undo.callback(self._drop, order.tag)
            row = Engine(
                tag=order.tag,
                kind=order.lane.kind,
                provenance=Provenance.VENV,
                server_path=server,
                version=order.version,
                active=False,
                installed_at=self.clock.wall(),
                command=(server, *order.lane.serves),
                release=order.version,
                source=" ".join(made.pins),
            )
            self.engines.add_engine(row)
            undo.pop_all()
        self.builds.settle(order.tag)
        return self.engines.find_engine(order.tag) or row

    def _check_free(self, tag: str) -> None:
        """A row whose environment is gone may be filled again."""
        row = self.engines.find_engine(tag)
        if row is not None and self.builds.holds(row):
            raise Conflict(teaching.engine_installed_already(tag))

    def _drop(self, tag: str) -> None:
        if self.builds.set_aside(tag):
            self.builds.discard(tag)
