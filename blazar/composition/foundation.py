"""What must stand before the socket answers its first request: time, randomness, processes, logs, counters, doors.

Nothing here may import Quart, SQLModel or httpx: the daemon listens before those are there.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import blazar
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.adapters.http.entrance import Entrance
from blazar.adapters.http.hosts import machine_names
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.layers.order import Doorway
from blazar.adapters.net.throttle import Throttle
from blazar.adapters.telemetry.audit import AuditLog
from blazar.adapters.telemetry.chronicle import Chronicle
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.adapters.telemetry.entropy import OsEntropy
from blazar.adapters.telemetry.events import LogEvents
from blazar.adapters.telemetry.fanout import FanoutMeter
from blazar.adapters.telemetry.feed import Feed
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.adapters.telemetry.metrics import PrometheusMeter
from blazar.adapters.telemetry.observations import Observations
from blazar.adapters.telemetry.recent import RecentRequests
from blazar.adapters.telemetry.refusals import KeyRefusals
from blazar.application.access.accounts import Accounts
from blazar.application.config.live import LiveConfig
from blazar.application.config.log_filter import parse_filter
from blazar.composition.exporting import OtlpSwitch, collector_of
from blazar.domain.keys import Key

if TYPE_CHECKING:
    from blazar.adapters.files.folders import Folders
    from blazar.adapters.http.server.certificates import Certificates
    from blazar.application.config.layers import Loaded
    from blazar.application.config.model import Config
    from blazar.application.config.tables import ApiKey
    from blazar.composition.lifespan import Lifecycle


def key_of(key: "ApiKey") -> Key:
    """A `[[keys]]` entry as the doors know it."""
    return Key(
        key.name,
        key.key,
        tuple(key.models),
        rpm=key.rpm,
        tpm=key.tpm,
        daily_tokens=key.daily_tokens,
        max_concurrent=key.max_concurrent,
        weight=key.weight,
    )


def admitted(old: "Config", config: "Config") -> Callable[[str], bool]:
    """Whether a stream that this key let in goes on: only where the same key opens the same doors as before, and none is needed only while none is."""
    before, now = ({(key.name, key.key, tuple(key.models)) for key in each.keys} for each in (old, config))
    stay = {name for name, _, _ in before & now}
    return lambda name: name in stay if name else not config.keys


class Foundation:
    """The first parts. The log is open already: what goes wrong from here on must be in it."""

    def __init__(
        self, loaded: "Loaded", folders: "Folders", log: DaemonLog, url: str, tls: "Certificates | None" = None
    ) -> None:
        self.live = LiveConfig(loaded)
        self.folders = folders
        self.log = log
        self.url, self.tls = url, tls
        self.clock = MonotonicClock()
        self.throttle = Throttle(lambda: self.config.download_speed_limit_mb, self.clock.now)
        self.entropy = OsEntropy()
        self.processes = SystemProcesses()
        self.chronicle = Chronicle(LogEvents(), self.clock)
        self.recent = RecentRequests(self.clock)
        self.events = Feed(self.chronicle, self.clock)
        self.refusals = KeyRefusals(self.events, self.clock)
        self.series = PrometheusMeter(self.clock, blazar.__version__)
        self.audit = AuditSwitch(self)
        self.otlp = OtlpSwitch(self)
        self.accounts = Accounts()
        self._keys: tuple[tuple[ApiKey, ...], tuple[Key, ...]] = ((), ())
        self.entrance = Entrance()

    @property
    def config(self) -> "Config":
        """As it is now."""
        return self.live.config

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that are configured now. Made once for each configuration: there may be ten thousand."""
        configured, keys = self._keys
        if configured is not self.config.keys:
            configured = self.config.keys
            keys = tuple(map(key_of, configured))
            self._keys = (configured, keys)
        return keys

    @cached_property
    def meter(self) -> FanoutMeter:
        """Counters first, then the access log, what is remembered, and the audit log."""
        self.series.watch_total(
            "blazar_log_dropped_total", "Log lines that could not be kept.", lambda: self.log.dropped
        )
        observed = Observations(self.events, self.clock)
        listeners = self.log.on_served, self.recent.on_served, observed.on_served
        meter = FanoutMeter(self.clock, self.series, *listeners)
        self.recent.on_read = meter.settle
        return meter

    @cached_property
    def doorway(self) -> Doorway:
        """The entrance behind its layers."""
        return Doorway(self.entrance, self.doors())

    def doors(self) -> Doors:
        """What the layers know."""
        return Doors(
            meter=self.meter,
            clock=self.clock,
            entropy=self.entropy,
            machine_names=machine_names,
            keys=self.keys,
            accounts=self.accounts,
            cors_origins=tuple(self.config.cors_origins),
            allowed_hosts=tuple(self.config.allowed_hosts),
            refused=self.refusals,
        )

    def parts(self) -> list["Lifecycle"]:
        """What has a life of its own, in the order in which it starts."""
        return [self.audit, self.otlp]

    async def apply(self, old: "Config", config: "Config") -> None:
        """A reload, for what stands here. Layers are only made anew where they would be others: they remember what they saw."""
        if config.log_level != old.log_level:
            self.log.filter_by(parse_filter(config.log_level or ""))
        if config.audit_log != old.audit_log:
            await self.audit.turn(on=config.audit_log)
        if collector_of(config) != collector_of(old):
            await self.otlp.turn(config)
        if any(getattr(config, key) != getattr(old, key) for key in ("keys", "cors_origins", "allowed_hosts")):
            self.doorway.exchange(self.doors())
        if config.keys != old.keys:
            self.events.part(admitted(old, config))


class AuditSwitch:
    """The audit log while it is wanted. Lines that were dropped stay counted when it is off."""

    def __init__(self, foundation: Foundation) -> None:
        self._foundation = foundation
        self._log: AuditLog | None = None
        self._dropped = 0
        self._counted = False

    async def start(self) -> None:
        """As configured."""
        await self.turn(on=self._foundation.config.audit_log)

    async def turn(self, *, on: bool) -> None:
        """Begin or cease to write; what was handed over before is written."""
        about, log = self._foundation, self._log
        if on and log is None:
            self._log = log = AuditLog(about.folders.log / "audit.jsonl", about.clock)
            if not self._counted:
                self._counted = True
                about.series.watch_total(
                    "blazar_audit_dropped_total", "Audit lines that could not be kept.", lambda: self.dropped
                )
            await log.start()
            about.meter.add(log.on_served)
        elif not on and log is not None:
            about.meter.remove(log.on_served)
            self._log = None
            await log.aclose()
            self._dropped += log.dropped

    @property
    def dropped(self) -> int:
        """Lines that could not be kept, since the daemon started."""
        return self._dropped + (0 if self._log is None else self._log.dropped)

    async def aclose(self) -> None:
        self._foundation.meter.settle()  # the access log, too, gets what ended last
        await self.turn(on=False)
