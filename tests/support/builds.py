"""Engine builds on disk for tests, unpacked the way an install does it."""

from pathlib import Path

from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.engines import Archive
from tests.support.archives import digest


def unpacked(
    engines: Path, archive: Path, sha256: str | None = None, tag: str | None = None, server: str = "llama-server"
) -> tuple[str, str]:
    """Tag and server path of a visible build without a row. `sha256` is the file's own unless it is given."""
    builds = ArchiveBuilds(engines, SystemProcesses())
    promised = digest(archive) if sha256 is None else sha256
    staged = builds.stage((Archive(str(archive), promised),), tag, server)
    try:
        path = builds.publish(staged)
    finally:
        builds.unstage(staged)
    builds.settle(staged.tag)
    return staged.tag, path
