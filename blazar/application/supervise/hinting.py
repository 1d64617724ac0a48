"""Every minute each child is asked what it counts, all at the same time: one that hangs holds nobody up. Decides nothing by it.

Who goes first of equals does (`domain/instance/eviction`).

ODD: a child is asked only where it was used since the last time: others have nothing new to tell.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from blazar.application.ports.clock import Clock
from blazar.application.ports.drivers import Driver
from blazar.application.ports.upstream import ChildCall
from blazar.application.supervise.tenure import Tenure
from blazar.domain.child_metrics import Metrics, read_metrics
from blazar.domain.errors import BlazarError
from blazar.domain.kinds import EngineKind

EVERY_SECS: Final = 60.0
"""Setup: one scrape a minute."""
STALE_SECS: Final = 3 * EVERY_SECS
"""A child that was used for longer than that since it was asked has hints that tell nothing."""
PATIENCE_SECS: Final = 5.0
"""An engine answers from memory in a millisecond, and after a long step in a second or two."""
OK: Final = 200


class Resident(NamedTuple):
    """A child that serves, and since when it is idle; None: it is not."""

    tenure: Tenure
    idle_since: float | None


@dataclass(frozen=True, slots=True)
class WatchHints:
    """`residents()` are the children that serve now."""

    residents: Callable[[], Sequence[Resident]]
    drivers: Mapping[EngineKind, Driver]
    clock: Clock

    async def run(self) -> None:
        """For as long as the daemon lives."""
        while True:
            await self.clock.sleep(EVERY_SECS)
            await self.look()

    async def look(self) -> None:
        """Once, at all children that serve."""
        asked = []
        for tenure, idle_since in self.residents():
            launch, since = tenure.launch, tenure.hinted_at
            metrics = self.drivers[launch.engine.kind].metrics if launch is not None else Metrics()
            if metrics.path and (idle_since is None or since is None or idle_since > since):
                asked.append(self._ask(tenure, metrics))
        await asyncio.gather(*asked)

    async def _ask(self, tenure: Tenure, metrics: Metrics) -> None:
        if tenure.child is None:
            return
        tenure.hinted_at = self.clock.now()
        try:
            answer = await tenure.child.upstream.fetch(ChildCall(b"GET", metrics.path), PATIENCE_SECS)
        except BlazarError:
            return  # it hangs or has just gone: the next minute tells
        if answer.status == OK:
            tenure.hints = tenure.hints.after(read_metrics(answer.body, metrics))
