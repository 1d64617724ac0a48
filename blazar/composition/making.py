"""How builds are made from source, and held against each other, in this data folder. Loaded by the verbs that do so."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from blazar.adapters.engines.benching import EngineBench
from blazar.adapters.engines.drivers import SCRUBBED
from blazar.adapters.engines.toolchain import SystemToolchain
from blazar.adapters.engines.workshop import DiskWorkshop
from blazar.adapters.hardware.census import SystemCensus
from blazar.adapters.hardware.disk import SystemDisk
from blazar.adapters.net.sources import HttpSources
from blazar.adapters.store.history import SqliteBenchHistory
from blazar.application.engines.build_engine import BuildEngine
from blazar.application.engines.build_release import BuildRelease
from blazar.application.engines.gate_regression import GateRegression, Terms
from blazar.composition.forks import repositories_base
from blazar.composition.releasing import downloads_of, open_pick, sweep_downloads
from blazar.domain.errors import BadConfig
from blazar.domain.gate import allowed_loss

if TYPE_CHECKING:
    from blazar.application.engines.install_engine import InstallEngine
    from blazar.composition.local import Local

GATE = "BLAZAR_ENGINE_GATE"


def builder(local: "Local", install: "InstallEngine") -> BuildEngine:
    """Makes builds with the programs on PATH."""
    return BuildEngine(SystemToolchain(local.env), DiskWorkshop(local.folders.engines, SystemDisk()), install)


def release_builder(local: "Local", install: "InstallEngine") -> tuple[BuildRelease, Callable[[], None]]:
    """Makes builds of sources that it fetches, and how the feed is closed. Downloads that were left long ago go first."""
    config, folder = local.settings().loaded.config, local.folders.ensure().downloads
    sweep_downloads(folder)
    pick, close = open_pick(config, local.env, SystemCensus())
    sources = HttpSources(lambda: downloads_of(config, local.env, local.throttle), folder, repositories_base(local.env))
    return BuildRelease(pick, sources, builder(local, install)), close


def gate(
    local: "Local",
    extra: Mapping[str, str],
    serving: Callable[[], Sequence[str]],
    *,
    wanted: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> GateRegression:
    """Holds a newer build against the active one. `wanted` is False with --no-gate. Raises `Malformed` for a bad variable."""
    try:
        threads = local.settings().loaded.config.threads
    except BadConfig:
        threads = 0
    loss = allowed_loss(local.env.get(GATE, "")) if wanted else None
    bench = EngineBench(SCRUBBED, extra)
    history = SqliteBenchHistory(local.database)
    terms = Terms(loss, threads, asked=not wanted)
    return GateRegression(bench, local.catalog, history, SystemCensus(), local.clock, terms, serving, say)
