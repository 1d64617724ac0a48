"""Python environments that engines live in, made by the package installer of Python."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from blazar.domain.kinds import EngineKind

Say = Callable[[str], None]
"""Hears one line of progress."""


class Made(NamedTuple):
    """An environment that is not visible yet: its folder, its interpreter within that, and the exact packages in it."""

    folder: str
    python: str
    pins: tuple[str, ...]


class Venvs(Protocol):
    """Environments under a hidden name, until somebody publishes them. Blocking; long.

    Everything raises `RegistryTrouble` with the installer's last lines where it does not come to a good end.
    """

    def newest(self, requirement: str) -> str:
        """The version that the index would give now; nothing is downloaded but what says so."""
        ...

    def make(
        self, tag: str, requirements: Sequence[str], more: Callable[[tuple[str, ...]], Sequence[str]], say: Say
    ) -> Made:
        """All of them, then what `more` makes of the pins. Its programs are told of the place where the build will be."""
        ...

    def try_out(self, made: Made, kind: EngineKind, words: Sequence[str], knows: str) -> None:
        """Run the server's `--help` and find the flag; raises `Malformed` with the reason where it does not run here."""
        ...

    def drop(self, made: Made) -> None:
        """Delete what was not published."""
        ...
