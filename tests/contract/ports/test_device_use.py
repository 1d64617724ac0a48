"""What everybody who tells the use of accelerators keeps to."""

import pytest

from blazar.adapters.hardware.device_use import SystemDeviceUse
from tests.fakes.hardware import FakeDeviceUse
from tests.support.sysfs_trees import grow

GIB = 2**30


@pytest.fixture(params=["real", "fake"])
def use(request, tmp_path):
    if request.param == "fake":
        return FakeDeviceUse({42: {"ROCm0": 6 * GIB}, 43: {"ROCm0": GIB}})
    return SystemDeviceUse(grow("fdinfo-amdgpu", tmp_path), nvidia=lambda _: {})


def test_only_those_asked_for_are_told_of(use):
    """By pid and device, in bytes; who holds nothing is absent, and asking of nobody tells nothing."""
    assert use.by_process([42, 99]) == {42: {"ROCm0": 6 * GIB}}
    assert use.by_process({43}) == {43: {"ROCm0": GIB}}
    assert use.by_process(()) == {}
