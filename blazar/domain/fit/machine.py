"""The machine a plan is made for: what there is, what is free, and who sits where. A census fills it, or a person imagines it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
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

    def without(self, keys: Collection[str]) -> "Machine":
        """This machine once these models are gone: what they use is free, as far as it holds so much. Unknown stays unknown."""
        leaving = [one for one in self.running if one.key in keys]
        freed: dict[str, int] = {}
        for one in leaving:
            for device, size in one.devices:
                freed[device] = freed.get(device, 0) + size
        ram = self.ram_available
        if ram:
            ram = min(self.ram_total, ram + sum(one.host for one in leaving))
        devices = tuple(
            device._replace(free=min(device.total, device.free + freed.get(device.name, 0))) for device in self.devices
        )
        staying = tuple(one for one in self.running if one.key not in keys)
        return replace(self, ram_available=ram, devices=devices, running=staying)

    def emptied(self) -> "Machine":
        """This machine with nothing loaded."""
        devices = tuple(device._replace(free=device.total) for device in self.devices)
        return Machine(self.ram_total, self.ram_total, devices)


def imagined(gpus_gib: tuple[float, ...], ram_gib: float) -> Machine:
    """A machine that nobody has yet: empty cards of these sizes."""
    devices = tuple(
        Device(f"CUDA{index}", "cuda", bytes_of(size), bytes_of(size), f"{size:g} GiB card")
        for index, size in enumerate(gpus_gib)
    )
    ram = bytes_of(ram_gib)
    return Machine(ram, ram, devices)


def bytes_of(gib: float) -> int:
    """At least one: none would mean that the size is not known."""
    return max(1, int(gib * GIB))
