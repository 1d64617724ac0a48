"""What a collector gets, while an address is configured. Another one takes effect with the next reload; counters go on.

Also where `pii_scrub` is read: both are about who may see what is remembered.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import blazar
from blazar.adapters.telemetry.otlp import OtlpExport
from blazar.domain.scrub import scrub

if TYPE_CHECKING:
    from blazar.adapters.telemetry.otlp_encoding import Sender
    from blazar.application.config.live import LiveConfig
    from blazar.application.config.model import Config
    from blazar.composition.foundation import Foundation


def scrubbing(live: "LiveConfig") -> Callable[[str], str]:
    """How a text is shown that may hold what a person would not have shown."""
    return scrub if live.config.pii_scrub else str


class Collector(NamedTuple):
    """Where traces and metrics go, and what this service calls itself there."""

    endpoint: str
    service: str


def collector_of(config: "Config") -> Collector | None:
    """None where nothing is exported."""
    return Collector(config.otlp_endpoint, config.otlp_service) if config.otlp_endpoint else None


class OtlpSwitch:
    """The export while it is wanted. What was lost stays counted when it is off."""

    def __init__(self, foundation: "Foundation") -> None:
        self._foundation = foundation
        self._export: OtlpExport | None = None
        self._dropped = self._failures = 0
        self._counted = False
        self._since = foundation.clock.wall()

    async def start(self) -> None:
        """As configured."""
        await self.turn(self._foundation.config)

    async def turn(self, config: "Config") -> None:
        """Send where that says; what was gathered for another place is sent there first."""
        await self.aclose()
        if (collector := collector_of(config)) is None:
            return
        about, since = self._foundation, self._since
        if not self._counted:
            self._counted = True
            watch = about.series.watch_total
            watch("blazar_otlp_dropped_total", "Traces that did not reach the collector.", lambda: self.dropped)
            watch("blazar_otlp_failures_total", "Messages that the collector did not take.", lambda: self.failures)

        def sender() -> "Sender":
            from blazar.adapters.telemetry.otlp_encoding import Sender

            return Sender(collector.service, blazar.__version__, since)

        self._export = export = OtlpExport(collector.endpoint, sender, about.series.families, about.clock)
        await export.start()
        about.meter.add(export.on_served)

    @property
    def dropped(self) -> int:
        """Traces that did not reach a collector, since the daemon started."""
        return self._dropped + (0 if self._export is None else self._export.dropped)

    @property
    def failures(self) -> int:
        """Messages that a collector did not take, since the daemon started."""
        return self._failures + (0 if self._export is None else self._export.failures)

    async def aclose(self) -> None:
        """Send what is there, within a moment."""
        export, self._export = self._export, None
        if export is not None:
            self._foundation.meter.remove(export.on_served)
            await export.aclose()
            self._dropped += export.dropped
            self._failures += export.failures
