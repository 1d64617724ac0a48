"""Papers of batches in memory. Three lines are a handful, so that a test of four meets more than one."""

from collections.abc import Collection, Iterable

from blazar.application.ports.batch_papers import BatchPapers, Handful
from blazar.domain.errors import NotFound
from tests.fakes.kept_files import MemoryKeptFiles

HANDFUL = 3


class MemoryPapers(BatchPapers):
    """A position counts lines. `synced` is how many results of a batch outlive a power failure."""

    def __init__(self, kept: MemoryKeptFiles) -> None:
        self.kept = kept
        self.asked: dict[str, list[bytes]] = {}
        self.told: dict[str, list[bytes]] = {}
        self.synced: dict[str, int] = {}

    def take(self, batch: str, file: str) -> bool:
        if file not in self.kept.files:
            return False
        self.asked[batch] = self.kept.files[file].splitlines()
        return True

    def write(self, batch: str, lines: Iterable[bytes]) -> None:
        self.asked[batch] = [*lines]

    def requests(self, batch: str, start: int = 0) -> Handful:
        if batch not in self.asked:
            raise NotFound("no such papers")
        return self._some(self.asked[batch], start)

    def results(self, batch: str, start: int = 0) -> Handful:
        return self._some(self.told.get(batch, []), start)

    def append(self, batch: str, lines: Iterable[bytes], *, durable: bool) -> None:
        self.kept.check()
        told = self.told.setdefault(batch, [])
        told += lines
        if durable:
            self.synced[batch] = len(told)

    def publish(self, batch: str, marks: str, id_: str) -> int:
        lines = [line[1:] for line in self.told.get(batch, []) if line[:1].decode() in marks]
        data = b"".join(line + b"\n" for line in lines)
        if data:
            self.kept.files[id_] = data
        return len(data)

    def discard(self, batch: str) -> None:
        self.asked.pop(batch, None)
        self.told.pop(batch, None)

    def sweep(self, known: Collection[str]) -> None:
        for batch in {*self.asked, *self.told} - set(known):
            self.discard(batch)

    def _some(self, lines: list[bytes], start: int) -> Handful:
        some = tuple(lines[start : start + HANDFUL])
        return Handful(some, start + len(some))
