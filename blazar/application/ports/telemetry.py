"""Things we tell, never ask: every method may do nothing. The hot path calls these; they must cost a microsecond at most."""

from typing import Any, NamedTuple, Protocol


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


class Meter(Protocol):
    """Counters and histograms behind /metrics."""

    def on_served(self, served: Served) -> None: ...

    def on_spawn(self, model: str, seconds: float) -> None: ...

    def on_evicted(self, model: str, cause: str) -> None: ...

    def on_crashed(self, model: str) -> None: ...

    def exposition(self) -> bytes:
        """Prometheus text."""
        ...


class Events(Protocol):
    """What happened to children and engines, for the log (and later /api/events)."""

    def emit(self, kind: str, **facts: Any) -> None: ...
