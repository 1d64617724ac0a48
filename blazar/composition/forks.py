"""What forks need of the program around them: the registry's address and its list, the source of releases, who uses a build."""

import asyncio
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from blazar.adapters.net.capabilities import HttpArchitectureSource, HttpCapabilityRegistry
from blazar.adapters.net.places import BASE_VARIABLE, FILES
from blazar.application.config.live import LiveConfig
from blazar.application.engines.pick_release import REPOSITORY_VARIABLE
from blazar.application.ops.diagnose import Row
from blazar.application.ops.fork_report import fork_rows
from blazar.application.ports.capability import CapabilityRegistry
from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineCatalog
from blazar.application.supervise.views import Supervising
from blazar.domain.errors import RegistryTrouble
from blazar.domain.instance.machine import State
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Machine
from blazar.domain.releases import REPOSITORIES, checked_repository
from blazar.domain.venv_lanes import Site

LIST = "capability-registry.json"
"""The registry's list as it was last fetched, in the data folder."""
DEFAULT_REGISTRY = ""
"""ODD: no list is built in: nothing is asked on the network that nobody named."""
ANSWER_SECS = 30.0

_GONE = frozenset({State.COLD, State.EVICTED, State.FAILED})
_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
_SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "windows", "cygwin": "windows"}


def registry_url(url: str | None) -> str:
    """`capability_registry_url`: unset, the one of this program."""
    return DEFAULT_REGISTRY if url is None else url


def open_capabilities(url: Callable[[], str | None], data: Path) -> HttpCapabilityRegistry:
    """Asks nothing yet."""
    return HttpCapabilityRegistry(lambda: registry_url(url()), data / LIST)


def registry_of(live: LiveConfig, data: Path) -> HttpCapabilityRegistry:
    """A daemon's: who asks after a reload asks the new address."""
    return open_capabilities(lambda: live.config.capability_registry_url, data)


def fork_days(live: LiveConfig) -> int:
    """`fork_retire_days` as it is now."""
    return live.config.fork_retire_days


def engines_named(live: LiveConfig) -> Collection[str]:
    """Builds that overrides insist on, as they are now."""
    return live.config.engines_named


def live_fork_rows(
    live: LiveConfig, registry: CapabilityRegistry, engines: EngineCatalog, clock: Clock
) -> Iterator[Row]:
    """What a daemon's doctor says of forks."""
    return fork_rows(registry, engines, clock, fork_days(live))


def repositories_base(env: Mapping[str, str]) -> str:
    """Where repositories lie. Raises `RegistryTrouble` for what is no address."""
    base = env.get(BASE_VARIABLE, "")
    if not base:
        return FILES
    from blazar.adapters.net.web import (
        checked_base,
    )  # brings the HTTP client, 5 MB that a daemon without it need not hold

    return checked_base(BASE_VARIABLE, base)


def architecture_source(env: Mapping[str, str]) -> HttpArchitectureSource:
    """A variable that is no address means that nothing can be asked: verbs that need it say so."""
    named = env.get(REPOSITORY_VARIABLE, "")
    repository = checked_repository(named, REPOSITORY_VARIABLE) if named else REPOSITORIES[EngineKind.LLAMACPP]
    try:
        base = repositories_base(env)
    except RegistryTrouble:
        base = FILES
    return HttpArchitectureSource(base, repository)


def curated_by(registry: HttpCapabilityRegistry, arch: str) -> Sequence[str]:
    """Lanes that serve an architecture, by the list as it was last fetched."""
    return registry.kept().serving(arch) if registry.configured else ()


def site_of(machine: Machine) -> Site:
    """This machine, as packages and published builds tell machines apart."""
    system = _SYSTEMS.get(sys.platform, sys.platform)
    processor = platform.machine().lower()
    nvidia = any(gpu.vendor.lower() == "nvidia" and gpu.driver for gpu in machine.gpus)
    return Site(system, _MACHINES.get(processor, processor), nvidia)


class ServedHere:
    """Who uses a build, asked from a thread: what runs is only looked at on the loop. Call it once the loop runs."""

    def __init__(self, supervising: Supervising) -> None:
        self._supervising = supervising
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def aclose(self) -> None:
        self._loop = None

    def __call__(self, tag: str) -> Sequence[str]:
        """Raises `TimeoutError` where the loop does not answer: it stops, and nothing is removed then."""
        if self._loop is None:
            raise TimeoutError
        return asyncio.run_coroutine_threadsafe(self._models(tag), self._loop).result(ANSWER_SECS)

    async def _models(self, tag: str) -> list[str]:
        views = self._supervising.views()
        return [view.model for view in views if view.engine == tag and view.state not in _GONE]
