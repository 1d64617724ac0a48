"""Memory within control groups, on synthetic trees.

File names and meanings: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of the kernel.
"""

from pathlib import Path

import pytest

from blazar.adapters.hardware.memory import Ram, limited, machine_ram
from tests.support.sysfs_trees import grow

GIB = 2**30
MACHINE = Ram(64 * GIB, 40 * GIB)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


V2 = {
    "proc/self/cgroup": "0::/user.slice/app.scope\n",
    "sys/fs/cgroup/user.slice/memory.max": "max\n",
    "sys/fs/cgroup/user.slice/app.scope/memory.max": f"{8 * GIB}\n",
    "sys/fs/cgroup/user.slice/app.scope/memory.current": f"{6 * GIB}\n",
    "sys/fs/cgroup/user.slice/app.scope/memory.stat": f"anon 1\ninactive_file {2 * GIB}\nfile 3\n",
}
V1 = {
    "proc/self/cgroup": "9:cpu,cpuacct:/\n4:memory:/docker/abc\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": f"{4 * GIB}\n",
    "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": f"{3 * GIB}\n",
    "sys/fs/cgroup/memory/docker/abc/memory.stat": f"inactive_file 5\ntotal_inactive_file {GIB}\n",
}


@pytest.mark.parametrize(
    "text",
    ["", "MemTotal: 5 kB\n", "MemTotal: 5 kB\nMemAvailable: 6 kB\n", "MemTotal: x kB\nMemAvailable: 1 kB\n"],
    ids=["none", "old kernel", "nonsense", "no number"],
)
def test_where_the_kernel_has_no_such_file_psutil_tells(tmp_path, text):
    """A container whose own file contradicts itself is asked for what it has otherwise."""
    known = machine_ram()
    assert machine_ram(write(tmp_path, {"proc/meminfo": text})).total == known.total


def test_memory_is_read_from_the_kernel(tmp_path):
    """In kibibytes; 0 available is not known, and asked for elsewhere."""
    files = {"proc/meminfo": "MemTotal:       100 kB\nMemFree: 1 kB\nMemAvailable:   40 kB\nHugePages_Total: 0\n"}
    assert machine_ram(write(tmp_path, files)) == Ram(102_400, 40_960)


def test_no_group_means_the_machine(tmp_path):
    """Without control groups the machine's own figures hold."""
    assert limited(MACHINE, tmp_path) == MACHINE


def test_version_2(tmp_path):
    """The limit bounds the total; what is in use without droppable pages bounds the rest."""
    assert limited(MACHINE, write(tmp_path, V2)) == Ram(8 * GIB, 4 * GIB)


def test_version_1(tmp_path):
    """The same by the older names, where "no limit" is a huge number."""
    assert limited(MACHINE, write(tmp_path, V1)) == Ram(4 * GIB, 2 * GIB)


def test_a_limit_further_up_holds_too(tmp_path):
    """A parent's tighter limit wins over the group's own."""
    tree = {**V2, "sys/fs/cgroup/user.slice/memory.max": f"{2 * GIB}\n"}
    tree["sys/fs/cgroup/user.slice/memory.current"] = f"{GIB}\n"
    assert limited(MACHINE, write(tmp_path, tree)) == Ram(2 * GIB, GIB)


def test_a_container_that_sees_its_group_as_the_top(tmp_path):
    """/proc names the host's path, the mount shows only ours: the top is read."""
    tree = {
        "proc/self/cgroup": "0::/kubepods/pod1/c1\n",
        "sys/fs/cgroup/memory.max": f"{GIB}\n",
        "sys/fs/cgroup/memory.current": "0\n",
    }
    assert limited(MACHINE, write(tmp_path, tree)) == Ram(GIB, GIB)


