"""What the application must know of an engine kind; the record itself is data beside the adapter."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from blazar.domain.argv import Flag
from blazar.domain.kinds import EngineKind
from blazar.domain.launch import Brief, Drafts, Resolved
from blazar.domain.manifest import Manifest
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
    def sockets(self) -> bool:
        """Whether its server can listen on a socket file instead of a port."""
        ...

    @property
    def reserved(self) -> Collection[str]:
        """Flags that nobody may add to its command line, in every spelling."""
        ...

    @property
    def load_cap_secs(self) -> float:
        """Absolute bound of a load unless `model_load_timeout_secs` says otherwise (D34)."""
        ...

    @property
    def server(self) -> str:
        """What its program is called in an archive."""
        ...

    @property
    def joins(self) -> bool:
        """Whether it takes `--flag=value` in one word."""
        ...

    @property
    def extra_keys(self) -> Sequence[str]:
        """Settings with words of a person's own for its command line, the winning one last."""
        ...

    @property
    def resolve(self) -> Callable[[Brief], Resolved]:
        """What configuration leaves open, as settings that `flags` read. Pure; may raise `Malformed`."""
        ...

    @property
    def drafts(self) -> Callable[[Brief], Drafts]:
        """Who will guess tokens ahead. Asked before anything is planned; may raise `Malformed`."""
        ...


class FlagProbe(Protocol):
    """What a build can be told, from its own `--help`, read once per binary."""

    def manifest(self, engine: Engine) -> Manifest:
        """Empty when the build cannot be asked (then nothing is filtered)."""
        ...
