"""What machine this is, and who uses its accelerators."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from blazar.domain.records import Engine, Machine


class HardwareCensus(Protocol):
    """Memory, processors and accelerators of this machine.

    A reading may take as long as its slowest driver: call it off the event loop. It never raises on account of the
    hardware; what could not be asked is in `Machine.troubles`.
    """

    def read(self) -> Machine:
        """Memory is always as it is now; what accelerators have free may be some seconds old (`invalidate`)."""
        ...

    def invalidate(self) -> None:
        """Forget what accelerators had free: a child was spawned, became ready, or was evicted."""
        ...


class DeviceUse(Protocol):
    """What processes hold on accelerators, as the driver counts it."""

    def by_process(self, pids: Collection[int]) -> dict[int, dict[str, int]]:
        """Bytes by pid and then by device, named as engines name it (`CUDA0`).

        A pid that holds nothing, and one of which the driver tells nothing (another container's, WSL), is absent.
        """
        ...


class ListedDevice(NamedTuple):
    """One device as an engine build itself lists it. Bytes; 0 where it prints none (`total` 0: no memory to load into)."""

    name: str
    label: str
    total: int
    free: int


class DeviceLister(Protocol):
    """Asks an engine build which devices it would compute on."""

    def list_devices(self, engine: Engine, workers: str = "") -> tuple[ListedDevice, ...] | None:
        """In the engine's order, the processor left out; empty: it computes on the processor; None: it did not answer.

        `workers` are RPC servers (`host:port`, with commas between them) that it is told of; where one of them is not there, it
        is listed without any.
        """
        ...

    def invalidate(self) -> None:
        """Forget the free figures, as `HardwareCensus.invalidate` does."""
        ...
