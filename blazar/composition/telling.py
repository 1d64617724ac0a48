"""What the daemon tells of itself, put together: stories of requests, and what its children count. Decides nothing."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from quart import Blueprint

from blazar.adapters.engines.spec import EngineSpec
from blazar.adapters.http.manage.why import why_blueprint
from blazar.application.config.live import LiveConfig
from blazar.application.models.find import get_model
from blazar.application.ops.tell_why import TellWhy
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Told
from blazar.application.supervise.hinting import WatchHints
from blazar.application.supervise.supervisor import Supervisor
from blazar.composition.exporting import scrubbing
from blazar.composition.foundation import Foundation
from blazar.composition.tasks import BackgroundTask
from blazar.domain import teaching
from blazar.domain.errors import BlazarError
from blazar.domain.kinds import EngineKind
from blazar.domain.names import parse_ref
from blazar.domain.paces import Paces

REMEMBERED_SECS: Final = 1.0
MOST_NAMES: Final = 256


def why_pages(foundation: Foundation) -> Blueprint:
    """GET /api/why."""
    scrub = partial(scrubbing, foundation.live)
    return why_blueprint(TellWhy(foundation.recent, foundation.chronicle, scrub))


class MeantNames:
    """Which model of the catalog a name means, for who was refused before a place at a child told it; empty: none.

    Remembered for a moment: a flood of refusals reads no rows.
    """

    def __init__(self, catalog: ModelCatalog, clock: Clock) -> None:
        self._catalog, self._clock = catalog, clock
        self._until = 0.0
        self._known: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        now = self._clock.now()
        if now >= self._until or len(self._known) >= MOST_NAMES:
            self._until, self._known = now + REMEMBERED_SECS, {}
        meant = self._known.get(name)
        if meant is None:
            try:
                meant = get_model(self._catalog, parse_ref(name).model).name
            except BlazarError:
                meant = ""
            self._known[name] = meant
        return meant


def speaking(paces: Paces, clock: Clock) -> Callable[[str], float | None]:
    """How many tokens a second a child speaks now."""
    return lambda key: paces.read(key, clock.now())


def hint_task(supervisor: Supervisor, specs: Mapping[EngineKind, EngineSpec], clock: Clock) -> BackgroundTask:
    """The scrape of a minute."""
    return BackgroundTask("hints", WatchHints(supervisor.residents, specs, clock).run)


def standing_troubles(live: LiveConfig, clock: Clock) -> list[Told]:
    """What was told of the configuration before and holds still, for who begins to listen now."""
    found = []
    if live.refused is not None:
        found.append(Told(0, live.refused.since, "config_refused", {"problems": live.refused.problems}))
    if live.pending:
        why = teaching.config_restart_needed(live.pending)
        found.append(Told(0, clock.wall(), "restart_needed", {"keys": live.pending, "why": why}))
    return found
