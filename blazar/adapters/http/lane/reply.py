"""The two ends of the lane: what comes in, and where the answer goes. No web framework, no ASGI."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.upstream import Headers


class LaneRequest(NamedTuple):
    """A whole request. Header names are lower case."""

    method: str
    path: str
    query: bytes
    headers: Mapping[bytes, bytes]
    body: bytes
    record: RequestRecord
    key_models: frozenset[str] | None = None
    """The models of a scoped key; None: any."""


class Reply(Protocol):
    """Where an answer goes. Its methods never block, except `carry`; after `gone` they do nothing.

    The door calls `on_gone` once when the client leaves, `on_pause` when it reads too slowly and `on_resume` when it has
    caught up. The lane sets these three.
    """

    shares: bool = True
    """Whether the answer to an identical request will do."""
    gone: bool
    on_gone: Callable[[], None] | None
    on_pause: Callable[[], None] | None
    on_resume: Callable[[], None] | None

    def start(self, status: int, headers: Headers) -> None:
        """The head. It leaves together with the first bytes."""
        ...

    def write(self, data: bytes) -> None: ...

    def push(self, data: bytes) -> None:
        """As `write`, and at once where the client takes it: nobody is woken for a piece of a stream."""
        self.write(data)

    def finish(self) -> None:
        """The answer is complete; the transfer coding is finished (case D4)."""
        ...

    def abort(self) -> None:
        """The announced length cannot be kept any more: close the connection."""
        ...

    async def carry(self) -> None:
        """Send what is written, as it is written, until `release`."""
        ...

    def release(self) -> None:
        """Let one `carry` return once everything written so far has left; a request that is asked again carries again."""
        ...
