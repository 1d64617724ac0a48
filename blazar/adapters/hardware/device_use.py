"""What children hold on accelerators, from whichever driver knows. A driver that hangs or fails tells nothing."""

from collections.abc import Callable, Collection
from pathlib import Path

from blazar.adapters.hardware.drm import drm_use
from blazar.adapters.hardware.nvidia import nvidia_use_if_any
from blazar.adapters.hardware.probing import Probes
from blazar.application.ports.hardware import DeviceUse

Use = dict[int, dict[str, int]]
"""Bytes by pid, then by device."""


class SystemDeviceUse(DeviceUse):
    """The real drivers; `root` stands for `/`."""

    def __init__(
        self,
        root: Path = Path("/"),
        nvidia: Callable[[Collection[int]], Use] = nvidia_use_if_any,
        probes: Probes | None = None,
    ) -> None:
        self._root, self._nvidia, self._probes = root, nvidia, probes or Probes()

    def by_process(self, pids: Collection[int]) -> Use:
        wanted, nothing = frozenset(pids), Use()
        if not wanted:
            return nothing
        of_nvidia = self._probes.ask("nvml", lambda: self._nvidia(wanted), nothing, [])
        of_kernel = self._probes.ask("drm", lambda: drm_use(wanted, self._root), nothing, [])
        return {
            pid: of_nvidia.get(pid, {}) | of_kernel.get(pid, {}) for pid in sorted(of_nvidia.keys() | of_kernel.keys())
        }
