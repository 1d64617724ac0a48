"""Bring an engine that is a Python package up to date: the new version beside the old one, and active once it runs."""

from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.engines.install_venv import InstallVenv
from blazar.application.ports.venvs import Say
from blazar.domain import teaching
from blazar.domain.errors import Conflict, NotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from blazar.domain.venv_lanes import CPU, backend_for, order_for, wanted_package


class VenvUpdate(NamedTuple):
    """What serves now, and what did before; the same where there was nothing newer."""

    now: Engine
    before: Engine

    @property
    def changed(self) -> bool:
        return self.now.tag != self.before.tag


@dataclass(frozen=True, slots=True)
class UpdateVenv:
    """A pinned one is left alone. Nothing is measured: there is no model that both versions could be measured with."""

    install: InstallVenv

    def __call__(self, kind: EngineKind, say: Say) -> VenvUpdate:
        """Raises `NotFound` without such a build, `Conflict` for a pinned one, and what installing raises."""
        before = self._active(kind)
        if before.pinned:
            raise Conflict(teaching.engine_pinned_stays(before.tag))
        install, engines = self.install, self.install.engines
        # Made for the processor, it stays on it: a graphics card that came later is a wish of its own.
        backend = backend_for(kind, install.site(), CPU if before.tag.endswith(f"-{CPU}") else None)
        order = order_for(kind, install.venvs.newest(wanted_package(kind, install.channel)), backend)
        if order.tag == before.tag and install.builds.holds(before):
            if flaw := install.builds.flaw(before):
                raise Conflict(teaching.engine_broken(before.tag, kind, flaw))
            return VenvUpdate(before, before)
        there = engines.find_engine(order.tag)
        if there is None or not install.builds.holds(there):
            there = install.install(order, say)
        engines.set_active(kind, order.tag, install.clock.wall())
        return VenvUpdate(engines.find_engine(order.tag) or there, before)

    def _active(self, kind: EngineKind) -> Engine:
        rows = self.install.engines.list_engines()
        mine = [row for row in rows if row.kind is kind and row.provenance is Provenance.VENV]
        if not mine:
            raise NotFound(teaching.kind_not_installed(kind, [row.tag for row in rows]))
        return next((row for row in mine if row.active), mine[0])
