"""Things we tell, never ask: every method may do nothing. The hot path calls these; they must cost a microsecond at most."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol


class Served(NamedTuple):
    """One finished request, for counters, access log and audit line. Seconds, tokens, bytes."""

    trace: str
    key: str
    method: str
    path: str
    dialect: str
    model: str
    status: int
    seconds: float
    queue_seconds: float
    first_byte_seconds: float
    prompt_tokens: int
    completion_tokens: int
    stream: bool
    peer: str
    priority: str = "normal"
    queue_depth: int = 0
    work: str = ""
    """The class that the queue ranked it in."""
    instance: str = ""
    """The key of the child that served it, and below its build; empty: none did."""
    engine: str = ""
    load_seconds: float = 0.0
    child_status: int = 0
    """What its child answered; 0: it was not asked, or said nothing."""
    refusal: str = ""
    """Why it was refused, or failed; never a word of what was asked or answered."""
    warnings: Sequence[str] = ()
    cached_tokens: int = 0
    parent: bytes = b""
    """Its caller's `traceparent`."""
    notes: Sequence[tuple[float, str, Mapping[str, Any]]] = ()
    """What was out of the ordinary: seconds after it came, code, facts."""
    known: bool = False
    """`model` is a name of the catalog; else it is what was asked for."""
    placed: bool = False
    """It had a place at a child."""
    wait_bound: float = 0.0
    """Seconds that it might have stood in line."""
    left: bool = False
    """Its client went before the answer had ended; a stream's `status` was told before."""
    accepted: bool = False
    """What it asked for is done in the background, and told of for itself."""
    ended: float = 0.0
    """When, in Unix time: it may be told later. 0: now."""

    @property
    def outcome(self) -> str:
        """How it ended, in one word: a stream's status was told when it began."""
        if self.left or self.status == CLIENT_LEFT:
            return "left"
        if self.status >= 400:
            return "refused"
        return "broken" if self.refusal or any(code == BROKEN for _, code, _ in self.notes) else "answered"


CLIENT_LEFT: Final = 499
"""Recorded where the client went before a status was decided; never sent."""
BROKEN: Final = "failed_in_stream"
"""The note of a stream that ended in an error although it had begun well."""


class Meter(Protocol):
    """Counters and histograms behind /metrics."""

    def on_served(self, served: Served) -> None: ...

    def on_ended(self, tell: Callable[[], Served]) -> None:
        """A request has ended. `tell` is called once, now or a moment later, and in any case before something is read from here."""
        self.on_served(tell())

    def on_spawn(self, model: str, seconds: float) -> None: ...

    def on_evicted(self, model: str, cause: str) -> None: ...

    def on_crashed(self, model: str) -> None: ...

    def exposition(self, models: Collection[str] | None = None) -> bytes:
        """Prometheus text; with `models`, without series of any other model."""
        ...


class Events(Protocol):
    """What happened to children, engines and the configuration, for the log and for who listens. No fact is a secret."""

    def emit(self, kind: str, **facts: Any) -> None: ...


class Told(NamedTuple):
    """One event as listeners get it. `id` grows by one with each; 0 for what only concerns one listener. `at` is Unix time."""

    id: int
    at: float
    kind: str
    facts: Mapping[str, Any]


class Listening(Protocol):
    """One listener's place."""

    since: int = 0
    """The number of the last event before it."""

    async def next(self, seconds: float) -> Sequence[Told] | None:
        """What was told since the last call; after `seconds` of silence nothing, at the feed's end None.

        A kind `dropped` with a `count` stands where some were lost because this listener was slow, or are too old to be known.
        """
        ...

    def close(self) -> None:
        """Nobody listens here any more."""
        ...


class EventFeed(Protocol):
    """Who listens to events."""

    def listen(self, after: int | None = None, key: str = "") -> Listening:
        """From now on; with the number of an event, also what followed it as far as that is known. `key` is the name of the key that let it in."""
        ...
