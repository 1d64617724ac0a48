"""What the kernel says of processes' memory on AMD's and Intel's devices."""

from blazar.adapters.hardware.drm import drm_use
from tests.support.sysfs_trees import grow

GIB, MIB = 2**30, 2**20


def test_on_a_card(tmp_path):
    """A client counts once however many descriptors it has; memory that the card borrows from the host does not count."""
    root = grow("fdinfo-amdgpu", tmp_path)
    assert drm_use([42, 43, 44, 45], root) == {42: {"ROCm0": 6 * GIB}, 43: {"ROCm0": GIB}}


def test_on_a_card_and_on_the_hosts_memory(tmp_path):
    """What lives on the host's memory holds it there."""
    root = grow("fdinfo-intel", tmp_path)
    assert drm_use([42], root) == {42: {"Vulkan0": 512 * MIB, "Vulkan1": 2 * GIB}}


def test_without_such_devices_no_process_is_looked_at(tmp_path):
    """NVIDIA's are told by its library."""
    root = grow("nvidia-bus", tmp_path)
    (root / "proc/42/fdinfo").mkdir(parents=True)
    (root / "proc/42/fdinfo/3").write_text("drm-pdev: 0000:01:00.0\ndrm-resident-vram: 5\n")
    assert drm_use([42], root) == {}
