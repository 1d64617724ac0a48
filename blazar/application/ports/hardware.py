"""What machine this is."""

from typing import Protocol

from blazar.domain.records import Machine


class HardwareCensus(Protocol):
    """Reads memory, processors and accelerators now."""

    def read(self) -> Machine: ...
