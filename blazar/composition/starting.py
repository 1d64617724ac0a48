"""What happens once between the parts' construction and the first request: engines are enrolled, wanted models loaded.

Blocking work (running an engine's --version or --help, sweeping folders) goes to a thread: /health is answered meanwhile.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from blazar.adapters.telemetry.metrics import PrometheusMeter
from blazar.application.engines.enrol_engines import EnrolEngines
from blazar.application.ports.drivers import FlagProbe
from blazar.application.ports.engines import EngineBuilds, EngineCatalog
from blazar.application.supervise.views import Supervising
from blazar.domain.errors import BlazarError
from blazar.domain.records import Engine

logger = logging.getLogger("blazar.start")


@dataclass(frozen=True, slots=True)
class EnrolAtStart:
    """Make the engine rows true, and ask active builds for their flags before the first spawn needs them.

    Nobody waits for the flags: a build may take as long over its help as `HelpProbe` lets it.
    """

    enrol: EnrolEngines
    builds: EngineBuilds
    engines: EngineCatalog
    probe: FlagProbe

    async def start(self) -> None:
        """Raises `Refusal` for an engine that the user named and that cannot be used."""
        active = await asyncio.to_thread(self._work)
        # Not a thread of the loop's: that would wait for it when it stops.
        threading.Thread(target=self._listen, args=(active,), name="help", daemon=True).start()

    def _work(self) -> list[Engine]:
        self.engines.heal_paths()
        self.builds.sweep([engine.tag for engine in self.engines.list_engines()])
        if trouble := self.enrol():
            raise trouble
        return [engine for engine in self.engines.list_engines() if engine.active]

    def _listen(self, engines: Sequence[Engine]) -> None:
        for engine in engines:
            self.probe.manifest(engine)

    async def aclose(self) -> None:
        """Nothing is left running."""


@dataclass(frozen=True, slots=True)
class WatchChildren:
    """Let /metrics look at the live children at scrape time."""

    series: PrometheusMeter
    supervising: Supervising

    async def start(self) -> None:
        self.series.watch_children(self.supervising.views)

    async def aclose(self) -> None:
        self.series.watch_children(tuple)


async def preload_models(supervising: Supervising, models: Sequence[str]) -> None:
    """Load the wanted models one after the other; one that cannot be loaded is a warning, not the end of the others."""
    for model in models:
        try:
            await supervising.load(model)
        except BlazarError as error:
            logger.warning("preload: %s", error)
