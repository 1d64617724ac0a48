"""One child's HTTP door, in push mode: bytes are handed on as they arrive, nothing awaits per chunk."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from blazar.domain.errors import Fault

Headers = Sequence[tuple[bytes, bytes]]


class ChildCall(NamedTuple):
    """One request to a child. `path` includes the query. Host, auth, length and connection headers are the pool's."""

    method: bytes
    path: bytes
    body: bytes = b""
    headers: Headers = ()


class ChildAnswer(NamedTuple):
    """A whole answer of a child."""

    status: int
    headers: Headers
    body: bytes


class Sink(Protocol):
    """Receives one answer: one head, any number of bodies, then exactly one end or fault.

    Calls come from the event loop and must not block. After `Exchange.abort` nothing is called any more.
    """

    def on_head(self, status: int, headers: Headers) -> None: ...

    def on_body(self, data: bytes) -> None: ...

    def on_end(self) -> None: ...

    def on_fault(self, fault: Fault) -> None:
        """The connection broke or the answer is not HTTP; also after a head."""
        ...


class Exchange(Protocol):
    """A request under way."""

    def pause(self) -> None:
        """Stop reading from the child (its client is slow)."""
        ...

    def resume(self) -> None: ...

    def abort(self) -> None:
        """Close the child connection at once, so that the engine stops computing. Safe to call twice."""
        ...


class Upstream(Protocol):
    """Connections to one child, kept alive, last-in first-out."""

    def send(self, call: ChildCall, sink: Sink) -> Exchange: ...

    async def fetch(self, call: ChildCall, within: float) -> ChildAnswer:
        """A whole small answer; raises `ChildDied`, or `ChildSilent` after `within` seconds."""
        ...

    async def aclose(self) -> None:
        """Close every connection; requests under way get a fault."""
        ...
