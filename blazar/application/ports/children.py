"""Engine processes: starting them, signalling exactly one pid, reading what they say."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from blazar.application.ports.upstream import Upstream
from blazar.domain.argv import Decision
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
    ctx_key: str = "ctx"  # the setting that bounds it
    slots: int = 1
    weights: int = 0  # bytes on disk
    decisions: tuple[Decision, ...] = ()  # why each word is there
    socket: str = ""  # where it listens instead of a port; empty: TCP
    auth: bool = True  # whether it gets a key of its own, where its kind takes one
    listed: str = ""  # what its /v1/models must list for it to be ours; empty: the served name


HOST = "host"
"""The name of main memory among devices, as in `fit.Share`."""


class Buffer(NamedTuple):
    """Memory that an engine says it allocated: `device` by its name or `HOST`, `what` for, in bytes."""

    device: str
    what: str  # weights, kv, recurrent, compute, output, lora; of the host's weights apart: MAPPED, REPACKED
    bytes: int


MAPPED = "mapped"
"""Host weights that lie in a mapped file: as the engine announces them, the stretch from the first to the last of them."""
REPACKED = "repacked"
"""Host weights that the engine copied out of the file into an order of its own."""


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

    def needed(self, weights: int = 0) -> "Measured":
        """The same without pages of files that were read once, to be repacked.

        Nobody reads those again, and the system takes them back when it likes. Which pages of the announced stretch are
        still in use, the log leaves open: at least the stretch without what was repacked, at most all of it, for a tied
        embedding is repacked and read from the file as well. `weights`, what the plan counts for the host's models, decides
        between these bounds and not beyond; 0: unknown, then it is the least.
        """
        stretch, copied, own = (self._of_host(what) for what in (MAPPED, REPACKED, "weights"))
        if not stretch or not copied:
            return self
        used = min(max(weights - copied - own, stretch - copied, 0), stretch)
        spare = max(0, min(self.mapped, stretch) - used)
        buffers = tuple(one._replace(bytes=used) if one.what == MAPPED else one for one in self.buffers)
        return Measured(self.resident - spare, self.mapped - spare, self.devices, buffers)

    def _of_host(self, what: str) -> int:
        return sum(buffer.bytes for buffer in self.buffers if buffer.device == HOST and buffer.what == what)


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

    async def slots(self) -> int:
        """How many requests at once it says it takes, once it is ready; 0: it does not say."""
        return 0

    def progress(self) -> int:
        """A number that grows while it does something: log bytes plus bytes read (D34)."""
        ...

    def last_lines(self, count: int = 5) -> Sequence[str]:
        """The newest lines it printed, oldest first."""
        ...

    def memory(self) -> Measured:
        """What it uses now. Cheap: asks the operating system and its own log, no driver."""
        return Measured()

    def asleep(self) -> bool:
        """Whether it let its memory go until it is asked for again. Cheap, like `memory`."""
        return False

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
