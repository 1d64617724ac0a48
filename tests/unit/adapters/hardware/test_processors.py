"""Physical cores of a CPU set, on synthetic topologies (Documentation/admin-guide/cputopology.rst)."""

from pathlib import Path

import pytest

from blazar.adapters.hardware.processors import physical_cores


def topology(root: Path, cores: list[tuple[int, int, int]], *, dies: bool = True) -> Path:
    """One CPU a row: package, die, core."""
    for cpu, row in enumerate(cores):
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        for name, value in zip(("physical_package_id", "die_id", "core_id"), row, strict=True):
            if dies or name != "die_id":
                (folder / name).write_text(f"{value}\n")
    return root


def test_hyper_thread_twins_are_one_core(tmp_path):
    """Eight logical CPUs on four cores are four."""
    root = topology(tmp_path, [(0, 0, core) for core in (0, 1, 2, 3, 0, 1, 2, 3)])
    assert physical_cores(range(8), root) == 4


def test_only_the_cpu_set_counts(tmp_path):
    """Pinned to two twins, one core is all there is (D23)."""
    root = topology(tmp_path, [(0, 0, core) for core in (0, 1, 2, 3, 0, 1, 2, 3)])
    assert physical_cores({0, 4}, root) == 1
    assert physical_cores({0, 5}, root) == 2


@pytest.mark.parametrize("dies", [True, False])
def test_equal_ids_in_other_packages_are_other_cores(tmp_path, dies):
    """Core 0 exists once a package; older kernels name no dies."""
    root = topology(tmp_path, [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1)], dies=dies)
    assert physical_cores(range(4), root) == 4


def test_equal_ids_on_other_dies_are_other_cores(tmp_path):
    """Multi-die packages count their core ids a die."""
    assert physical_cores(range(2), topology(tmp_path, [(0, 0, 0), (0, 1, 0)])) == 2


def test_without_topology_every_cpu_is_a_core(tmp_path):
    """Where the kernel tells nothing, logical CPUs are counted; never none."""
    assert physical_cores({0, 1, 2}, tmp_path) == 3
    assert physical_cores(set(), tmp_path) == 1


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"a/cpu.max": "max 100000\n"}, 8),
        ({"a/cpu.max": "150000 100000\n"}, 2),
        ({"a/cpu.max": "1000 100000\n"}, 1),
        ({"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ({"a/cpu.max": "nonsense\n"}, 8),
        ({"a/cpu.max": "5 0\n"}, 8),
        ({"a/cpu.max": "² 100000\n"}, 8),
        ({"a/cpu.max": "-100000 100000\n"}, 8),
        ({"a/cpu.max": "9" * 5000 + " 100000\n"}, 8),
    ],
)
def test_a_quota_of_version_2(tmp_path, files, cores):
    """Quota over period, rounded up, the tightest group on the way up."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/a/b\n")
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert physical_cores(range(8), tmp_path) == cores


@pytest.mark.parametrize(
    ("mount", "quota", "cores"), [("cpu", "-1", 8), ("cpu", "200000", 2), ("cpu,cpuacct", "250000", 3)]
)
def test_a_quota_of_version_1(tmp_path, mount, quota, cores):
    """The older names, also where controllers share a mount."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:cpu,cpuacct:/d\n")
    folder = tmp_path / "sys/fs/cgroup" / mount / "d"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    assert physical_cores(range(8), tmp_path) == cores
