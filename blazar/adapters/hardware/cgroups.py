"""The control groups around this process, version 1 and 2 alike. Finds folders and reads single numbers, judges nothing."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from blazar.adapters.hardware.figures import whole


def _memberships(root: Path, controller: str) -> Iterator[tuple[str, str]]:
    """(mount below sys/fs/cgroup, path) of the unified hierarchy and of `controller`'s own."""
    try:
        text = (root / "proc/self/cgroup").read_text(errors="surrogateescape")
    except OSError:
        return
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0" and not names:
            yield "", path  # version 2 alone
            yield "unified", path  # version 2 beside version 1
        elif controller in names.split(","):
            yield controller, path
            if names != controller:
                yield names, path  # co-mounted controllers share a folder: cpu,cpuacct


def folders(root: Path, controller: str) -> Iterator[Path]:
    """Every existing group folder from this process up to the mount: a limit anywhere above holds too.

    A container often sees its own group mounted as the top while /proc still names the host's path, so a folder that is
    not there is skipped rather than believed.
    """
    for mount, path in _memberships(root, controller):
        top = root / "sys/fs/cgroup" / mount
        names = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
        for length in range(len(names), -1, -1):
            folder = top.joinpath(*names[:length])
            if _there(folder):
                yield folder


def _there(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:  # a name that is too long, or a folder that may not be looked at
        return False


def number(file: Path) -> int | None:
    """The number in a one-number file; None for "max", for what is no number, and for no such file."""
    try:
        return whole(file.read_text(errors="replace").strip())
    except OSError:
        return None
