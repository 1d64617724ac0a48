"""How releases are looked up, downloaded and put in place. Loaded by the verbs that do so, and by the daemon's look for newer ones."""

import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from blazar.adapters.files.lookups import kept_in
from blazar.adapters.hardware.census import SystemCensus
from blazar.adapters.hardware.disk import SystemDisk
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.github import open_feed
from blazar.adapters.net.partials import discard, sweep
from blazar.adapters.net.places import BASE_VARIABLE, FILES_VARIABLE, ours_of
from blazar.adapters.net.throttle import Throttle
from blazar.application.engines.check_currency import CheckCurrency
from blazar.application.engines.install_release import InstallRelease
from blazar.application.engines.pick_release import REPOSITORY_VARIABLE, PickRelease, Sources
from blazar.domain.kinds import EngineKind

if TYPE_CHECKING:
    from blazar.application.config.model import Config
    from blazar.application.engines.install_engine import InstallEngine
    from blazar.application.ports.hardware import HardwareCensus
    from blazar.composition.local import Local

KEPT_SECS = 7 * 86400.0
"""How long a download that nobody came back for is kept."""

Opened = tuple[PickRelease, Callable[[], None]]


def sources_of(config: "Config", env: Mapping[str, str]) -> Sources:
    """What is configured. BLAZAR_REPO is llama.cpp's repository: no other project's files would be found there.

    It is judged where llama.cpp is asked for: other kinds have nothing to do with it.
    """
    named = env.get(REPOSITORY_VARIABLE, "")
    other = {EngineKind.LLAMACPP: named} if named else {}
    return Sources(config.update_channel, config.engine_asset, other)


def open_pick(config: "Config", env: Mapping[str, str], hardware: "HardwareCensus") -> Opened:
    """A feed for one errand, and how it is closed. Raises `RegistryTrouble` for addresses that are none."""
    sources = sources_of(config, env)
    feed = open_feed(env)
    return PickRelease(feed, hardware, platform.system(), platform.machine(), sources), feed.close


def downloads_of(config: "Config", env: Mapping[str, str], throttle: Throttle) -> HttpDownloads:
    """As the configuration says, by the speed limit of the process. Mirrors that somebody named may lie in this network."""
    named = (env.get(BASE_VARIABLE, ""), env.get(FILES_VARIABLE, ""), config.capability_registry_url or "")
    ours = ours_of(named, BASE_VARIABLE)
    loads = HttpDownloads(SystemDisk(), throttle, lambda: config.download_connections)
    loads.ours = lambda: ours
    return loads


def release_installer(local: "Local", install: "InstallEngine") -> tuple[InstallRelease, Callable[[], None]]:
    """For the verbs. Downloads that were left long ago go first."""
    config, folder = local.settings().loaded.config, local.folders.ensure().downloads
    sweep_downloads(folder)
    pick, close = open_pick(config, local.env, SystemCensus())
    loads = downloads_of(config, local.env, local.throttle)
    return InstallRelease(pick, loads, install, SystemDisk(), str(folder), _forget), close


def sweep_downloads(folder: Path) -> None:
    """Delete partials that nobody came back for."""
    sweep(folder, time.time() - KEPT_SECS)


def _forget(path: str) -> None:
    discard(Path(path))


def currency_of(local: "Local") -> CheckCurrency:
    """One look, for a verb."""
    config = local.settings().loaded.config
    opened = partial(open_pick, config, local.env, SystemCensus())
    memory = kept_in(local.folders.data)
    return CheckCurrency(local.engine_rows, opened, local.clock, asked=True, memory=memory)
