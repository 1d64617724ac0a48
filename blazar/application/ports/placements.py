"""Notes of models that are being entered: what it takes to put things right after a process that died over it. Deletes no weights itself."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from blazar.domain.overlay import Overlay


class Placement(NamedTuple):
    """`artefact` is the version that was being entered under `name`; `overlay` is what lay over the one before (None: nothing)."""

    name: str
    artefact: str
    overlay: Overlay | None = None


class Placements(Protocol):
    """Blocking. Whoever begins, or mends, has that name for itself. Raises `StoreTrouble` where the disk refuses."""

    def begin(self, placement: Placement, files: Collection[str]) -> None:
        """Noted before the first change; `files` are those that links will be made of, and those that the name has now."""
        ...

    def check_writable(self) -> None:
        """Raises `StoreTrouble` where nothing can be noted."""
        ...

    def find(self, name: str) -> Placement | None:
        """What was begun and not ended."""
        ...

    def names(self) -> tuple[str, ...]:
        """All of which that is true."""
        ...

    def left(self, name: str) -> tuple[tuple[str, str], ...]:
        """Links in the models folder that a pull of this name made, each with the model's own folder ("" without one).

        What a person put there is none of them, whatever it is called.
        """
        ...

    def end(self, name: str) -> None:
        """It is entered, or everything is as before. Idempotent."""
        ...
