"""Control groups, version 1 and 2."""

from pathlib import Path

import pytest

from blazar.adapters.hardware.cgroups import folders, number


def machine(root: Path, memberships: str, *groups: str) -> Path:
    """A root with these lines in /proc/self/cgroup and these folders below /sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(memberships)
    for group in groups:
        (root / "sys/fs/cgroup" / group).mkdir(parents=True)
    return root


def found(root: Path, controller: str) -> list[str]:
    return [str(folder.relative_to(root / "sys/fs/cgroup")) for folder in folders(root, controller)]


def test_version_2_up_to_the_mount(tmp_path):
    """From the process's own group outwards: a limit anywhere above holds too."""
    root = machine(tmp_path, "0::/a/b\n", "a/b")
    assert found(root, "memory") == ["a/b", "a", "."]


def test_version_1_by_controller(tmp_path):
    """Its own hierarchy, alone or co-mounted; those of other controllers do not count."""
    root = machine(tmp_path, "4:memory:/m\n3:cpu,cpuacct:/c\n", "memory/m", "cpu,cpuacct/c", "cpu")
    assert found(root, "memory") == ["memory/m", "memory"]
    assert found(root, "cpu") == ["cpu", "cpu,cpuacct/c", "cpu,cpuacct"]


def test_both_versions_side_by_side(tmp_path):
    """Version 2 then lies below `unified`."""
    root = machine(tmp_path, "1:memory:/m\n0::/u\n", "memory/m", "unified/u")
    assert found(root, "memory") == ["memory/m", "memory", ".", "unified/u", "unified"]


def test_a_group_that_is_not_there_is_skipped(tmp_path):
    """A container sees its own group as the top while /proc names the host's path, also one with `..`."""
    assert found(machine(tmp_path, "0::/../host/docker/x\n", "."), "memory") == ["."]


@pytest.mark.parametrize("text", ["", "nonsense", "0", "::\n", "x:y"])
def test_strange_memberships_find_nothing_beyond_the_mount(tmp_path, text):
    """Nothing is raised."""
    assert found(machine(tmp_path, text), "memory") == []


def test_without_proc_there_are_no_groups(tmp_path):
    """Another system."""
    assert list(folders(tmp_path, "memory")) == []


def test_a_group_that_cannot_be_looked_at_is_skipped(tmp_path):
    """A name longer than the system takes, or not in UTF-8: those around it still count."""
    root = machine(tmp_path, "0::/a/" + "x" * 5000 + "\n", "a")
    assert found(root, "memory") == ["a", "."]
    (root / "proc/self/cgroup").write_bytes(b"0::/a/\xff\n")
    assert found(root, "memory") == ["a", "."]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7\n", 7),
        ("max\n", None),
        ("-1\n", -1),
        ("", None),
        ("x", None),
        ("--5", None),
        ("²", None),
        ("9" * 5000, None),
        ("4096\n4096", None),
        ("\udcff", None),
    ],
)
def test_one_number_a_file(tmp_path, text, value):
    """`max` and anything that is no number is no limit; nor is a missing file."""
    file = tmp_path / "memory.max"
    file.write_bytes(text.encode(errors="surrogateescape"))
    assert number(file) == value
    assert number(tmp_path / "missing") is None
