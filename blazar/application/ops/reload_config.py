"""The configuration read again while the daemon runs: judged as a whole, told what changed, then applied. Opens no file itself.

What a reload gives is what a restart would give, but for the keys that only a restart can change. A file that cannot be used
changes nothing: what ran goes on, and the log, the doctor and the events say why.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from blazar.application.config.layers import Loaded
from blazar.application.config.live import LiveConfig, Refused, changed_keys, keeping
from blazar.application.config.model import Config
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Events
from blazar.domain import teaching
from blazar.domain.errors import BadConfig

Blocking = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs what may block where it does not hold up the loop: the file may lie on a network."""


@dataclass(slots=True)
class ReloadConfig:
    """`read` raises `BadConfig`; `apply(old, new)` tells every part that keeps something of the configuration."""

    live: LiveConfig
    read: Callable[[], Loaded]
    apply: Callable[[Config, Config], Awaitable[None]]
    events: Events
    clock: Clock
    blocking: Blocking = asyncio.to_thread
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def __call__(self, *, asked: bool = False) -> None:
        """One at a time (case G7). `asked`: somebody waits for news, also where nothing changed."""
        async with self._turn:
            try:
                wanted: Loaded = await self.blocking(self.read)
            except BadConfig as bad:
                self._refuse(bad.problems, asked=asked)
                return
            if self.live.config.keys and not wanted.config.keys and _says_nothing(wanted):
                # Lost rather than meant: nothing that goes wrong with a file may let everybody in.
                self._refuse((teaching.keys_file_gone(),), asked=asked)
                return
            await self._take(wanted, asked=asked)

    def _refuse(self, problems: tuple[str, ...], *, asked: bool) -> None:
        before = self.live.refused
        self.live.refused = Refused(before.since if before is not None else self.clock.wall(), problems)
        if asked or before is None or before.problems != problems:
            self.events.emit("config_refused", problems=problems)

    async def _take(self, wanted: Loaded, *, asked: bool) -> None:
        running, before = self.live.loaded, self.live.config
        kept = keeping(running, wanted)
        changed, pending = changed_keys(running.config, kept.config), changed_keys(kept.config, wanted.config)
        news = asked or bool(changed) or self.live.refused is not None
        more = set(pending) - set(self.live.pending)
        self.live.replace(kept, pending)
        if changed:
            await self.apply(before, self.live.config)
        if news:
            self.events.emit("config_reloaded", changed=changed)
        for warning in (one for one in kept.warnings if one not in running.warnings):
            self.events.emit("config_warning", why=warning)
        if more:
            self.events.emit("restart_needed", keys=pending, why=teaching.config_restart_needed(pending))
        if running.config.keys and not kept.config.keys:
            self.events.emit("gateway_open", why=teaching.keys_all_gone())


def _says_nothing(loaded: Loaded) -> bool:
    """Whether no word of it is from the file: it is empty, or not there."""
    return not any(origin.layer == "file" for origin in loaded.origins.values())
