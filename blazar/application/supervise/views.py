"""What the outside may see of a child, and ask of the supervisor. Advice only: never decide a spawn on a view (habit 5)."""

from typing import NamedTuple, Protocol


class InstanceView(NamedTuple):
    """One instance now. Times are Unix seconds (0: not yet), `expires_at` 0 means it stays; sizes in bytes."""

    key: str  # model, model#N, model@vision
    model: str
    state: str  # a member of domain.instance.machine.State
    engine: str
    provenance: str
    pid: int
    port: int
    ctx: int
    slots: int
    in_flight: int
    waiting: int
    size: int
    rss: int
    expires_at: float
    load_seconds: float
    argv: tuple[str, ...]
    notes: tuple[str, ...]
    last_error: str
    planned: int = 0  # what the plan counts, all places together; 0: nobody could count it
    measured: int = (
        0  # what it uses, all places together; of its main memory, `rss`, without pages it will not read again
    )
    allocated: int = 0  # what of that the engine says it allocated or mapped; 0: it says nothing
    outdated: bool = False  # the configuration means otherwise by now: it is replaced once nothing runs on it
    abandoned: int = 0  # of those in flight: nobody listens any more, and the child computes them to their end
    queued: tuple[
        tuple[str, str, int], ...
    ] = ()  # of those waiting: priority, class, how many; first whose turn comes first
    devices: tuple[tuple[str, int], ...] = ()  # what of that lies on accelerators, by the engine's names
    cache_hint: float | None = None  # share of its prompts that its cache held, smoothed; None: not known
    spec_accept: float | None = None  # share of what was guessed for it that was right
    sleeping: bool = False  # it let its memory go until it is asked for again


class Supervising(Protocol):
    """Management of children; explicit wishes only."""

    def views(self) -> list[InstanceView]:
        """Live instances, by key; a dead child is never listed (case G5)."""
        ...

    async def load(self, model: str, keep_alive: float | None = None) -> InstanceView:
        """Bring it to serve; returns when it does."""
        ...

    async def evict(self, ref: str, *, force: bool = False, cause: str = "asked") -> list[str]:
        """Drain (unless forced) and stop every instance that `ref` means; their keys. Unknown models raise."""
        ...

    def reset(self) -> list[str]:
        """Close every open breaker; the keys that had one."""
        ...
