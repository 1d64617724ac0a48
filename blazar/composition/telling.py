"""What the daemon tells of itself, put together: stories of requests, and what its children count. Decides nothing."""

from collections.abc import Mapping
from functools import partial

from quart import Blueprint

from blazar.adapters.engines.spec import EngineSpec
from blazar.adapters.http.manage.why import why_blueprint
from blazar.application.ops.tell_why import TellWhy
from blazar.application.ports.clock import Clock
from blazar.application.supervise.hinting import WatchHints
from blazar.application.supervise.supervisor import Supervisor
from blazar.composition.exporting import scrubbing
from blazar.composition.foundation import Foundation
from blazar.composition.tasks import BackgroundTask
from blazar.domain.kinds import EngineKind


def why_pages(foundation: Foundation) -> Blueprint:
    """GET /api/why."""
    scrub = partial(scrubbing, foundation.live)
    return why_blueprint(TellWhy(foundation.recent, foundation.chronicle, scrub))


def hint_task(supervisor: Supervisor, specs: Mapping[EngineKind, EngineSpec], clock: Clock) -> BackgroundTask:
    """The scrape of a minute."""
    return BackgroundTask("hints", WatchHints(supervisor.residents, specs, clock).run)
