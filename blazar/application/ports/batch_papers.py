"""What a batch works with on disk: its requests, and a journal of its results that a crash cannot take back."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol


class Handful(NamedTuple):
    """Some lines in a row, without their ends, and where the next ones begin. No lines: the end."""

    lines: tuple[bytes, ...]
    following: int


class BatchPapers(Protocol):
    """Blocking: call it off the loop. Everything raises `StoreTrouble` where the disk will not."""

    def take(self, batch: str, file: str) -> bool:
        """A kept file becomes the batch's requests, also when it is removed later. False: there is no such file."""
        ...

    def write(self, batch: str, lines: Iterable[bytes]) -> None:
        """Requests that came another way, a line each."""
        ...

    def requests(self, batch: str, start: int = 0) -> Handful:
        """Lines of its requests from that byte on, at least one and about a megabyte; one beyond every bound is cut.

        Raises `NotFound` where the papers are gone.
        """
        ...

    def results(self, batch: str, start: int = 0) -> Handful:
        """Lines of its journal, in the same way. Half a line at the end was never written."""
        ...

    def append(self, batch: str, lines: Iterable[bytes], *, durable: bool) -> None:
        """More journal. `durable`: it and what was appended before outlives a power failure when this returns."""
        ...

    def publish(self, batch: str, marks: str, id_: str) -> int:
        """Journal lines that begin with one of `marks` become the kept file `id_`, without the mark; its bytes.

        Without any such line there is no file, and 0 bytes.
        """
        ...

    def discard(self, batch: str) -> None:
        """The batch is through; its published files stay."""
        ...

    def sweep(self, known: Collection[str]) -> None:
        """Papers of batches that are not `known` go."""
        ...
