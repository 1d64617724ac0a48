"""What must stand before the socket answers its first request: time, randomness, processes, logs, counters, doors.

Nothing here may import Quart, SQLModel or httpx: the daemon listens before those are there.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import blazar
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.adapters.http.hosts import machine_names
from blazar.adapters.http.layers.doors import Doors, Key
from blazar.adapters.telemetry.audit import AuditLog
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.adapters.telemetry.entropy import OsEntropy
from blazar.adapters.telemetry.events import LogEvents
from blazar.adapters.telemetry.fanout import FanoutMeter
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.adapters.telemetry.metrics import PrometheusMeter

if TYPE_CHECKING:
    from collections.abc import Callable

    from blazar.adapters.files.folders import Folders
    from blazar.application.config.model import Config
    from blazar.application.ports.telemetry import Meter, Served
    from blazar.composition.lifespan import Lifecycle


class Foundation:
    """The first parts. The log is open already: what goes wrong from here on must be in it."""

    def __init__(self, config: "Config", folders: "Folders", log: DaemonLog, url: str) -> None:
        self.config = config
        self.folders = folders
        self.log = log
        self.url = url
        self.clock = MonotonicClock()
        self.entropy = OsEntropy()
        self.processes = SystemProcesses()
        self.events = LogEvents()
        self.series = PrometheusMeter(self.clock, blazar.__version__)
        self.audit = AuditLog(folders.log / "audit.jsonl", self.clock) if config.audit_log else None

    @cached_property
    def meter(self) -> "Meter":
        """Counters first, then the access log and the audit log."""
        listeners: list[Callable[[Served], None]] = [self.log.on_served]
        self.series.watch_total(
            "blazar_log_dropped_total", "Log lines that could not be kept.", lambda: self.log.dropped
        )
        if self.audit is not None:
            listeners.append(self.audit.on_served)
            self.series.watch_total("blazar_audit_dropped_total", "Audit lines that could not be kept.", self._dropped)
        return FanoutMeter(self.series, *listeners)

    def _dropped(self) -> int:
        return 0 if self.audit is None else self.audit.dropped

    def doors(self) -> Doors:
        """What the layers know."""
        return Doors(
            meter=self.meter,
            clock=self.clock,
            entropy=self.entropy,
            machine_names=machine_names,
            keys=tuple(Key(key.name, key.key, tuple(key.models)) for key in self.config.keys),
            cors_origins=tuple(self.config.cors_origins),
            allowed_hosts=tuple(self.config.allowed_hosts),
        )

    def parts(self) -> list["Lifecycle"]:
        """What has a life of its own, in the order in which it starts."""
        return [] if self.audit is None else [self.audit]
