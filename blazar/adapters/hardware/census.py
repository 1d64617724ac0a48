"""What machine this is, asked anew at every reading. A probe that fails finds nothing; it never stops its caller."""

import os
from collections.abc import Callable
from pathlib import Path

from blazar.adapters.hardware.memory import Ram, limited, machine_ram
from blazar.adapters.hardware.nvidia import nvidia_cards_if_any
from blazar.adapters.hardware.nvml import NvidiaCard
from blazar.adapters.hardware.processors import physical_cores
from blazar.adapters.hardware.sysfs import pci_gpus
from blazar.adapters.hardware.vulkan import vulkan_drivers
from blazar.application.ports.hardware import HardwareCensus
from blazar.domain.records import Gpu, Machine

ROOT = Path("/")


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
        nvidia: Callable[[], list[NvidiaCard]] = nvidia_cards_if_any,
    ) -> None:
        self._root, self._ram, self._cpus, self._nvidia = root, ram, cpus, nvidia

    def read(self) -> Machine:
        total, available = limited(self._ram(), self._root)
        cores = physical_cores(self._cpus(), self._root)
        return Machine(total, available, cores, self._gpus(), vulkan_drivers(self._root))

    def _gpus(self) -> tuple[Gpu, ...]:
        """The driver's own report where there is one, then what else is on the bus."""
        cards = self._nvidia()
        reported = {card.address for card in cards}
        found = [card.gpu for card in cards]
        found += [device.gpu for device in pci_gpus(self._root) if device.address not in reported]
        return tuple(gpu._replace(ordinal=ordinal) for ordinal, gpu in enumerate(found))
