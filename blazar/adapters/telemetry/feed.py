"""Events for whoever listens now: a short history, a bounded queue for each listener. Holds nobody up and hides no loss.

Numbers begin at 1 with every start of the daemon. Tellers may be in any thread, listeners belong to one loop.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import EventFeed, Events, Listening, Told
from blazar.application.supervise.waiting import settle, within
from blazar.domain.harmless import without_secrets

HISTORY: Final = 256
"""Events that are kept for a listener that comes back; a busy day has about as many in an hour."""
BOUND: Final = 256
"""Events that may wait for one listener: one that reads slower loses some and is told how many."""


class Feed(Events, EventFeed):
    """Tells `inner` (the log) first, then everybody who listens."""

    def __init__(self, inner: Events, clock: Clock, history: int = HISTORY, bound: int = BOUND) -> None:
        self._inner, self._clock, self._bound = inner, clock, bound
        self._history: deque[Told] = deque(maxlen=history)
        self._last = 0
        self._listeners: set[_Listener] = set()
        self._lock = threading.Lock()
        self._closed = False

    def emit(self, kind: str, **facts: Any) -> None:
        facts = {name: without_secrets(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
        self._inner.emit(kind, **facts)
        with self._lock:
            self._last += 1
            told = Told(self._last, self._clock.wall(), kind, facts)
            self._history.append(told)
            for listener in self._listeners:
                listener.offer(told)

    def listen(self, after: int | None = None, key: str = "") -> Listening:
        with self._lock:
            listener = _Listener(self, self._clock, self._bound, self._since(after))
            listener.key, listener.since = key, self._last
            if self._closed:
                listener.end()
            else:
                self._listeners.add(listener)
            return listener

    def _since(self, after: int | None) -> list[Told]:
        """What came after that number and is still known, behind how much is not. A number of an earlier start knows nothing."""
        if after is None:
            return []
        if after > self._last:
            after = 0
        kept = [told for told in self._history if told.id > after]
        lost = self._last - after - len(kept)
        return [_dropped(lost, self._clock), *kept] if lost else kept

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._listeners)

    def leave(self, listener: "_Listener") -> None:
        """It listens no more."""
        with self._lock:
            self._listeners.discard(listener)

    async def start(self) -> None:
        """It hears from the beginning."""

    def part(self, stays: Callable[[str], bool] = lambda _key: False) -> None:
        """The end of the streams of those keys that do not stay, once they have what was told before: who comes again is judged again."""
        with self._lock:
            listeners = [one for one in self._listeners if not stays(one.key)]
            self._listeners.difference_update(listeners)
        for listener in listeners:
            listener.end()

    async def aclose(self) -> None:
        """Nobody hears any more."""
        with self._lock:
            self._closed = True
        self.part()


def _dropped(count: int, clock: Clock) -> Told:
    """Without a number: who comes back with the last one that it had gets what is still known of the rest."""
    return Told(0, clock.wall(), "dropped", {"count": count})


class _Listener(Listening):
    """A queue with an end. Made in the loop that reads it."""

    def __init__(self, feed: Feed, clock: Clock, bound: int, missed: list[Told]) -> None:
        self._feed, self._clock, self._bound = feed, clock, bound
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Told] = deque(missed)
        self._dropped = 0
        self._ended = False
        self._woken: asyncio.Future[None] | None = None
        self.key = ""

    def offer(self, told: Told) -> None:
        """From any thread. ODD: the newest event is dropped, not the oldest: what was read then has no hole in its middle."""
        if self._dropped or len(self._waiting) >= self._bound:
            self._dropped += 1
        else:
            self._waiting.append(told)
        self._loop.call_soon_threadsafe(self._wake)

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._woken is not None:
            settle(self._woken)

    async def next(self, seconds: float) -> list[Told] | None:
        if not (self._waiting or self._dropped or self._ended):
            self._woken = self._loop.create_future()
            await within(self._clock, seconds, self._woken)
            self._woken = None
        told, self._waiting = list(self._waiting), deque()
        if self._dropped:
            told.append(_dropped(self._dropped, self._clock))
            self._dropped = 0
        return told if told or not self._ended else None

    def close(self) -> None:
        self._feed.leave(self)
