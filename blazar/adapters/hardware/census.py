"""What machine this is. A probe that fails or hangs finds nothing and is told of; it never stops its caller.

`SystemCensus` asks anew at every reading, `CachedCensus` keeps what accelerators said for some seconds.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from blazar.adapters.hardware.apple import apple_gpus_if_any
from blazar.adapters.hardware.memory import Ram, limited, machine_ram
from blazar.adapters.hardware.nvidia import nvidia_if_any
from blazar.adapters.hardware.nvml import NvidiaReport
from blazar.adapters.hardware.probing import Probes
from blazar.adapters.hardware.processors import physical_cores
from blazar.adapters.hardware.sysfs import pci_gpus
from blazar.adapters.hardware.vulkan import vulkan_drivers
from blazar.application.ports.hardware import HardwareCensus
from blazar.domain.records import Gpu, Machine, Trouble

ROOT = Path("/")

MAX_AGE_SECS = 5.0
"""How long accelerators' figures are believed unasked: others (a desktop, a game) take and free memory without telling us."""


def usable_cpus() -> set[int]:
    """Logical CPUs that this process may run on; where the system has no such set, all of them."""
    affinity = getattr(os, "sched_getaffinity", None)
    return set(affinity(0)) if affinity else set(range(os.cpu_count() or 1))


class SystemCensus(HardwareCensus):
    """The real machine. The arguments are its senses; tests give it others."""

    def __init__(
        self,
        root: Path = ROOT,
        ram: Callable[[], Ram] = machine_ram,
        cpus: Callable[[], set[int]] = usable_cpus,
        *,
        nvidia: Callable[[], NvidiaReport] = nvidia_if_any,
        apple: Callable[[], Sequence[Gpu]] = apple_gpus_if_any,
        probes: Probes | None = None,
    ) -> None:
        self._root, self._ram, self._cpus, self._nvidia, self._apple = root, ram, cpus, nvidia, apple
        self._probes = probes or Probes()

    def read(self) -> Machine:
        troubles: list[Trouble] = []
        ask, root = self._probes.ask, self._root
        no_gpus: Sequence[Gpu] = ()
        no_names: tuple[str, ...] = ()
        total, available = self._limited_ram(troubles)
        cores = ask("processors", lambda: physical_cores(self._cpus(), root), 1, troubles)
        nvidia = ask("nvml", self._nvidia, NvidiaReport(), troubles)
        bus = ask("pci", lambda: pci_gpus(root), no_gpus, troubles)
        apple = ask("sysctl", self._apple, no_gpus, troubles)
        vulkan = ask("vulkan", lambda: vulkan_drivers(root), no_names, troubles)
        # The driver's own report where there is one, then what else is on the bus.
        found = [*nvidia.gpus, *(gpu for gpu in bus if gpu.address not in nvidia.addresses), *apple]
        gpus = tuple(gpu._replace(ordinal=ordinal) for ordinal, gpu in enumerate(found))
        return Machine(total, available, cores, gpus, vulkan, nvidia.cuda_version, (*troubles, *nvidia.troubles))

    def ram(self) -> Ram:
        """Memory alone; zeros where it cannot be told."""
        return self._limited_ram([])

    def invalidate(self) -> None:
        """Nothing is remembered here."""

    def _limited_ram(self, troubles: list[Trouble]) -> Ram:
        """Two questions: a control group that cannot be read must not hide what the machine has."""
        machine = self._probes.ask("memory", self._ram, Ram(0, 0), troubles)
        return self._probes.ask("memory", lambda: limited(machine, self._root), machine, troubles)


class CachedCensus(HardwareCensus):
    """Another census, asked again when told to (`invalidate`) or after `max_age` seconds. Memory is read anew every time.

    Reading may block on drivers, so it belongs in a worker thread; `invalidate` never waits.
    """

    def __init__(
        self,
        census: HardwareCensus,
        ram: Callable[[], Ram],
        now: Callable[[], float],
        max_age: float = MAX_AGE_SECS,
    ) -> None:
        self._census, self._ram, self._now, self._max_age = census, ram, now, max_age
        self._reading = Lock()
        self._machine: Machine | None = None
        self._at = 0.0
        # A reading holds for the generation in which it began: one that was invalidated on its way is not kept.
        self._wanted, self._held = object(), object()

    def read(self) -> Machine:
        with self._reading:
            wanted, now = self._wanted, self._now()
            if self._machine is None or self._held is not wanted or now - self._at > self._max_age:
                self._machine, self._held, self._at = self._census.read(), wanted, now
                return self._machine
            total, available = self._ram()
            return self._machine._replace(ram_total=total, ram_available=available)

    def invalidate(self) -> None:
        self._wanted = object()
        self._census.invalidate()
