"""The daemon's look for newer engine builds: when it is taken, and who is told. Downloads and installs nothing (contract)."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.files.lookups import kept_in
from blazar.adapters.http.aside import Aside
from blazar.application.config.live import LiveConfig
from blazar.application.engines.check_currency import CheckCurrency, Currency
from blazar.application.ops.channel_rows import update_rows
from blazar.application.ops.diagnose import Row
from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.hardware import HardwareCensus
from blazar.application.ports.telemetry import Events
from blazar.composition.tasks import guarded
from blazar.domain import teaching

if TYPE_CHECKING:
    from blazar.composition.releasing import Opened

logger = logging.getLogger("blazar.engines")

FIRST_LOOK_SECS = 60.0
"""A daemon that was started for one answer need not ask anybody about engines. Also how often the keys are looked at."""


def live_currency(
    live: LiveConfig,
    env: Mapping[str, str],
    engines: EngineCatalog,
    hardware: HardwareCensus,
    clock: Clock,
    *,
    data: Path,
) -> CheckCurrency:
    """Each look by the configuration as it is then; what it finds is remembered in the folder `data`."""

    def open_now() -> "Opened":
        from blazar.composition.releasing import open_pick  # brings the HTTP client, which a start must not wait for

        return open_pick(live.config, env, hardware)

    return CheckCurrency(engines, open_now, clock, memory=kept_in(data))


class CurrencyTask:
    """Every `engine_check_secs`; 0: never. `rows` are the doctor's."""

    def __init__(self, check: CheckCurrency, live: LiveConfig, events: Events, clock: Clock) -> None:
        self._check, self._live, self._events, self._clock = check, live, events, clock
        self._aside = Aside(1)  # no thread of the loop's: a stop would wait for a host that says nothing
        self._told: set[tuple[str, str]] = set()

    async def run(self) -> None:
        """For as long as the daemon lives. A changed key counts from the next minute on."""
        last: float | None = None
        while True:
            every = self._live.config.engine_check_secs
            await self._clock.sleep(min(FIRST_LOOK_SECS, every or FIRST_LOOK_SECS))
            every = self._live.config.engine_check_secs
            if every and (last is None or self._clock.now() - last >= every):
                last = self._clock.now()
                await guarded("engine updates", self.look)  # one that goes wrong must not be the last one

    async def look(self) -> None:
        """One look, off the loop; each newer build is told once, what went wrong is a line of the log."""
        for row in await self._aside.run(lambda _: self._check()):
            if row.trouble:
                logger.info("%s", teaching.currency_failed(row.kind.value, row.trouble))
            elif row.available and (row.kind.value, row.newest) not in self._told:
                self._told.add((row.kind.value, row.newest))
                self._events.emit("engine_update_available", **_facts(row))

    def known(self) -> tuple[Currency, ...]:
        """What the last look found."""
        return self._check.known()

    def rows(self) -> Iterator[Row]:
        """What is known now."""
        return update_rows(self._live.config.engine_check_secs, self._check.known())


def _facts(row: Currency) -> dict[str, Any]:
    return {"engine_kind": row.kind.value, "active": row.active, "newest": row.newest, "back": row.back}
