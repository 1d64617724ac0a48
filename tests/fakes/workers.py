"""Workers that answer what a test says."""

from collections.abc import Sequence

from blazar.application.ports.workers import State, Worker, Workers


class FakeWorkers(Workers):
    """Every worker serves, but for those in `found`. `asked` are the questions so far."""

    def __init__(self, *found: Worker) -> None:
        self.found = {one.endpoint: one for one in found}
        self.asked: list[tuple[str, ...]] = []

    async def ask(self, endpoints: Sequence[str]) -> tuple[Worker, ...]:
        self.asked.append(tuple(endpoints))
        return tuple(self.found.get(one) or Worker(one, State.SERVES, version="7.0.0") for one in endpoints)
