"""Other processes of this machine: whether one is still the one we knew, signals to it alone, and waiting for its end.

A pid alone names nobody: pids are recycled. Every question but the first takes the start time along (D5).
"""

from typing import Protocol


class Processes(Protocol):
    """Whatever runs here, ours or not. A zombie counts as dead (D31)."""

    def start_time(self, pid: int) -> str:
        """When it began, in a form good only for comparing; "" when there is no such process or nobody can tell."""
        ...

    def is_same(self, pid: int, start: str) -> bool:
        """Whether the process that began at `start` still runs under this pid."""
        return bool(start) and self.start_time(pid) == start

    def signal(self, pid: int, start: str, number: int) -> bool:
        """Signal that single process, never a successor under its pid; whether it was there. May raise `PermissionError`."""
        ...

    def ended_within(self, pid: int, start: str, seconds: float) -> bool:
        """Wait, blocking, until it is gone, but not for longer than that; whether it is."""
        ...
