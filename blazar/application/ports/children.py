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

    def rss(self) -> int:
        """Resident bytes now; 0 when unknown."""
        return 0

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
