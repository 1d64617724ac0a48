"""Use by process, from every driver together."""

from threading import Event

from blazar.adapters.hardware.device_use import SystemDeviceUse
from blazar.adapters.hardware.probing import Probes
from tests.support.sysfs_trees import grow

GIB = 2**30


def test_drivers_are_joined(tmp_path):
    """One process may sit on cards of two makers; who holds nothing is absent."""
    use = SystemDeviceUse(
        grow("fdinfo-amdgpu", tmp_path), nvidia=lambda pids: {42: {"CUDA0": len(pids)}, 7: {"CUDA1": 1}}
    )
    assert use.by_process([42, 43, 7, 99]) == {
        42: {"CUDA0": 4, "ROCm0": 6 * GIB},
        43: {"ROCm0": GIB},
        7: {"CUDA1": 1},
    }


def test_nobody_asked_for_is_nobody_looked_at(tmp_path):
    """No child runs: no driver is troubled."""

    def nvidia(pids):
        raise AssertionError(pids)

    assert SystemDeviceUse(tmp_path, nvidia).by_process([]) == {}


def test_a_driver_that_hangs_or_fails_tells_nothing(tmp_path):
    """The other one still does."""
    go_on = Event()
    probes = Probes(1.0)  # the other one is to answer within it
    use = SystemDeviceUse(grow("fdinfo-amdgpu", tmp_path), lambda _: go_on.wait() and {}, probes)
    assert use.by_process([43]) == {43: {"ROCm0": GIB}}
    hanging = probes._hanging["nvml"]
    go_on.set()
    hanging.join()

    def broken(pids):
        raise OSError(pids)

    assert SystemDeviceUse(tmp_path, broken).by_process([43]) == {43: {"ROCm0": GIB}}
