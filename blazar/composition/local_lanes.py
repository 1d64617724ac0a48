"""Python environments and forks in a data folder, as the engine verbs install them. Loaded by the verbs that do so."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from blazar.adapters.cli.root import Lanes
from blazar.adapters.engines.venvs import PipVenvs
from blazar.adapters.hardware.census import SystemCensus
from blazar.adapters.net.sources import HttpSources
from blazar.application.engines.install_lane import InstallLane, ListLanes, Offers, Wish
from blazar.application.engines.install_venv import InstallVenv
from blazar.application.engines.mine_architectures import MineArchitectures
from blazar.application.engines.update_venv import UpdateVenv, VenvUpdate
from blazar.composition.forks import architecture_source, open_capabilities, repositories_base, site_of
from blazar.composition.making import builder
from blazar.composition.releasing import downloads_of
from blazar.domain.capability import checked_architectures, parse_fork

if TYPE_CHECKING:
    from blazar.adapters.net.capabilities import HttpCapabilityRegistry
    from blazar.application.config.model import Config
    from blazar.application.engines.install_release import Told
    from blazar.application.ports.venvs import Say
    from blazar.composition.local import Local
    from blazar.composition.local_engines import LocalEngines
    from blazar.domain.kinds import EngineKind
    from blazar.domain.records import Engine
    from blazar.domain.venv_lanes import Site


class LocalLanes(Lanes):
    """One data folder's. A configuration that cannot be used is said at once: it decides what is asked."""

    def __init__(self, local: "Local", engines: "LocalEngines") -> None:
        self._local, self._engines = local, engines

    @property
    def _config(self) -> "Config":
        return self._local.settings().loaded.config

    @cached_property
    def site(self) -> "Site":
        """This machine; asked once."""
        return site_of(SystemCensus().read())

    @property
    def _registry(self) -> "HttpCapabilityRegistry":
        config = self._config
        url = config.capability_registry_url
        return open_capabilities(lambda: url, self._local.folders.ensure().data)

    @property
    def _venv(self) -> InstallVenv:
        local, config = self._local, self._config
        venvs = PipVenvs(local.folders.ensure().engines, extra=config.engine_env)
        return InstallVenv(
            local.engine_rows, self._engines.builds, venvs, local.clock, lambda: self.site, config.update_channel
        )

    def _forks(self) -> InstallLane:
        local, config = self._local, self._config
        sources = HttpSources(
            lambda: downloads_of(config, local.env, local.throttle),
            local.folders.ensure().downloads,
            repositories_base(local.env),
        )
        install = self._engines.installer
        return InstallLane(
            local.engine_rows, self._registry, sources, install, builder(local, install), lambda: self.site
        )

    def available(self) -> Offers:
        return ListLanes(self._local.engine_rows, self._registry, lambda: self.site)()

    def lane(self, name: str, wish: Wish, told: "Told") -> "Engine":
        engine = self._forks().lane(name, told, wish.backend)
        self._mine()
        return engine

    def fork(self, text: str, architectures: Sequence[str], wish: Wish, told: "Told") -> "Engine":
        fork, known = parse_fork(text), checked_architectures(architectures)
        engine = self._forks().fork(fork, known, wish, told)
        self._mine()
        return engine

    def _mine(self) -> None:
        """A fork is there from now on: routing has to know what official builds serve."""
        MineArchitectures(self._local.engine_rows, architecture_source(self._local.env))()

    def venv(self, kind: "EngineKind", tag: str | None, backend: str | None, say: "Say") -> "Engine":
        return self._venv(kind, say, tag, backend)

    def update_venv(self, kind: "EngineKind", say: "Say") -> VenvUpdate:
        return UpdateVenv(self._venv)(kind, say)
