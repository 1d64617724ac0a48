"""Engine processes: starting them, signalling exactly one pid, reading what they say."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from blazar.application.ports.upstream import Upstream
from blazar.domain.kinds import EngineKind


class LaunchPlan(NamedTuple):
    """Everything a spawn needs but the endpoint, which the adapter chooses and spells (`host`, `port`, key file)."""

    key: str  # instance key: model, model#N, model@vision
    model: str  # the served name, passed as the child's alias
    kind: EngineKind
    tag: str
    words: tuple[str, ...]  # program words, then compiled flags
    env: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  # sentences: flags the build does not know, things left out
    ctx: int = 0  # one request's window
    slots: int = 1
    weights: int = 0  # bytes on disk


HOST = "host"
"""The name of main memory among devices, as in `fit.Share`."""


class Buffer(NamedTuple):
    """Memory that an engine says it allocated: `device` by its name or `HOST`, `what` for, in bytes."""

    device: str
    what: str  # weights, kv, recurrent, compute, output, lora
    bytes: int


class Measured(NamedTuple):
    """What a child uses now; bytes, 0 where unknown.

    `resident` is its main memory, mapped weights included; `mapped` is that part of it which files back and which the
    system counts as available although it is in use. `devices` is by the engine's names for them. `buffers` is what the
    engine itself said, where it says it.
    """

    resident: int = 0
    mapped: int = 0
    devices: tuple[tuple[str, int], ...] = ()
    buffers: tuple[Buffer, ...] = ()

    @property
    def total(self) -> int:
        """Main memory and devices together."""
        return self.resident + sum(size for _, size in self.devices)


class Child(Protocol):
    """One running process. All methods are safe after its death."""

    pid: int
    port: int
    argv: tuple[str, ...]
    upstream: Upstream

    def signal(self, number: int) -> None:
        """To this single pid (D5); nothing happens when it is gone."""
        ...

    async def wait(self) -> int:
        """Its exit status, negative for a signal. A zombie counts as dead (D31)."""
        ...

    async def is_ready(self) -> bool:
        """One poll: healthy, and it is ours (key and alias checked)."""
        ...

    def progress(self) -> int:
        """A number that grows while it does something: log bytes plus bytes read (D34)."""
        ...

    def last_lines(self, count: int = 5) -> Sequence[str]:
        """The newest lines it printed, oldest first."""
        ...

    def memory(self) -> Measured:
        """What it uses now. Cheap: asks the operating system and its own log, no driver."""
        return Measured()

    async def aclose(self) -> None:
        """After its death: close connections, remove pid and key files."""
        ...


class Orphan(NamedTuple):
    """A live child that an earlier daemon left behind."""

    key: str
    pid: int
    tag: str


class Children(Protocol):
    """Spawns, and knows what an earlier daemon left."""

    async def spawn(self, plan: LaunchPlan) -> Child:
        """Raises `SpawnFailed` when the program cannot be started at all."""
        ...

    def orphans(self) -> list[Orphan]:
        """Live processes named by pidfiles (pid and start time agree); stale files are removed on the way."""
        ...

    async def reap(self, orphan: Orphan) -> None:
        """TERM, grace, KILL, remove its files."""
        ...
