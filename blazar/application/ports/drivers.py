"""What the application must know of an engine kind; the record itself is data beside the adapter."""

from collections.abc import Collection
from typing import Protocol

from blazar.domain.argv import Flag
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine


class Driver(Protocol):
    """One engine kind: its flags and its limits."""

    @property
    def kind(self) -> EngineKind: ...

    @property
    def flags(self) -> tuple[Flag, ...]: ...

    @property
    def key_file_flag(self) -> str:
        """How its server is told the file that holds the child's key; empty when it takes none that way (D21)."""
        ...

    @property
    def reserved(self) -> Collection[str]:
        """Flags that nobody may add to its command line, in every spelling."""
        ...

    @property
    def load_cap_secs(self) -> float:
        """Absolute bound of a load unless `model_load_timeout_secs` says otherwise (D34)."""
        ...


class FlagProbe(Protocol):
    """Which flags a build knows, from its own `--help`, read once per binary."""

    def known_flags(self, engine: Engine) -> Collection[str]:
        """Empty when the build cannot be asked (then nothing is filtered)."""
        ...
