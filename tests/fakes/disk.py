"""A disk with as much room as a test says."""

from blazar.application.ports.disk import DiskSpace


class FakeDisk(DiskSpace):
    """Answers `room`, or raises `error`."""

    def __init__(self, room: int = 100 * 2**30, error: OSError | None = None) -> None:
        self.room, self.error = room, error

    def free(self, path: str) -> int:
        if self.error is not None:
            raise self.error
        return self.room
