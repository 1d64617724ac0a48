"""The machine that a plan is made for, out of what the census found and what the engine says it sees. Measures nothing.

Names are the engine's: it numbers the devices of a backend from 0. CUDA does so in PCI order only where the child's
environment says CUDA_DEVICE_ORDER=PCI_BUS_ID; without it the fastest card comes first (CUDA's programming guide).
"""

from collections.abc import Mapping, Sequence

from blazar.application.ports.hardware import ListedDevice
from blazar.domain.fit import machine as fit
from blazar.domain.records import Gpu, Machine

_PREFIXES = {"cuda": "CUDA", "rocm": "ROCm", "vulkan": "Vulkan", "sycl": "SYCL", "metal": "MTL", "rpc": "RPC"}
"""What llama.cpp b11434 puts before a device's number (ggml/include/ggml-{cuda,vulkan,sycl}.h, ggml-metal, ggml-rpc)."""
_KINDS = {prefix: kind for kind, prefix in _PREFIXES.items()}

_SAME_SIZE = 0.08
"""How far two reports of one card's memory lie apart: CUDA leaves out what the driver reserves (24210 of 24564 MiB)."""


def fit_machine(
    machine: Machine, running: Sequence[fit.Running] = (), listed: Sequence[ListedDevice] | None = None
) -> fit.Machine:
    """`listed` is the engine's own list, which decides where there is one: it knows what it was built for and may see.

    None is no answer. An empty list is an engine that computes on the processor, whatever cards there are. A list without
    any memory figure is no list to plan by: then the census holds (contract).
    """
    known = _known(machine)
    if listed is None or (listed and not any(row.total for row in listed)):
        devices = known
    else:
        devices = tuple(_joined(row, machine, known) for row in listed)
    here = {f"[{device.label}]": device.name for device in devices if device.kind == "rpc"}
    tenants = tuple(
        one._replace(devices=tuple((_named(name, here), size) for name, size in one.devices)) for one in running
    )
    left = tuple(_within_ram(_without_ours(device, tenants), machine.ram_available) for device in devices)
    return fit.Machine(machine.ram_total, machine.ram_available, left, tenants)


def engine_names(gpus: Sequence[Gpu]) -> tuple[str, ...]:
    """What an engine calls each of them; "" for what it would not see.

    CUDA shows a process one MIG slice, the first unless CUDA_VISIBLE_DEVICES names another, and beside it no whole card
    (NVIDIA's Multi-Instance GPU User Guide, device enumeration).
    """
    sliced = any(gpu.parent for gpu in gpus)
    counts: dict[str, int] = {}
    names = []
    for gpu in gpus:
        prefix = _PREFIXES.get(gpu.kind, "") if gpu.driver else ""
        number = counts.get(prefix, 0)
        if gpu.kind == "cuda" and sliced and (number or not gpu.parent):
            prefix = ""
        counts[prefix] = number + 1
        names.append(f"{prefix}{number}" if prefix else "")
    return tuple(names)


def _named(name: str, here: Mapping[str, str]) -> str:
    """A device as the list has it. In an engine's log every worker is `RPC0[host:port]`: the address tells which it is."""
    return next((device for address, device in here.items() if name.endswith(address)), name)


def _known(machine: Machine) -> tuple[fit.Device, ...]:
    return tuple(
        fit.Device(name, gpu.kind, gpu.total, gpu.free, gpu.name, gpu.shared)
        for name, gpu in zip(engine_names(machine.gpus), machine.gpus, strict=True)
        if name
    )


def _joined(row: ListedDevice, machine: Machine, known: tuple[fit.Device, ...]) -> fit.Device:
    """The engine's row; what is free by the census where both mean the same card, for its figure is the younger.

    Names alone tell that of CUDA, ROCm and Metal. Vulkan numbers by rules of its own, discrete cards first: there the size must agree.
    """
    kind = _KINDS.get(row.name.rstrip("0123456789"), row.name.rstrip("0123456789").lower())
    for device in known:
        if device.name == row.name and kind != "vulkan" and not device.total:
            return device._replace(total=row.total, free=min(row.free, row.total), label=row.label)
        if device.name == row.name and abs(device.total - row.total) <= _SAME_SIZE * row.total:
            free = device.free if _tells_use(device) else row.free
            return device._replace(total=row.total, free=min(free, row.total), label=row.label)
    drivable = [gpu for gpu in machine.gpus if gpu.driver]
    # Which card it is cannot be told; where all of them live on the machine's memory it need not.
    shared = kind != "rpc" and bool(drivable) and all(gpu.shared for gpu in drivable)
    return fit.Device(row.name, kind, row.total, min(row.free, row.total), row.label, shared)


def _tells_use(device: fit.Device) -> bool:
    return device.free < device.total


def _without_ours(device: fit.Device, running: Sequence[fit.Running]) -> fit.Device:
    """A driver that tells no use (xe, Metal, Vulkan without a budget) shows all of it as free: at least our own is known."""
    if _tells_use(device):
        return device
    held = sum(size for one in running for name, size in one.devices if name == device.name)
    return device._replace(free=max(0, device.total - held))


def _within_ram(device: fit.Device, available: int) -> fit.Device:
    """A device that lives on the machine's memory has no more than that has left."""
    return device._replace(free=min(device.free, available)) if device.shared and available else device
