"""A machine that is whatever a test says."""

from collections.abc import Sequence

from blazar.application.ports.hardware import HardwareCensus
from blazar.domain.records import Gpu, Machine

GIB = 2**30


def a_machine(ram: int = 16 * GIB, available: int | None = None, cores: int = 4, gpus: Sequence[Gpu] = ()) -> Machine:
    """A machine with this much memory, half of it available unless said otherwise."""
    return Machine(ram, ram // 2 if available is None else available, cores, tuple(gpus))


def a_gpu(ordinal: int = 0, total: int = 24 * GIB, vendor: str = "nvidia", driver: str = "555.42") -> Gpu:
    """A card with all of its memory free."""
    return Gpu(ordinal, f"card {ordinal}", vendor, total, total, driver)


class FakeCensus(HardwareCensus):
    """Answers `machine`, which a test may replace between readings."""

    def __init__(self, machine: Machine | None = None) -> None:
        self.machine = machine or a_machine()
        self.readings = 0

    def read(self) -> Machine:
        self.readings += 1
        return self.machine
