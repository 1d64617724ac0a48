"""Room for one more child under `max_loaded_models`. Holds no lock while it waits: whoever is stuck blocks nobody (case G16)."""

import asyncio
from collections.abc import Callable, Iterable

from blazar.application.ports.clock import Clock
from blazar.application.supervise.leasing import DEFAULT_WAIT
from blazar.application.supervise.waiting import settle, within
from blazar.domain import teaching
from blazar.domain.errors import Busy
from blazar.domain.instance.eviction import Occupant, evictions_for, excess


class Capacity:
    """Lets claims in one by one, as places become free; the evicted child is gone before its successor starts."""

    def __init__(
        self, clock: Clock, cap: int, occupants: Callable[[], Iterable[Occupant]], stop_idle: Callable[[str, str], None]
    ) -> None:
        self.cap = cap
        self._lowered = False  # there may be more than the cap allows: only then is anybody counted without a claim
        self._clock = clock
        self._occupants = occupants
        self._stop_idle = stop_idle
        self._claims: list[asyncio.Future[None]] = []

    async def claim(self, key: str) -> None:
        """Return once there is room; the caller occupies it before it awaits anything. Raises `Busy` when all stay busy."""
        until = self._clock.now() + DEFAULT_WAIT
        while not (room := evictions_for(key, self._occupants(), self.cap)).free:
            # The victim's own task looks again: one that became busy meanwhile ignores this, and we look again too.
            for victim in room.evict:
                self._stop_idle(victim, "capacity")
            left = until - self._clock.now()
            if room.refused and left <= 0:
                raise Busy(teaching.all_models_busy(key, self.cap), 1.0)
            await self.next_change(left if left > 0 else DEFAULT_WAIT)

    def bound(self, cap: int) -> None:
        """The configuration names another number. Who is beyond it goes with `changed`."""
        self.cap, self._lowered = cap, True
        self._look_again()

    def changed(self) -> None:
        """A child became idle, or went away."""
        if self._lowered:
            self._lowered, beyond = excess(self._occupants(), self.cap)
            for key in beyond:
                self._stop_idle(key, "reload")
        self._look_again()

    def _look_again(self) -> None:
        if self._claims:
            claims, self._claims = self._claims, []
            for claim in claims:
                settle(claim)

    async def next_change(self, seconds: float) -> None:
        """Until then, but not for longer than that."""
        claim: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._claims.append(claim)
        try:
            await within(self._clock, seconds, claim)
        finally:
            if claim in self._claims:
                self._claims.remove(claim)