@pytest.mark.parametrize(
    ("own", "left"),
    [
        ({"memory.current": f"{10 * GIB}\n"}, Ram(8 * GIB, 1)),
        ({"memory.current": f"{20 * GIB}\n"}, Ram(8 * GIB, 1)),
        ({"memory.high": f"{2 * GIB}\n"}, Ram(2 * GIB, 1)),
        ({"memory.max": "0\n"}, Ram(1, 1)),
        ({"memory.max": "max\n", "memory.high": "0\n"}, Ram(1, 1)),
    ],
)
def test_a_full_group_has_nothing_left_and_is_not_unknown(tmp_path, own, left):
    """Neither negative nor 0, which everywhere means that nobody knows and refuses no load: 1 byte."""
    tree = V2 | {f"sys/fs/cgroup/user.slice/app.scope/{name}": text for name, text in own.items()}
    assert limited(MACHINE, write(tmp_path, tree)) == left


def test_a_limit_is_known_where_the_machine_is_not(tmp_path):
    """The machine's own figures missing, the group's still bound what is loaded."""
    assert limited(Ram(0, 0), write(tmp_path, V2)) == Ram(8 * GIB, 4 * GIB)


@pytest.mark.parametrize("odd", ["--5", "-", "²", "٣", "9" * 5000, "-1", "", "40 96", "1e9", "\0"])
@pytest.mark.parametrize("name", ["memory.max", "memory.high", "memory.current", "memory.stat"])
def test_a_figure_that_is_none_leaves_the_others(tmp_path, name, odd):
    """Whatever one file says: the group above and the machine hold, and what is known here holds too."""
    text = f"inactive_file {odd}\n" if name == "memory.stat" else odd
    tree = V2 | {
        "sys/fs/cgroup/user.slice/memory.max": f"{16 * GIB}\n",
        "sys/fs/cgroup/user.slice/memory.current": f"{GIB}\n",
        f"sys/fs/cgroup/user.slice/app.scope/{name}": text,
    }
    known = {"memory.max": Ram(16 * GIB, 15 * GIB), "memory.current": Ram(8 * GIB, 8 * GIB)}
    known |= {"memory.high": Ram(8 * GIB, 4 * GIB), "memory.stat": Ram(8 * GIB, 2 * GIB)}
    assert limited(MACHINE, write(tmp_path, tree)) == known[name]


def test_a_busy_machine_bounds_the_group(tmp_path):
    """A group may be allowed more than the machine has left."""
    assert limited(Ram(64 * GIB, GIB), write(tmp_path, V2)).available == GIB


@pytest.mark.parametrize("text", ["", "garbage\n", "0::\n", "::::\n", "0::/../../etc\n", "4:memory\n"])
def test_strange_memberships_are_no_limit(tmp_path, text):
    """Whatever /proc says, nothing outside the mount is read and nothing raises."""
    assert limited(MACHINE, write(tmp_path, {"proc/self/cgroup": text, "sys/fs/cgroup/x": ""})) == MACHINE


@pytest.mark.parametrize("stat", ["", "inactive_file\n", "inactive_file many\n"])
def test_an_odd_stat_counts_as_none(tmp_path, stat):
    """Without a readable figure all use counts."""
    tree = {**V2, "sys/fs/cgroup/user.slice/app.scope/memory.stat": stat}
    assert limited(MACHINE, write(tmp_path, tree)).available == 2 * GIB


@pytest.mark.parametrize(
    ("case", "total", "available"),
    [
        ("cgroup-v2-nested", 6 * GIB, 3 * GIB),  # the service stalls at 6 GiB and holds 3; its slice has 8 - 4 left
        ("cgroup-v1-hidden", 4 * GIB, 3 * GIB),
        ("cgroup-hybrid", 10 * GIB, 6 * GIB),
    ],
)
def test_synthetic_machines(tmp_path, case, total, available):
    """Nested groups, groups that cannot be seen, and both versions side by side."""
    assert limited(MACHINE, grow(case, tmp_path)) == Ram(total, available)


def test_this_machine_has_memory():
    """The real figures make sense."""
    ram = machine_ram()
    assert 0 < ram.available <= ram.total
