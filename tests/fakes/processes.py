"""Processes that exist only on paper."""

from collections.abc import Mapping

from blazar.application.ports.processes import Processes


class FakeProcesses(Processes):
    """`running` maps pids to start times; `deadly` are the signals that end one, `foreign` pids belong to somebody else."""

    def __init__(self, running: Mapping[int, str] | None = None, deadly: tuple[int, ...] = (15, 9)) -> None:
        self.running = dict(running or {})
        self.deadly = deadly
        self.foreign: set[int] = set()
        self.signals: list[tuple[int, int]] = []

    def start_time(self, pid: int) -> str:
        return self.running.get(pid, "")

    def signal(self, pid: int, start: str, number: int) -> bool:
        if not self.is_same(pid, start):
            return False
        if pid in self.foreign:
            raise PermissionError
        self.signals.append((pid, number))
        if number in self.deadly:
            del self.running[pid]
        return True

    def ended_within(self, pid: int, start: str, seconds: float) -> bool:
        return not self.is_same(pid, start)
