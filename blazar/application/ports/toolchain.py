"""What building from source needs of the machine: compilers and the like, and a place to work in."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from blazar.domain.building import Compiler


class Work(NamedTuple):
    """Where a build is made. The folders stay when it fails or is interrupted, so that the next try goes on where it ended."""

    source: str
    folder: str
    log: str


class BuildFailed(Exception):
    """A program that did not do its part; `lines` are the last ones that it printed."""

    def __init__(self, why: str, lines: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.lines = tuple(lines)


class Toolchain(Protocol):
    """Programs on the search path."""

    def find(self, program: str) -> str:
        """Its path; empty where it is not there."""
        ...

    def ask(self, *words: str) -> str:
        """What it prints. Raises `BuildFailed`."""
        ...

    def compilers(self) -> list[Compiler]:
        """Every gcc and clang, by whatever version it is called."""
        ...

    def run(self, words: Sequence[str], log: str, heard: Callable[[str], None]) -> None:
        """To its end, each line heard and logged. Interrupted, it is ended. Raises `BuildFailed`."""
        ...

    def cpus(self) -> int:
        """How many jobs may run at the same time."""
        ...


class Workshop(Protocol):
    """The folders that builds are made in, beside those that builds are in."""

    def open(self, tag: str, source: str, sha256: str) -> Work:
        """Source at hand: a verified archive unpacked, or a person's own folder as it is.

        Nobody else gets it until `leave`. Raises `NotFound`, `Malformed` or `Conflict`.
        """
        ...

    def free(self) -> int:
        """Bytes that may still be written there."""
        ...

    def collect(self, work: Work, programs: Sequence[str]) -> str:
        """A new folder with the programs and their libraries, and nothing else. Raises `BuildFailed`."""
        ...

    def close(self, tag: str) -> None:
        """Nothing of the work is needed any more."""
        ...

    def drop(self, tag: str) -> bool:
        """Away with work that was only begun; whether there was any. Raises `Conflict` while somebody is at it."""
        ...

    def begun(self) -> Mapping[str, int]:
        """Bytes of what lies there, by tag."""
        ...

    def leave(self, tag: str) -> None:
        """Others may open it now."""
        ...
