"""Files that clients sent and batches made, as bytes below an id. Who owns one and what it is called is not known here."""

from collections.abc import Collection
from typing import Protocol


class Intake(Protocol):
    """A file on its way in. One of `keep` and `discard` ends it; until then nobody sees it, and a crash leaves nothing of it."""

    size: int
    """Bytes written so far."""

    def write(self, data: bytes) -> None: ...

    def keep(self, id_: str) -> None:
        """From now on it is there, below `id_`, whole and on disk; in place of one that was."""
        ...

    def discard(self) -> None:
        """It never was. Also after `keep`, where it does nothing."""
        ...


class Reading(Protocol):
    """A file being read; what is removed meanwhile is read to its end."""

    def read(self, most: int) -> bytes: ...

    def close(self) -> None: ...


class KeptFiles(Protocol):
    """Blocking: call it off the loop. Everything raises `StoreTrouble` where the disk will not."""

    def begin(self, expected: int = 0) -> Intake:
        """A new file of about so many bytes (0: unknown); raises `TooLarge` where the disk has no room for them."""
        ...

    def open(self, id_: str) -> Reading | None:
        """None where there is no such file."""
        ...

    def remove(self, id_: str) -> None:
        """Gone, if it was there."""
        ...

    def sweep(self, known: Collection[str]) -> None:
        """What a crash left: everything below an id that is not `known`, and what was on its way in."""
        ...
