"""What the application must know of an engine kind; the record itself is data beside the adapter."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from blazar.domain.argv import Flag
from blazar.domain.child_metrics import Metrics
from blazar.domain.kinds import EngineKind
from blazar.domain.launch import Brief, Drafts, Resolved
from blazar.domain.manifest import Manifest
from blazar.domain.manners import Manners
from blazar.domain.records import Engine
from blazar.domain.told_paths import Paths


class Driver(Protocol):
    """One engine kind: its flags and its limits."""

    @property
    def kind(self) -> EngineKind: ...

    @property
    def flags(self) -> tuple[Flag, ...]: ...

    @property
    def host_flag(self) -> str:
        """How its server is told where to listen, an address or a socket file."""
        ...

    @property
    def port_flag(self) -> str: ...

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
    def because(self) -> Mapping[str, str]:
        """Why they are reserved, as `teaching.extra_arg_reserved` knows it."""
        ...

    @property
    def repeats(self) -> Collection[str]:
        """Flags that may be said several times on its command line."""
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
    def manners(self) -> Manners:
        """How its server wants to be asked."""
        ...

    @property
    def metrics(self) -> Metrics:
        """Where its server tells what it counts, and under which names."""
        ...

    @property
    def extra_keys(self) -> Sequence[str]:
        """Settings with words of a person's own for its command line, the winning one last."""
        ...

    @property
    def workers_flag(self) -> str:
        """How its server is told of workers whose devices it computes on, `host:port` with commas between them; empty: not at all."""
        ...

    @property
    def guesses(self) -> Callable[[Sequence[str]], bool]:
        """Whether a child with this command line guesses tokens ahead, of which it has no log probabilities then."""
        ...

    @property
    def paths(self) -> Mapping[str, Paths]:
        """Flags whose words name files or folders that have to be there, and how they do."""
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
