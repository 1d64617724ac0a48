"""A machine that is whatever a test says."""

from collections.abc import Collection, Mapping, Sequence

from blazar.application.ports.hardware import DeviceLister, DeviceUse, HardwareCensus, ListedDevice
from blazar.domain.records import Engine, Gpu, Machine

GIB = 2**30


def a_machine(ram: int = 16 * GIB, available: int | None = None, cores: int = 4, gpus: Sequence[Gpu] = ()) -> Machine:
    """A machine with this much memory, half of it available unless said otherwise."""
    return Machine(ram, ram // 2 if available is None else available, cores, tuple(gpus))


def a_gpu(ordinal: int = 0, total: int = 24 * GIB, vendor: str = "nvidia", driver: str = "555.42") -> Gpu:
    """A card with all of its memory free."""
    kind = {"nvidia": "cuda", "amd": "rocm", "intel": "vulkan", "apple": "metal"}.get(vendor, "") if driver else ""
    return Gpu(ordinal, f"card {ordinal}", vendor, total, total, driver, kind)


class FakeCensus(HardwareCensus):
    """Answers `machine`, which a test may replace between readings."""

    def __init__(self, machine: Machine | None = None) -> None:
        self.machine = machine or a_machine()
        self.readings = 0
        self.invalidations = 0

    def read(self) -> Machine:
        self.readings += 1
        return self.machine

    def invalidate(self) -> None:
        self.invalidations += 1


class FakeDeviceUse(DeviceUse):
    """Processes hold what `held` says: pid, then device, then bytes."""

    def __init__(self, held: Mapping[int, Mapping[str, int]] | None = None) -> None:
        self.held = dict(held or {})

    def by_process(self, pids: Collection[int]) -> dict[int, dict[str, int]]:
        return {pid: dict(self.held[pid]) for pid in pids if pid in self.held}


class FakeDeviceLister(DeviceLister):
    """Every build sees `devices`; None: it does not answer."""

    def __init__(self, devices: Sequence[ListedDevice] | None = ()) -> None:
        self.devices = devices
        self.asked: list[str] = []
        self.invalidations = 0
        self.far = (8 * GIB, 8 * GIB)

    def list_devices(self, engine: Engine, workers: str = "") -> tuple[ListedDevice, ...] | None:
        self.asked.append(engine.tag)
        if self.devices is None:
            return None
        far = (ListedDevice(f"RPC{number}", one, *self.far) for number, one in enumerate(workers.split(",")) if one)
        return (*self.devices, *far)

    def invalidate(self) -> None:
        self.invalidations += 1
