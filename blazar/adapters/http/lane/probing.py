"""Two looks at the slots of a child that has sent no head for too long. Decides nothing but when to look (`domain/instance/progress.py`).

Asked over the child's own door beside the request that waits there, which must not be given up before: it would be cancelled, and its
slot would rest for that.
"""

from collections.abc import Callable
from typing import Final

from blazar.adapters.http.lane import codec
from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.upstream import ChildCall, Exchange, Headers, Sink, Upstream
from blazar.domain.errors import Fault
from blazar.domain.instance.progress import Look, Looked, busy_slots, judged
from blazar.domain.manners import SLOTS

APART: Final = 2.0
"""Seconds between the looks: the slowest engine writes a token in less, or reads a part of a prompt."""
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of such an answer that are read; a build that tells prompts and texts of its slots, too, stays far below."""


class Probe(Sink):
    """One child, asked twice; `tell` hears once what came of it.

    ODD: each answer is waited for as long as the head was (`patience`): llama-server answers between two batches, and a large batch of a
    large model on a processor takes minutes.
    """

    def __init__(self, upstream: Upstream, clock: Clock, patience: float, tell: Callable[[Look], None]) -> None:
        self._upstream, self._clock, self._patience, self._tell = upstream, clock, patience, tell
        self._first: Looked | None = None
        self._status = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._over = False
        self._exchange: Exchange | None = None
        self._timer: Timer | None = None
        self._ask()

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._exchange is not None:
            self._exchange.abort()

    def _ask(self) -> None:
        self._status, self._size = 0, 0
        self._parts.clear()
        self._timer = self._clock.call_later(self._patience, lambda: self._end(Look.WEDGED))
        exchange = self._upstream.send(ChildCall(b"GET", SLOTS.encode()), self)
        self._exchange = exchange
        if self._over:  # an upstream may fail before it returns
            exchange.abort()

    def on_head(self, status: int, headers: Headers) -> None:
        del headers
        self._status = status

    def on_body(self, data: bytes) -> None:
        self._size += len(data)
        self._parts.append(data)
        if self._size > LARGEST:
            self._end(Look.UNKNOWN)

    def on_fault(self, fault: Fault) -> None:
        del fault
        self._end(Look.WEDGED)

    def on_end(self) -> None:
        seen = self._seen()
        if seen is None:
            self._end(Look.UNKNOWN)
        elif self._first is None:
            self._first = seen
            assert self._timer is not None
            self._timer.cancel()
            self._timer = self._clock.call_later(min(APART, self._patience), self._ask)
        else:
            self._end(judged(self._first, seen))

    def _seen(self) -> Looked | None:
        if self._status != 200:
            return None
        try:
            return busy_slots(codec.decode(b"".join(self._parts)))
        except ValueError:
            return None

    def _end(self, look: Look) -> None:
        if not self._over:
            self.cancel()
            self._tell(look)
