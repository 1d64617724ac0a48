"""What an earlier daemon left running is stopped before anything new starts. Runs only after both locks are held (D2)."""

import asyncio
from dataclasses import dataclass

from blazar.application.ports.children import Children, Orphan
from blazar.application.ports.telemetry import Events


@dataclass(frozen=True, slots=True)
class Reaper:
    """Ends orphans at boot, all at the same time: each may need its full grace."""

    children: Children
    events: Events

    async def start(self) -> None:
        await self.reap()

    async def reap(self) -> list[Orphan]:
        """Stop every orphan; which ones there were."""
        orphans = self.children.orphans()
        for orphan in orphans:
            self.events.emit("orphan", model=orphan.key, pid=orphan.pid, engine=orphan.tag)
        await asyncio.gather(*(self.children.reap(orphan) for orphan in orphans))
        return orphans

    async def aclose(self) -> None:
        """Nothing to give back."""
