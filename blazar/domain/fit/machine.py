"""The machine a plan is made for: what there is, what is free, and who sits where. A census fills it, or a person imagines it."""

from dataclasses import dataclass
from typing import NamedTuple

GIB = 2**30


class Device(NamedTuple):
    """One accelerator as the engine names it (`CUDA0`, `ROCm1`, `Vulkan0`, `MTL0`, `RPC0`). Bytes.

    `shared`: its memory is the host's (integrated GPUs, Apple silicon). A `total` of 0 means that it reports none: such a
    device never belongs to the pool.
    """

    name: str
    kind: str  # cuda, rocm, vulkan, metal, sycl, rpc
    total: int
    free: int
    label: str = ""
    shared: bool = False


class Running(NamedTuple):
    """A model that is loaded now, and what it measurably uses. `devices` is by device name; bytes."""

    key: str
    idle: bool
    pinned: bool
    host: int
    devices: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes; 0 where unknown (an unknown size refuses nothing)."""

    ram_total: int
    ram_available: int
    devices: tuple[Device, ...] = ()
    running: tuple[Running, ...] = ()

    @property
    def pool(self) -> tuple[Device, ...]:
        """Devices that weights may be put on: those that report memory."""
        return tuple(device for device in self.devices if device.total > 0)


def imagined(gpus_gib: tuple[float, ...], ram_gib: float) -> Machine:
    """A machine that nobody has yet: empty cards of these sizes."""
    devices = tuple(
        Device(f"CUDA{index}", "cuda", int(size * GIB), int(size * GIB), f"{size:g} GiB card")
        for index, size in enumerate(gpus_gib)
    )
    ram = int(ram_gib * GIB)
    return Machine(ram, ram, devices)
