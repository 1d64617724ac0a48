"""Room on disk."""

from typing import Protocol


class DiskSpace(Protocol):
    """Asks the file system that holds a path."""

    def free(self, path: str) -> int:
        """Bytes that this user may still write there; raises OSError. A path that is not there yet means its parent."""
        ...
