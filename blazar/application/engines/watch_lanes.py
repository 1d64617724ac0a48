"""The look after forks while the daemon runs: the registry's list once a day, what releases know, and whose time is over.

Decides when and tells what happened. Asks nobody who was not configured, and nothing within the first minute.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from blazar.application.engines.mine_architectures import MineArchitectures
from blazar.application.engines.retire_lanes import RetireLanes
from blazar.application.ports.capability import CapabilityRegistry
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Events
from blazar.domain import teaching
from blazar.domain.errors import BlazarError
from blazar.domain.kinds import Provenance

FIRST_SECS = 60.0
"""A daemon that starts has models to load; nothing here is urgent."""
EVERY_SECS = 3600.0
LIST_SECS = 86400.0
"""How old a list may be: lanes are made by people."""

OffLoop = Callable[[Callable[[], Any]], Awaitable[Any]]


@dataclass(slots=True)
class WatchLanes:
    """`days` are `fork_retire_days` as they are now."""

    registry: CapabilityRegistry
    mine: MineArchitectures
    retire: RetireLanes
    clock: Clock
    events: Events
    days: Callable[[], int]
    off_loop: OffLoop = asyncio.to_thread
    _fetched: float | None = field(default=None, init=False)

    async def run(self) -> None:
        """Until it is cancelled."""
        await self.clock.sleep(FIRST_SECS)
        while True:
            await self.look()
            await self.clock.sleep(EVERY_SECS)

    async def look(self) -> None:
        """Once. What goes wrong is told, and the next look tries again."""
        await self._fetch()
        try:
            if await self.off_loop(self._concerned):
                await self.off_loop(self.mine)
            retired = await self.off_loop(partial(self.retire, self.days()))
        except BlazarError as trouble:
            self.events.emit("fork_warning", why=str(trouble))
            return
        for tag in retired.stamped:
            self.events.emit("fork_superseded", engine=tag, why=teaching.fork_superseded(tag))
        for tag in retired.removed:
            self.events.emit("fork_retired", engine=tag, why=teaching.fork_retired(tag))
        for why in retired.postponed:
            self.events.emit("fork_postponed", why=teaching.fork_retirement_postponed(why))

    async def _fetch(self) -> None:
        if not self.registry.configured:
            self._fetched = None  # another address may be configured the next time
            return
        now = self.clock.now()
        if self._fetched is not None and now - self._fetched < LIST_SECS:
            return
        try:
            found = await self.off_loop(self.registry.fetch)
        except BlazarError as trouble:
            self.events.emit("registry_warning", why=str(trouble))
            return
        self._fetched = now
        for left_out in found.troubles:
            self.events.emit("registry_warning", why=left_out)

    def _concerned(self) -> bool:
        """Without a fork, and without a registry to get one from, nobody needs to know what releases serve."""
        rows = self.mine.engines.list_engines()
        return self.registry.configured or any(row.provenance is Provenance.FORK for row in rows)
