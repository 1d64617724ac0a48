"""Free space, as the file system tells it."""

import shutil
from pathlib import Path

from blazar.application.ports.disk import DiskSpace


class SystemDisk(DiskSpace):
    """The real disks."""

    def free(self, path: str) -> int:
        folder = Path(path)
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return shutil.disk_usage(folder).free
